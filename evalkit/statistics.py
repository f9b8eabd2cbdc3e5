"""Intervals and tests behind the gate: paired page bootstrap, Welch on log ratios, quantiles, shares, Holm.

All functions are pure; what is random takes a seed. scipy does what scipy has. Matrices hold one row a page and NaN
where a page has no value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Matrix = NDArray[np.float64]
Labels = NDArray[np.intp]

LEVEL = 0.95
RESAMPLES = 10_000

_BLOCK = 500
_ROUNDING = 1e-12
_LEAST_TAIL = 1e-6


class Interval(NamedTuple):
    """A two-sided interval."""

    low: float
    high: float


class Ratio(NamedTuple):
    """A ratio of geometric means with its interval; `degrees` are those of freedom."""

    value: float
    interval: Interval
    degrees: float


def bootstrap_means(values: Matrix, strata: Labels, *, resamples: int = RESAMPLES, seed: int = 0) -> Matrix:
    """Column means of resampled pages, shape (resamples, columns).

    Pages are drawn with replacement within each stratum, the same pages for all columns, so that columns of two
    systems stay paired. Absent values leave the mean of their column; a column with none drawn is NaN.
    """
    present = ~np.isnan(values)
    filled = np.where(present, values, 0.0)
    means = np.empty((resamples, values.shape[1]))
    start = 0
    for counts in _drawn_counts(strata, resamples, seed):
        with np.errstate(invalid="ignore"):
            means[start : start + len(counts)] = (counts @ filled) / (counts @ present)
        start += len(counts)
    return means


def _drawn_counts(strata: Labels, resamples: int, seed: int) -> Iterator[Matrix]:
    """How often each page is drawn, some resamples at a time."""
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(strata == label) for label in np.unique(strata)]
    pages = len(strata)
    for start in range(0, resamples, _BLOCK):
        rows = min(_BLOCK, resamples - start)
        drawn = np.concatenate([group[rng.integers(0, len(group), (rows, len(group)))] for group in members], axis=1)
        drawn += np.arange(rows)[:, None] * pages
        yield np.bincount(drawn.ravel(), minlength=rows * pages).reshape(rows, pages).astype(np.float64)


def jackknife_means(values: Matrix) -> Matrix:
    """Column means with each page left out in turn, shape (pages, columns)."""
    present = ~np.isnan(values)
    filled = np.where(present, values, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Matrix = (filled.sum(axis=0) - filled) / (present.sum(axis=0) - present)
    return means


def bootstrap_interval(
    estimate: float,
    replicates: Matrix,
    *,
    left_out: Matrix | None = None,
    level: float = LEVEL,
    effective: float = math.inf,
) -> Interval | None:
    """Interval of a statistic from its bootstrap replicates; None when no replicate has a value.

    With `left_out`, its jackknife values, the interval is corrected for bias and acceleration (BCa, Efron 1987); else
    it is the percentile interval. Few observations make a bootstrap too sure of itself: its tails are those of
    Student's t for the `effective` number of observations (expanded percentile, Hesterberg 2015). Replicates that do
    not vary give the estimate itself.
    """
    found = replicates[~np.isnan(replicates)]
    if len(found) == 0 or math.isnan(estimate):
        return None
    if np.ptp(found) <= _ROUNDING * max(1.0, abs(estimate)):
        return Interval(estimate, estimate)
    tail = _expanded_tail((1 - level) / 2, effective)
    tails = np.array([tail, 1 - tail])
    if left_out is not None:
        tails = _bca_tails(estimate, found, left_out[~np.isnan(left_out)], tails)
    low, high = np.quantile(found, tails)
    return Interval(float(low), float(high))


def _expanded_tail(tail: float, effective: float) -> float:
    """The tail that makes a bootstrap interval of so many observations as wide as one by Student's t."""
    if math.isinf(effective):
        return tail
    count = max(effective, 2.0)
    return max(float(stats.norm.cdf(stats.t.ppf(tail, count - 1) * math.sqrt(count / (count - 1)))), _LEAST_TAIL)


