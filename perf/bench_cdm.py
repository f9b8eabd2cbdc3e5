"""CDM of 30 and of more pairs: the official scorer, this one, and this one when the truth is drawn already.

    python -m perf.bench_cdm --official CHECKOUT --python ENV/bin/python [--pairs 100] [--workers 2]

Both run on the same pairs, one after the other, in the same number of processes. The official scorer needs
pdflatex, `magick` and Ghostscript; without a checkout only the gain of the cache is measured. Values are compared with
the stored official ones: on a loaded machine the official scorer's time limits turn some of its values into 0.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from evalkit.types import PairScore
from metrics.cdm.contract import Backend, Pair
from metrics.cdm.official import OfficialBackend
from metrics.cdm.score import NativeBackend

PAIRS = Path(__file__).parents[1] / "tests" / "data" / "cdm" / "pairs.jsonl"
SMALL = 30
STRIDE = 7  # pairs are taken from all over the file


@dataclass(frozen=True, slots=True)
class Cost:
    """What scoring took; CPU seconds include those of the programs that were started."""

    wall_s: float
    cpu_s: float
    scores: list[PairScore]


def measure(score: Callable[[], list[PairScore]]) -> Cost:
    """Run once and take the time."""
    cpu, wall = _cpu_s(), time.perf_counter()
    scores = score()
    return Cost(time.perf_counter() - wall, _cpu_s() - cpu, scores)


def _cpu_s() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def native(pairs: Sequence[Pair], folder: Path, workers: int) -> Cost:
    """This scorer; formats and drawings are kept in the folder."""
    return measure(lambda: NativeBackend(folder).score_many(pairs, workers=workers))


def official(pairs: Sequence[Pair], checkout: Path, python: str, workers: int) -> Cost:
    """The official scorer in as many processes, each with an equal part of the pairs."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        backend: Backend = OfficialBackend(checkout, python, Path(folder))
        parts = [pairs[start::workers] for start in range(workers)]

        def score() -> list[PairScore]:
            done = list(pool.map(backend.score_many, parts))
            return [done[index % workers][index // workers] for index in range(len(pairs))]

        return measure(score)


def spread(pairs: Sequence[Pair], count: int) -> list[Pair]:
    """A sample of different pairs from all over the list."""
    order = [pairs[index * STRIDE % len(pairs)] for index in range(len(pairs))]
    return list(dict.fromkeys(order))[:count]


def main() -> int:
    """Print a line for each number of pairs; exit code 1 when fewer than 99 % of the values are the official ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--official", metavar="CHECKOUT", type=Path, help="a checkout of the official scorer")
    parser.add_argument("--python", metavar="PROGRAM", default=sys.executable, help="the Python that runs it")
    parser.add_argument("--pairs", type=int, default=100, help="pairs of the larger job (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes of either scorer (default: %(default)s)")
    args = parser.parse_args()
    rows = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").split("\n") if line]
    stored = {(row["gt"], row["pred"]): float(row["f1"]) for row in rows}
    failed = 0
    for count in (SMALL, args.pairs):
        with tempfile.TemporaryDirectory() as name:
            failed += _compare(spread(list(stored), count), stored, Path(name), args)
    return failed


def _compare(pairs: Sequence[Pair], stored: Mapping[Pair, float], folder: Path, args: argparse.Namespace) -> int:
    native([("x", "x")], folder, 1)  # formats are dumped and the toolchain examined once for all runs
    fresh = native(pairs, folder, args.workers)
    again = native([(gt, f"{pred}+1") for gt, pred in pairs], folder, args.workers)
    print(f"{len(pairs)} pairs: {fresh.wall_s:.1f} s wall, {fresh.cpu_s:.1f} s CPU", flush=True)
    print(f"  another system, truth drawn already: {again.wall_s:.1f} s wall, {again.cpu_s:.1f} s CPU", flush=True)
    if args.official:
        theirs = official(pairs, args.official, args.python, args.workers)
        ratios = f"{theirs.wall_s / fresh.wall_s:.0f}x wall, {theirs.cpu_s / fresh.cpu_s:.0f}x CPU"
        print(f"  official: {theirs.wall_s:.1f} s wall, {theirs.cpu_s:.1f} s CPU; ratio {ratios}")
        print(f"  official values that this run of it missed: {_differing(pairs, stored, theirs)}")
    wrong = _differing(pairs, stored, fresh)
    print(f"  values that are not the official ones: {wrong} of {len(pairs)}", flush=True)
    return int(wrong > 0.01 * len(pairs))


def _differing(pairs: Sequence[Pair], stored: Mapping[Pair, float], cost: Cost) -> int:
    return sum(score.value != stored[pair] for pair, score in zip(pairs, cost.scores, strict=True))


if __name__ == "__main__":
    sys.exit(main())
