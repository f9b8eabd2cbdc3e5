"""Stretches of a text that are close to a pattern, and the edit counts that ratios allow."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from evalkit.protocols.omnidocbench_v16.match.prefix_distances import prefix_distances
from evalkit.protocols.omnidocbench_v16.match.stretches import BATCHED_CHARACTERS, Stretches, largest_count

LETTERS = st.text("abcd", max_size=60)


def closest(text: str, pattern: str) -> int:
    size = len(pattern)
    return min(Levenshtein.distance(text[at : at + size], pattern) for at in range(len(text) - size + 1))


@pytest.mark.parametrize(
    ("text", "pattern", "limit", "expected"),
    [
        pytest.param("the cat sat", "cat", 0, True, id="contained"),
        pytest.param("the cat sat", "cut", 0, False, id="one away, none allowed"),
        pytest.param("the cat sat", "cut", 1, True, id="one away, one allowed"),
        pytest.param("cat", "cats", 4, False, id="text shorter than pattern"),
        pytest.param("xyz", "abc", 3, True, id="everything allowed"),
        pytest.param("abc", "abc", -1, False, id="nothing allowed"),
    ],
)
def test_has_close(text: str, pattern: str, limit: int, expected: bool) -> None:
    assert Stretches(text).has_close(pattern, limit) is expected


@settings(deadline=None)
@given(LETTERS, st.lists(st.tuples(st.text("abcd", min_size=1, max_size=50), st.integers(0, 30)), max_size=4))
def test_has_close_is_what_trying_all_stretches_gives(text: str, queries: list[tuple[str, int]]) -> None:
    stretches = Stretches(text, (pattern for pattern, _ in queries[::2]))
    for pattern, limit in queries:
        expected = len(pattern) <= len(text) and closest(text, pattern) <= limit
        assert stretches.has_close(pattern, limit) is expected


@settings(deadline=None)
@given(st.text("ab", min_size=BATCHED_CHARACTERS + 1, max_size=120), st.integers(0, 25))
def test_long_patterns_skip_no_close_stretch(text: str, limit: int) -> None:
    pattern = text[: BATCHED_CHARACTERS + 1].swapcase()[:5] + text[5 : BATCHED_CHARACTERS + 1][::-1]
    text = "b" * 20 + text + "a" * 20
    assert Stretches(text).has_close(pattern, limit) is (closest(text, pattern) <= limit)


@pytest.mark.parametrize(
    ("length", "ratio", "inclusive", "expected"),
    [
        pytest.param(5, 0.6, True, 3, id="3/5 is 0.6"),
        pytest.param(5, 0.6, False, 2, id="0.6 itself left out"),
        pytest.param(1, 0.4, False, 0, id="one character: only equal"),
        pytest.param(3, 0.6, True, 1, id="2/3 is above"),
        pytest.param(10, 0.7, True, 7, id="0.7 * 10 is below 7 in floating point"),
    ],
)
def test_largest_count(length: int, ratio: float, inclusive: bool, expected: int) -> None:
    assert largest_count(length, ratio, inclusive=inclusive) == expected


@settings(deadline=None)
@given(st.text("abc", min_size=1, max_size=130), LETTERS)
def test_prefix_distances_are_those_of_the_beginnings(pattern: str, text: str) -> None:
    expected = [Levenshtein.distance(pattern, text[:size]) for size in range(1, len(text) + 1)]
    assert list(prefix_distances(pattern, text)) == expected
