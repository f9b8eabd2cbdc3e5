"""Means and ratios, with what is absent left out."""

from __future__ import annotations

import pytest

from evalkit.aggregate import block_label_means, edit_ratio, label_means, mean, page_means, page_ratios, summarize
from evalkit.protocols.result import ScoredPair
from evalkit.types import MatchedPair, PairScore


def pair(value: float | None, edits: int = 0, length: int = 0) -> ScoredPair:
    matched = MatchedPair("p", "text_block", (0,), (0,), "a", "b", "a", "b", rule="x")
    return ScoredPair(matched, {"m": PairScore(value, details={"edits": edits, "length": length})})


SHORT_BAD, LONG_GOOD, EMPTY = pair(1.0, 5, 5), pair(0.05, 5, 100), pair(None)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        pytest.param([SHORT_BAD, LONG_GOOD], 10 / 105, id="weighted-by-length"),
        pytest.param([EMPTY], None, id="no-length"),
        pytest.param([SHORT_BAD, EMPTY], 1.0, id="empty-pair-does-not-count"),
        pytest.param([], None, id="nothing"),
    ],
)
def test_edit_ratio(pairs: list[ScoredPair], expected: float | None) -> None:
    assert edit_ratio(pairs, "m") == expected


def test_page_ratios_leave_out_pages_without_pairs() -> None:
    assert page_ratios({"a": [SHORT_BAD], "b": [], "c": [EMPTY]}, "m") == {"a": 1.0, "c": None}


def test_page_means_count_an_expected_page_without_pairs_as_0() -> None:
    assert page_means({"a": [pair(0.5), pair(1.0)], "b": []}, "m", expected=["a", "b"]) == {"a": 0.75, "b": 0.0}
    assert page_means({"a": [pair(0.5)], "b": []}, "m") == {"a": 0.5}


@pytest.mark.parametrize(
    ("values", "expected"),
    [([0.0, 1.0], 0.5), ([None, 1.0], 1.0), ([None], None), ([], None)],
)
def test_mean(values: list[float | None], expected: float | None) -> None:
    assert mean(values) == expected


def test_summary_of_three_averages() -> None:
    pairs = [SHORT_BAD, LONG_GOOD, EMPTY]
    found = summarize(pairs, "m", {"a": 0.4, "b": None}, whole=True)
    assert (found.page_avg, found.sample_avg, found.whole) == (0.4, 0.525, 10 / 105)
    assert (found.pages, found.samples, found.unscored) == (1, 2, 1)


def test_page_groups_are_means_over_their_pages() -> None:
    labels = {"a": ["ALL", "x"], "b": ["ALL", "x", "x"], "c": ["ALL"]}
    assert label_means({"a": 0.0, "b": 1.0, "c": None}, labels) == {"ALL": 0.5, "x": 0.5}


def test_block_groups_are_means_over_their_pairs_with_a_count() -> None:
    labelled = [(pair(0.0), ["x", "y"]), (pair(1.0), ["x"]), (EMPTY, ["x"])]
    assert block_label_means(labelled, "m") == {"x": (0.5, 2), "y": (0.0, 1)}
