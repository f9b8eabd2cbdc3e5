"""Means and quantiles with intervals that assume nothing about the distribution, or nothing at all when too few."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy import stats

LEVEL = 0.95


def smallest_count(share: float) -> int:
    """Observations needed for a two-sided 95 % interval of a quantile: 6 for p50, 36, 72 and 368 for p90, p95, p99."""
    tail = (1 - LEVEL) / 2
    return math.ceil(math.log(tail) / math.log(max(share, 1 - share)) - 1e-9)


def quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest observation that at least `share` of all do not exceed. `ordered` ascends and is not empty."""
    return ordered[max(0, math.ceil(share * len(ordered) - 1e-9) - 1)]


def quantile_interval(ordered: Sequence[float], share: float) -> tuple[float, float] | None:
    """The 95 % interval of a quantile from order statistics; None with fewer observations than it needs."""
    count = len(ordered)
    if count < smallest_count(share):
        return None
    tail = (1 - LEVEL) / 2
    below = stats.binom(count, share)
    low = max(int(below.ppf(tail)) - 1, 0)
    high = min(int(below.ppf(1 - tail)), count - 1)
    return ordered[low], ordered[high]


def mean(values: Sequence[float]) -> float | None:
    """The mean; None of nothing."""
    return math.fsum(values) / len(values) if values else None


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % t interval of the mean; None under two observations."""
    count = len(values)
    if count < 2:
        return None
    centre = math.fsum(values) / count
    deviation = math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (count - 1))
    half = float(stats.t.ppf((1 + LEVEL) / 2, count - 1)) * deviation / math.sqrt(count)
    return centre - half, centre + half
