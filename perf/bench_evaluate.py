"""Evaluation without CDM: pages a second by workers, growth with pages, start-up, side by side with a checkout.

The pages are the 198-page workload of the research data where it lies beside the checkout, else the built-in set.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase

from evalkit import registry
from evalkit.dataset import load_dataset
from evalkit.parity import compare_results, run_official

ROOT = Path(__file__).parents[1]
WORKLOAD = "golden/v16/workload198"
FULL_SET_PAGES = 1651
PARAGRAPH_CHARS, LINE_CHARS = 16_000, 40
WORKER_START = "from evalkit.stages.page_scoring import get_ready; get_ready('omnidocbench-1.6')"


@dataclass(frozen=True, slots=True)
class Cost:
    """Wall and CPU seconds of a command with its children, and the largest memory of one of its processes so far."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def main() -> int:
    """Print a line a measurement; exit code 1 when a result differs from the official one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--official", metavar="CHECKOUT", type=Path, help="a checkout of the official scorer")
    parser.add_argument("--python", metavar="PROGRAM", type=Path, default=Path(sys.executable))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="evalkit-perf-") as name:
        scratch = Path(name)
        dataset, predictions = workload(scratch)
        pages = len(json.loads(dataset.read_text(encoding="utf-8")))
        print(f"{'what':<46} {'pages':>6} {'wall s':>8} {'CPU s':>8} {'pages/s':>8} {'peak MB':>8}")
        costs = {workers: _ours(dataset, predictions, scratch / f"w{workers}", workers, pages) for workers in (1, 2)}
        many = multiplied(dataset, predictions, scratch / "many", FULL_SET_PAGES)
        full = {workers: _ours(*many, scratch / f"full{workers}", workers, FULL_SET_PAGES) for workers in (1, 2)}
        for count, found in ((pages, costs), (FULL_SET_PAGES, full)):
            print(f"two workers against one, {count} pages: {found[1].wall_s / found[2].wall_s:.2f}x")
        growth = full[2].cpu_s / FULL_SET_PAGES / (costs[2].cpu_s / pages)
        print(f"CPU a page, {FULL_SET_PAGES} pages against {pages}: {growth:.2f}x")
        _line(f"a paragraph of {PARAGRAPH_CHARS} characters, by lines", 1, _timed(lambda: _score(paragraph(scratch))))
        _line("start-up (evalkit --version)", 0, _timed(lambda: _run("--version")))
        _line("start-up (imports of a worker)", 0, _timed(lambda: _python(WORKER_START)))
        if not args.official:
            print("no official checkout given")
            return 0
        return _beside_official(args, dataset, predictions, scratch, costs[2], pages)


def workload(scratch: Path) -> tuple[Path, Path]:
    """The data set and predictions that are measured."""
    shared = Path(os.environ.get("EVALKIT_SHARED") or ROOT.parent / "shared") / WORKLOAD
    if shared.is_dir():
        return shared / "gt.json", shared / "pred"
    dataset = load_dataset("mini")
    rules = registry.load("protocol", "omnidocbench-1.6")
    predictions = scratch / "truth"
    predictions.mkdir()
    for truth in dataset.pages:
        (predictions / f"{truth.page.stem}.md").write_text(rules.truth_markdown(truth), encoding="utf-8")
    return multiplied(dataset.source, predictions, scratch / "mini", 198)


def multiplied(dataset: Path, predictions: Path, target: Path, count: int) -> tuple[Path, Path]:
    """The same pages over and over under new names, `count` in all."""
    pages = json.loads(dataset.read_text(encoding="utf-8"))
    (target / "pred").mkdir(parents=True)
    copies = []
    for number in range(count):
        page = json.loads(json.dumps(pages[number % len(pages)]))
        image = Path(page["page_info"]["image_path"])
        page["page_info"]["image_path"] = f"copy{number}_{image.name}"
        copies.append(page)
        source = predictions / f"{image.stem}.md"
        if source.exists():
            shutil.copy(source, target / "pred" / f"copy{number}_{image.stem}.md")
    (target / "gt.json").write_text(json.dumps(copies, ensure_ascii=False), encoding="utf-8")
    return target / "gt.json", target / "pred"


def paragraph(scratch: Path) -> tuple[Path, Path]:
    """One page: a single paragraph as the truth, each line of it a paragraph of its own in the prediction."""
    rng = random.Random(PARAGRAPH_CHARS)
    text = " ".join("".join(rng.choices(ascii_lowercase, k=rng.randint(2, 10))) for _ in range(PARAGRAPH_CHARS // 3))
    text = text[:PARAGRAPH_CHARS]
    block = {"category_type": "text_block", "text": text, "order": 1, "anno_id": 1}
    folder = scratch / "paragraph"
    (folder / "pred").mkdir(parents=True)
    page = {"page_info": {"image_path": "page.png"}, "layout_dets": [block]}
    (folder / "gt.json").write_text(json.dumps([page]), encoding="utf-8")
    lines = [text[start : start + LINE_CHARS] for start in range(0, len(text), LINE_CHARS)]
    (folder / "pred" / "page.md").write_text("\n\n".join(lines), encoding="utf-8")
    return folder / "gt.json", folder / "pred"


def _score(places: tuple[Path, Path]) -> None:
    dataset, predictions = places
    out = dataset.parent / "out"
    _run("evaluate", "--predictions", str(predictions), "--dataset", str(dataset), "--out", str(out), "--no-cdm")


def _ours(dataset: Path, predictions: Path, out: Path, workers: int, pages: int) -> Cost:
    places = ["--predictions", str(predictions), "--dataset", str(dataset), "--out", str(out)]
    cost = _timed(lambda: _run("evaluate", *places, "--no-cdm", "--workers", str(workers), "--latex-tables", "off"))
    _line(f"evalkit, {workers} worker{'s' if workers > 1 else ''}", pages, cost)
    return cost


def _beside_official(
    args: argparse.Namespace, dataset: Path, predictions: Path, scratch: Path, ours: Cost, pages: int
) -> int:
    results: list[Path] = []
    official = _timed(
        lambda: results.append(
            run_official(
                *(args.official, args.python, predictions, dataset, scratch),
                cdm=False,
                workers=2,
                time_limits=True,
            )
        )
    )
    _line("official, 2 workers", pages, official)
    print(f"against the official: {official.wall_s / ours.wall_s:.0f}x wall, {official.cpu_s / ours.cpu_s:.0f}x CPU")
    found = compare_results(scratch / "w2" / "evaluate" / "official", results[0])
    print(f"{len(found)} values differ from the official ones")
    return int(bool(found))


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "evalkit.cli.main", *arguments], check=True, capture_output=True)


def _python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def _timed(work: Callable[[], None]) -> Cost:
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.perf_counter() - start, cpu_s, after.ru_maxrss / 1024)


def _line(what: str, pages: int, cost: Cost) -> None:
    rate = f"{pages / cost.wall_s:8.1f}" if pages else f"{'-':>8}"
    print(f"{what:<46} {pages or '-':>6} {cost.wall_s:8.2f} {cost.cpu_s:8.2f} {rate} {cost.peak_mb:8.0f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
