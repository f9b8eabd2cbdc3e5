"""Intervals of every system's scores on the same pages, and which systems do not differ beyond chance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from evalkit.statistics import (
    RESAMPLES,
    Interval,
    Labels,
    Matrix,
    bootstrap_interval,
    bootstrap_means,
    effective_count,
    jackknife_means,
)
from evalkit.types import PageScore

OVERALL = "overall"
OVERALL_PARTS = ("text_edit", "table_teds", "formula_cdm")
LEAST_PAGES = 5
STRATA = "subset"
_LEAST_STRATUM = 5


@dataclass(frozen=True, slots=True)
class Standing:
    """One system among those scored on the same pages.

    `intervals` are at 95 %, by metric. `tier` is 1 for the best by Overall and for all that do not differ from it
    beyond chance; None without an Overall.
    """

    intervals: Mapping[str, Interval] = field(default_factory=dict)
    tier: int | None = None


@dataclass(frozen=True, slots=True)
class _Statistic:
    """A mean, its bootstrap replicates, its values with each page left out, and each page's share in it.

    `pages` counts the pages that have a value; for Overall, those of its rarest part.
    """

    estimate: float
    replicates: Matrix
    left_out: Matrix
    shares: Matrix
    pages: int


def standings(systems: Mapping[str, Sequence[PageScore]], *, resamples: int = RESAMPLES) -> dict[str, Standing]:
    """Standing of each system. All are resampled together, so that their pages stay paired.

    Only pages that every system has are compared; under LEAST_PAGES of them there are no intervals and no tiers.
    Tiers are not corrected for the number of comparisons.
    """
    pages = _common_pages(systems)
    if len(pages) < LEAST_PAGES:
        return {name: Standing() for name in systems}
    statistics = {name: _statistics(rows, resamples) for name, rows in _in_order(systems, pages).items()}
    tiers = _tiers({name: found[OVERALL] for name, found in statistics.items() if OVERALL in found})
    return {name: Standing(_intervals(found), tiers.get(name)) for name, found in statistics.items()}


def _common_pages(systems: Mapping[str, Sequence[PageScore]]) -> list[str]:
    first = next(iter(systems.values()), ())
    shared = set.intersection(*({page.page_id for page in pages} for pages in systems.values())) if systems else set()
    return [page.page_id for page in first if page.page_id in shared]


def _in_order(systems: Mapping[str, Sequence[PageScore]], pages: Sequence[str]) -> dict[str, list[PageScore]]:
    by_id = {name: {page.page_id: page for page in rows} for name, rows in systems.items()}
    return {name: [rows[page] for page in pages] for name, rows in by_id.items()}


def _statistics(pages: Sequence[PageScore], resamples: int) -> dict[str, _Statistic]:
    """One system's statistics by metric. The seed is fixed: systems draw the same pages."""
    metrics = sorted({name for page in pages for name, value in page.values.items() if value is not None})
    if not metrics:
        return {}
    values = np.array(
        [[np.nan if (found := page.values.get(name)) is None else found for name in metrics] for page in pages],
        np.float64,
    )
    drawn, left_out = bootstrap_means(values, _strata(pages), resamples=resamples), jackknife_means(values)
    counts = (~np.isnan(values)).sum(axis=0)
    shares = np.nan_to_num(values) / counts
    by_name = {
        name: _Statistic(
            float(shares[:, place].sum()), drawn[:, place], left_out[:, place], shares[:, place], int(counts[place])
        )
        for place, name in enumerate(metrics)
    }
    return by_name | ({OVERALL: _overall(by_name)} if by_name.keys() >= set(OVERALL_PARTS) else {})


def _overall(found: Mapping[str, _Statistic]) -> _Statistic:
    text_edit, teds, cdm = (found[name] for name in OVERALL_PARTS)
    return _Statistic(
        (1 - text_edit.estimate + teds.estimate + cdm.estimate) * 100 / 3,
        (1 - text_edit.replicates + teds.replicates + cdm.replicates) * 100 / 3,
        (1 - text_edit.left_out + teds.left_out + cdm.left_out) * 100 / 3,
        (teds.shares + cdm.shares - text_edit.shares) * 100 / 3,
        min(text_edit.pages, teds.pages, cdm.pages),
    )


def _strata(pages: Sequence[PageScore]) -> Labels:
    """Subsets of the data are drawn apart; small ones are joined, since alone they would hardly vary."""
    names = [str(page.groups.get(STRATA, "")) for page in pages]
    sizes = Counter(names)
    kept = {name: number for number, name in enumerate(sorted(sizes), start=1) if sizes[name] >= _LEAST_STRATUM}
    return np.array([kept.get(name, 0) for name in names], np.intp)


def _intervals(found: Mapping[str, _Statistic]) -> dict[str, Interval]:
    intervals = {
        name: bootstrap_interval(one.estimate, one.replicates, left_out=one.left_out, effective=one.pages)
        for name, one in found.items()
    }
    return {name: interval for name, interval in intervals.items() if interval is not None}


def _tiers(overall: Mapping[str, _Statistic]) -> dict[str, int]:
    """Systems from best to worst; a tier ends where the difference from its first system excludes 0."""
    tiers: dict[str, int] = {}
    tier, leader = 0, None
    for name in sorted(overall, key=lambda one: -overall[one].estimate):
        if leader is None or _differ(overall[leader], overall[name]):
            tier, leader = tier + 1, name
        tiers[name] = tier
    return tiers


def _differ(first: _Statistic, second: _Statistic) -> bool:
    estimate = first.estimate - second.estimate
    interval = bootstrap_interval(
        estimate,
        first.replicates - second.replicates,
        left_out=first.left_out - second.left_out,
        effective=effective_count(first.shares - second.shares),
    )
    return interval is not None and not math.isnan(estimate) and not interval.low <= 0 <= interval.high