def effective_count(shares: Matrix) -> float:
    """How many equal contributions would weigh as these do: (sum of squares)^2 / sum of fourth powers; 0 of none."""
    squares = shares**2
    total = float(np.sum(squares))
    return total**2 / float(np.sum(squares**2)) if total > 0 else 0.0


def _bca_tails(estimate: float, replicates: Matrix, left_out: Matrix, tails: Matrix) -> Matrix:
    """The quantiles of the replicates that BCa takes instead of the plain tails."""
    below = (np.sum(replicates < estimate) + 0.5 * np.sum(replicates == estimate)) / len(replicates)
    if not 0 < below < 1:
        return tails
    bias = stats.norm.ppf(below)
    away = left_out.mean() - left_out
    spread = float(np.sum(away**2))
    acceleration = float(np.sum(away**3)) / (6 * spread**1.5) if spread > 0 else 0.0
    shifted = bias + stats.norm.ppf(tails)
    stretched = 1 - acceleration * shifted
    ends = np.where(shifted > 0, np.inf, -np.inf)  # past the pole the correction has no meaning: take the extreme
    shifted = np.where(stretched > 0, shifted / np.where(stretched > 0, stretched, 1.0), ends)
    corrected: Matrix = stats.norm.cdf(bias + shifted)
    return corrected


def share_at_least(replicates: Matrix, threshold: float) -> float:
    """One-sided bootstrap p value against "under the threshold": the share of replicates at or above it, never 0."""
    found = replicates[~np.isnan(replicates)]
    return float((np.sum(found >= threshold) + 1) / (len(found) + 1))


def welch_ratio(baseline: Sequence[float], candidate: Sequence[float], level: float = LEVEL) -> Ratio | None:
    """candidate / baseline of repeated positive figures, by Welch's t on their logarithms; None under 2 repeats."""
    if min(len(baseline), len(candidate)) < 2:
        return None
    before, after = np.log(baseline), np.log(candidate)
    value = math.exp(float(after.mean() - before.mean()))
    if np.ptp(before) <= _ROUNDING and np.ptp(after) <= _ROUNDING:
        return Ratio(value, Interval(value, value), math.inf)
    test = stats.ttest_ind(after, before, equal_var=False)
    bounds = test.confidence_interval(level)
    return Ratio(value, Interval(math.exp(bounds.low), math.exp(bounds.high)), float(test.df))


def known_noise_ratio(
    baseline: Sequence[float], candidate: Sequence[float], noise: float, level: float = LEVEL
) -> Ratio:
    """candidate / baseline where the standard deviation of a run, relative to its figure, is known from A/A runs."""
    value = math.exp(float(np.mean(np.log(candidate)) - np.mean(np.log(baseline))))
    half = float(stats.norm.ppf((1 + level) / 2)) * noise * math.sqrt(1 / len(baseline) + 1 / len(candidate))
    return Ratio(value, Interval(value * math.exp(-half), value * math.exp(half)), math.inf)


def quantile_interval(values: Sequence[float], share: float, level: float = LEVEL) -> Interval | None:
    """Interval of a quantile from order statistics; None when the values are too few for a two-sided one."""
    bounds: Any = stats.quantile_test(values, q=0.0, p=share).confidence_interval(level)
    low, high = float(bounds.low), float(bounds.high)
    return Interval(low, high) if math.isfinite(low) and math.isfinite(high) else None


def wilson_interval(successes: int, count: int, level: float = LEVEL) -> Interval | None:
    """Wilson's interval of a share; None of nothing."""
    if count == 0:
        return None
    bounds = stats.binomtest(successes, count).proportion_ci(level, method="wilson")
    return Interval(float(bounds.low), float(bounds.high))


def holm(p_values: Sequence[float]) -> list[float]:
    """p values adjusted for their number (Holm 1979), in the given order."""
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = running
    return adjusted


def detectable_change(standard_error: float, margin: float, *, level: float = LEVEL, power: float = 0.8) -> float:
    """The smallest true loss that fails a rule with this margin in a share `power` of cases."""
    reach = float(stats.norm.ppf((1 + level) / 2) + stats.norm.ppf(power))
    return margin + reach * standard_error
