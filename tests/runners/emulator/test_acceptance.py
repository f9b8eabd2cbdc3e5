"""Accepted drafts: their means, their sums, and where they are cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.emulator.acceptance import Acceptance
from runners.emulator.deployments import deployment
from runners.emulator.pages import Content

ALIKE = dict.fromkeys(Content, 6.6)


@pytest.mark.parametrize(("window", "mean"), [(6, 6.6), (6, 1.0), (6, 7.0), (15, 8.36), (1, 1.5)])
def test_rates_give_the_wanted_mean(window: int, mean: float) -> None:
    acceptance = Acceptance.from_means(window, dict.fromkeys(Content, mean), 1.0)
    assert acceptance.mean(Content.TEXT) == pytest.approx(mean, abs=1e-6)


def test_one_position_by_hand() -> None:
    acceptance = Acceptance.from_means(2, dict.fromkeys(Content, 1.75), 1.0)
    # r + r^2 = 0.75 has the root 0.5
    assert acceptance.survival[Content.TEXT] == pytest.approx([0.5, 0.25])


def test_an_impossible_mean_is_refused() -> None:
    with pytest.raises(ValueError, match="no acceptance rate"):
        Acceptance.from_means(6, dict.fromkeys(Content, 7.5), 1.0)


segments = st.lists(st.tuples(st.integers(0, 200), st.sampled_from(list(Content))), max_size=6)


@given(parts=segments, seed=st.integers(0, 99))
def test_steps_sum_to_the_length_and_stay_in_the_window(parts: list[tuple[int, Content]], seed: int) -> None:
    steps = Acceptance.from_means(6, ALIKE, 0.99).steps(parts, np.random.default_rng(seed))
    assert steps.sum() == sum(length for length, _ in parts)
    assert all(1 <= step <= 7 for step in steps)


def test_without_drafts_every_step_is_one_token() -> None:
    assert (
        Acceptance(0, {}).steps([(3, Content.TEXT), (2, Content.TABLE)], np.random.default_rng(0)).tolist() == [1] * 5
    )


def test_long_streams_reach_the_published_mean() -> None:
    acceptance = deployment("hpd-parsing").variant.acceptance
    assert acceptance is not None
    mix = [(4000, Content.TEXT), (1500, Content.LAYOUT), (1000, Content.TABLE), (500, Content.FORMULA)]
    steps = acceptance.steps(mix * 5, np.random.default_rng(1))
    assert steps.mean() == pytest.approx(6.6, abs=0.05)


@pytest.mark.parametrize("name", ["hpd-parsing", "hunyuan-dflash", "hunyuan-draft-model"])
def test_tables_are_easier_than_formulas_than_text(name: str) -> None:
    acceptance = deployment(name).variant.acceptance
    assert acceptance is not None
    means = [acceptance.mean(kind) for kind in (Content.TEXT, Content.FORMULA, Content.TABLE)]
    assert means == sorted(means)
    assert len(set(means)) == 3


def test_later_positions_are_accepted_less_often() -> None:
    row = Acceptance.from_means(6, ALIKE, 0.99).survival[Content.TEXT]
    assert all(np.diff(row) < 0)


def test_a_wider_window_keeps_the_rates() -> None:
    narrow = Acceptance.from_means(3, dict.fromkeys(Content, 2.5), 0.9)
    assert narrow.with_window(5, 0.9).survival[Content.TEXT][:3] == pytest.approx(narrow.survival[Content.TEXT])
