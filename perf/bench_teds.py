"""TEDS and TEDS-S of growing table pairs, side by side with the official class where a checkout is given."""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

from metrics.teds import teds_both

SIZES = ((10, 6), (20, 8), (30, 10), (60, 15), (100, 10), (500, 10), (1000, 5))
OFFICIAL_MAX_NODES = 1_000  # beyond it the official class takes minutes a pair
SEED = 7
WORDS = ("alpha", "beta", "12.5", "growth", "x")

# Reads [gt, pred] lines; writes seconds and both values of the official class a line.
OFFICIAL = """
import importlib.util, json, sys, time
spec = importlib.util.spec_from_file_location("table_metric", sys.argv[1] + "/src/metrics/table_metric.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
for line in sys.stdin:
    gt, pred = json.loads(line)
    start = time.process_time()
    values = [module.TEDS(structure_only=flag).evaluate(pred, gt) for flag in (False, True)]
    print(json.dumps([time.process_time() - start, *values]), flush=True)
"""


def table(rows: int, columns: int, damage: float, rng: random.Random) -> str:
    """A table of words and numbers; `damage` is the share of changed cells, with some rows and cells dropped."""
    lines = []
    for row in range(rows):
        if rng.random() < damage * 0.3:
            continue
        cells = []
        for column in range(columns):
            text = f"{WORDS[(row * columns + column) % len(WORDS)]} {WORDS[row % len(WORDS)]} {row * column}"
            if rng.random() >= damage * 0.2:
                cells.append(f"<td>{text[::-1] if rng.random() < damage else text}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<html><body><table>{''.join(lines)}</table></body></html>"


def main() -> int:
    """Print a line a size; exit code 1 when a value differs from the official one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--official", metavar="CHECKOUT", type=Path, help="a checkout of the official scorer")
    parser.add_argument("--python", metavar="PROGRAM", default=sys.executable, help="the Python that runs it")
    args = parser.parse_args()
    differing = 0
    teds_both(*(table(2, 2, 0.3, random.Random(SEED)),) * 2)
    print(f"{'cells':>7} {'nodes':>6} {'ours s':>8} {'official s':>11} {'ratio':>7} {'peak MB':>8}")
    for rows, columns in SIZES:
        rng = random.Random(SEED)
        gt, pred = table(rows, columns, 0.0, rng), table(rows, columns, 0.3, rng)
        start = time.process_time()
        values = [score.value for score in teds_both(gt, pred)]
        ours_s = time.process_time() - start
        nodes = 1 + rows * (1 + columns)
        official_s = None
        if args.official and nodes <= OFFICIAL_MAX_NODES:
            official_s, *official = _official(args.official, args.python, gt, pred)
            differing += any(
                abs(ours - theirs) > 1e-9 for ours, theirs in zip(values, official, strict=True) if ours is not None
            )
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        beside = f"{official_s:11.3f} {official_s / ours_s:6.0f}x" if official_s is not None else f"{'-':>11} {'-':>7}"
        print(f"{rows * columns:7} {nodes:6} {ours_s:8.3f} {beside} {peak_mb:8.0f}", flush=True)
    print(f"{differing} sizes differ from the official values" if args.official else "no official checkout given")
    return int(differing > 0)


def _official(checkout: Path, python: str, gt: str, pred: str) -> list[float]:
    command = [python, "-c", OFFICIAL, str(checkout)]
    done = subprocess.run(command, input=json.dumps([gt, pred]), capture_output=True, text=True, check=True)
    seconds_and_values: list[float] = json.loads(done.stdout)
    return seconds_and_values


if __name__ == "__main__":
    sys.exit(main())
