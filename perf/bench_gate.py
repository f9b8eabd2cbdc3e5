"""The gate: time of the page bootstrap, and with --runs its false alarms and detection rate on real page scores."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from evalkit.gating.accuracy import judge_accuracy
from evalkit.gating.config import AccuracyRule, StatisticsSettings
from evalkit.gating.judge import metric_is_higher_better
from evalkit.gating.page_table import OVERALL_PARTS
from evalkit.gating.verdict import RuleResult, Verdict
from evalkit.run_snapshot import read_snapshot
from evalkit.snapshot import PageRow, Snapshot
from evalkit.statistics import bootstrap_means

PAGES = 1651
METRICS = 8
SIZES = (198, 1651)
LOST_SHARES = (0.0, 0.005, 0.01, 0.02, 0.04)
MARGINS = (0.0, 0.5)
WORST = {"text_edit": 1.0, "table_teds": 0.0, "formula_cdm": 0.0}
SETTINGS = StatisticsSettings(resamples=2000)
SEED = 20


def bootstrap_time() -> None:
    """Wall and CPU seconds of 10,000 resamples of a full data set, eight metrics of two runs."""
    values = np.random.default_rng(SEED).random((PAGES, 2 * METRICS))
    strata = np.arange(PAGES) % 9
    wall, cpu = time.perf_counter(), time.process_time()
    bootstrap_means(values, strata, resamples=10_000)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"10,000 resamples of {PAGES} pages, {METRICS} metrics of two runs: {wall:.2f} s wall, {cpu:.2f} s CPU")


def calibrate(first: Snapshot, second: Snapshot, metric: str, changed: float, trials: int) -> None:
    """Verdicts over many made data sets: pages drawn from two real runs, whose scores are swapped page by page.

    Swapping makes the two sides equal in expectation and keeps the real differences between pages. Only a share
    `changed` of the pages differs at all, as between two versions of one system. A loss is made by giving some of the
    candidate's pages the worst score, as when a page fails.
    """
    after = {page.page_id: page for page in second.pages}
    pairs = [(page, after[page.page_id]) for page in first.pages]
    rules = [AccuracyRule(metric, margin=margin if metric == "overall" else margin / 50) for margin in MARGINS]
    print("| pages | pages lost | mean change | margin | pass | inconclusive | fail |\n" + "|---:" * 7 + "|")
    for size in SIZES:
        for lost in LOST_SHARES:
            rng = np.random.default_rng(SEED)
            results = [_trial(pairs, size, changed, lost, rules, rng) for _ in range(trials)]
            for place, rule in enumerate(rules):
                print(_row(size, lost, rule, [result[place] for result in results]), flush=True)


def _trial(
    pairs: Sequence[tuple[PageRow, PageRow]],
    size: int,
    changed: float,
    lost: float,
    rules: Sequence[AccuracyRule],
    rng: np.random.Generator,
) -> list[RuleResult]:
    drawn = rng.integers(0, len(pairs), size)
    swapped, moved, failing = rng.random(size) < 0.5, rng.random(size) < changed, rng.random(size) < lost
    before, after = [], []
    for number, place in enumerate(drawn):
        one, other = pairs[place][:: -1 if swapped[number] else 1]
        other = other if moved[number] else one
        before.append(replace(one, page_id=str(number)))
        after.append(replace(_failed(other) if failing[number] else other, page_id=str(number)))
    sides = [Snapshot("", "", "", {}, pages=tuple(rows)) for rows in (before, after)]
    return judge_accuracy(sides[0], sides[1], rules, SETTINGS, metric_is_higher_better)


def _failed(page: PageRow) -> PageRow:
    values = {name: None if value is None else WORST.get(name, value) for name, value in page.values.items()}
    return replace(page, values=values)


def _row(size: int, lost: float, rule: AccuracyRule, results: Sequence[RuleResult]) -> str:
    found = Counter(result.verdict for result in results)
    losses = [result.difference for result in results if result.difference is not None]
    shares = [found[verdict] / len(results) for verdict in (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL)]
    cells = [
        str(size),
        f"{lost:.1%}",
        f"{np.mean(losses):+.3g}",
        f"{rule.margin:g}",
        *(f"{share:.1%}" for share in shares),
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> int:
    """Print the time, and the table of verdicts where two runs are given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", nargs=2, type=Path, metavar="RUN", help="two scored runs of the same pages")
    parser.add_argument("--metric", default="overall", help=f"a metric of both (default: overall, of {OVERALL_PARTS})")
    parser.add_argument("--changed", type=float, default=0.1, metavar="SHARE", help="pages that differ at all")
    parser.add_argument("--trials", type=int, default=200, metavar="N", help="made data sets a line")
    args, _ = parser.parse_known_args()
    bootstrap_time()
    if args.runs:
        first, second = (read_snapshot([run]) for run in args.runs)
        calibrate(first, second, args.metric, args.changed, args.trials)
    return 0


if __name__ == "__main__":
    sys.exit(main())
