"""Statistics of the gate: against scipy where it has the method, else by hand, and their calibration in the small."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalkit.statistics import (
    Interval,
    bootstrap_interval,
    bootstrap_means,
    detectable_change,
    effective_count,
    holm,
    jackknife_means,
    known_noise_ratio,
    quantile_interval,
    share_at_least,
    welch_ratio,
    wilson_interval,
)

NAN = math.nan


def one_stratum(pages: int) -> np.ndarray:
    return np.zeros(pages, np.intp)


def test_means_of_resamples_have_the_spread_of_scipys_bootstrap() -> None:
    values = np.random.default_rng(2).exponential(1.0, 80)
    ours = bootstrap_means(values[:, None], one_stratum(80), resamples=20_000, seed=3)[:, 0]
    theirs = stats.bootstrap((values,), np.mean, n_resamples=20_000, rng=4).bootstrap_distribution
    assert ours.mean() == pytest.approx(values.mean(), abs=0.01)
    assert ours.std() == pytest.approx(theirs.std(), rel=0.03)


@pytest.mark.parametrize(("method", "corrected"), [("percentile", False), ("BCa", True)])
def test_intervals_agree_with_scipys_bootstrap(method: str, corrected: bool) -> None:
    values = np.random.default_rng(5).exponential(1.0, 60)
    replicates = bootstrap_means(values[:, None], one_stratum(60), resamples=40_000, seed=6)[:, 0]
    left_out = jackknife_means(values[:, None])[:, 0] if corrected else None
    ours = bootstrap_interval(float(values.mean()), replicates, left_out=left_out)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=40_000, method=method, rng=7).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), rel=0.02)


def test_columns_are_resampled_together() -> None:
    values = np.random.default_rng(1).random((40, 1))
    drawn = bootstrap_means(np.hstack([values, values + 0.25]), one_stratum(40), resamples=500)
    assert np.allclose(drawn[:, 1] - drawn[:, 0], 0.25)


def test_every_stratum_keeps_its_number_of_pages() -> None:
    strata = np.array([0] * 10 + [1] * 30)
    drawn = bootstrap_means(np.where(strata == 0, 0.0, 1.0)[:, None], strata, resamples=200)
    assert np.allclose(drawn, 0.75)


def test_absent_values_leave_the_mean_of_their_column() -> None:
    values = np.array([[1.0, NAN], [3.0, NAN]])
    drawn = bootstrap_means(values, one_stratum(2), resamples=300)
    assert set(np.unique(drawn[:, 0])) == {1.0, 2.0, 3.0}
    assert np.isnan(drawn[:, 1]).all()
    sparse = bootstrap_means(np.array([[5.0], [NAN], [NAN]]), one_stratum(3), resamples=300)[:, 0]
    assert set(sparse[~np.isnan(sparse)]) == {5.0}
    assert np.isnan(sparse).any()


def test_the_seed_decides_and_the_block_size_does_not_show() -> None:
    values = np.random.default_rng(1).random((30, 2))
    first = bootstrap_means(values, one_stratum(30), resamples=1200, seed=9)
    assert np.array_equal(first, bootstrap_means(values, one_stratum(30), resamples=1200, seed=9))
    assert not np.array_equal(first, bootstrap_means(values, one_stratum(30), resamples=1200, seed=10))
    assert first.shape == (1200, 2)


def test_jackknife_by_hand() -> None:
    values = np.array([[1.0, NAN], [2.0, 4.0], [6.0, 8.0]])
    assert jackknife_means(values) == pytest.approx(np.array([[4.0, 6.0], [3.5, 8.0], [1.5, 4.0]]))


@pytest.mark.parametrize(
    ("estimate", "replicates", "expected"),
    [
        (0.0, [0.0] * 50, Interval(0.0, 0.0)),
        (0.3, [0.3] * 50, Interval(0.3, 0.3)),
        (1.0, [NAN] * 50, None),
        (NAN, [1.0] * 50, None),
    ],
    ids=["no difference", "constant difference", "no replicate has a value", "no estimate"],
)
def test_intervals_without_variation(estimate: float, replicates: list[float], expected: Interval | None) -> None:
    assert bootstrap_interval(estimate, np.array(replicates), left_out=np.ones(5)) == expected


def test_bootstrap_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(200):
        differences = rng.normal(0.02, 0.1, 60)
        replicates = bootstrap_means(differences[:, None], one_stratum(60), resamples=600)[:, 0]
        interval = bootstrap_interval(
            float(differences.mean()), replicates, left_out=jackknife_means(differences[:, None])[:, 0]
        )
        assert interval is not None
        held += interval.low <= 0.02 <= interval.high
    assert 0.90 <= held / 200 <= 0.985


@pytest.mark.parametrize(
    ("shares", "count"),
    [([], 0.0), ([0.0, 0.0], 0.0), ([2.0, 0.0], 1.0), ([1.0, -1.0, 1.0, 0.0], 3.0), ([2.0, 1.0], 25 / 17)],
    ids=["nothing", "no change", "one page", "three equal ones", "one weighs more"],
)
def test_effective_count_by_hand(shares: list[float], count: float) -> None:
    assert effective_count(np.array(shares)) == pytest.approx(count)


def test_few_observations_widen_the_interval_as_students_t_does() -> None:
    replicates = np.random.default_rng(3).normal(0.0, 1.0, 200_000)
    plain = bootstrap_interval(0.0, replicates)
    few = bootstrap_interval(0.0, replicates, effective=8)
    assert plain is not None
    assert few is not None
    assert plain.high == pytest.approx(1.96, abs=0.02)
    assert few.high == pytest.approx(2.365 * math.sqrt(8 / 7), abs=0.06)
    assert bootstrap_interval(0.0, replicates, effective=1e9) == pytest.approx(plain, abs=1e-6)


@pytest.mark.parametrize("effective", [0.0, 1.0, 1.3, 2.0])
def test_one_or_two_observations_give_the_extremes(effective: float) -> None:
    replicates = np.concatenate([np.zeros(5_000), np.arange(1.0, 6.0), -np.arange(1.0, 3.0)])
    found = bootstrap_interval(0.0, replicates, effective=effective)
    assert found is not None
    assert found.low <= -1
    assert found.high >= 4


def test_share_at_least_is_never_zero() -> None:
    replicates = np.array([-3.0, -2.0, -1.0, 0.0, NAN])
    assert share_at_least(replicates, -1.0) == pytest.approx(3 / 5)
    assert share_at_least(replicates, 5.0) == pytest.approx(1 / 5)


def test_welch_ratio_against_scipy() -> None:
    before, after = [10.0, 10.4, 9.8, 10.1], [9.0, 9.3, 9.1]
    found = welch_ratio(before, after)
    assert found is not None
    test = stats.ttest_ind(np.log(after), np.log(before), equal_var=False)
    assert found.value == pytest.approx(stats.gmean(after) / stats.gmean(before))
    assert found.degrees == pytest.approx(test.df)
    assert found.interval == pytest.approx(np.exp(test.confidence_interval(0.95)))


def test_welch_intervals_of_equal_runs_hold_one_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(400):
        found = welch_ratio(np.exp(rng.normal(2, 0.02, 3)).tolist(), np.exp(rng.normal(2, 0.05, 4)).tolist())
        assert found is not None
        held += found.interval.low <= 1 <= found.interval.high
    assert 0.92 <= held / 400 <= 0.985


def test_welch_ratio_needs_repeats_and_takes_equal_ones() -> None:
    assert welch_ratio([10.0], [9.0, 9.1]) is None
    found = welch_ratio([10.0, 10.0], [5.0, 5.0])
    assert found is not None
    assert found.interval == pytest.approx((0.5, 0.5))


def test_known_noise_by_hand() -> None:
    found = known_noise_ratio([10.0], [9.0], 0.02)
    half = 1.959964 * 0.02 * math.sqrt(2)
    assert found.value == pytest.approx(0.9)
    assert found.interval == pytest.approx((0.9 * math.exp(-half), 0.9 * math.exp(half)), rel=1e-6)


@pytest.mark.parametrize(
    ("count", "share", "expected"),
    [(5, 0.5, None), (6, 0.5, (1.0, 6.0)), (71, 0.95, None), (72, 0.95, (64.0, 72.0))],
    ids=["too few for a median", "just enough: the extremes", "too few for p95", "p95 of 72"],
)
def test_quantile_interval(count: int, share: float, expected: tuple[float, float] | None) -> None:
    assert quantile_interval([float(value) for value in range(1, count + 1)], share) == expected


def test_wilson_by_hand() -> None:
    found = wilson_interval(0, 10)
    assert found is not None
    z2 = 1.959964**2
    assert found == pytest.approx((0.0, z2 / (10 + z2)), abs=1e-6)
    assert wilson_interval(0, 0) is None


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [([], []), ([0.04], [0.04]), ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]), ([0.5, 0.6], [1.0, 1.0])],
)
def test_holm_by_hand(p_values: list[float], expected: list[float]) -> None:
    assert holm(p_values) == pytest.approx(expected)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_only_raises_and_keeps_the_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(before <= after <= 1 for before, after in zip(p_values, adjusted, strict=True))
    ranked = sorted(range(len(p_values)), key=lambda place: p_values[place])
    assert [adjusted[place] for place in ranked] == sorted(adjusted)


def test_detectable_change_by_hand() -> None:
    assert detectable_change(0.1, 0.5) == pytest.approx(0.5 + (1.959964 + 0.841621) * 0.1, rel=1e-6)
