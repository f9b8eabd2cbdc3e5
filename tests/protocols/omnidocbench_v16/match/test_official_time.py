"""The estimate of how long the official matching works."""

from __future__ import annotations

import pytest

from evalkit.protocols.omnidocbench_v16.match.official_time import containing_seconds
from evalkit.protocols.omnidocbench_v16.match.quick import QuickMatch, match_page
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from tests.protocols.omnidocbench_v16.match.pages import pieces, texts

CALL_S = POLICY.match.official_call_s
CELL_S = POLICY.match.official_cell_s


@pytest.mark.parametrize(
    ("unmatched", "preds", "expected"),
    [
        pytest.param([], ["abcd"], 0.0, id="nothing unmatched"),
        pytest.param([0], ["abcd"], 3 * (CALL_S + 4 * CELL_S), id="two characters: three stretches of four"),
        pytest.param([0], ["a"], 0.0, id="piece shorter than the line"),
        pytest.param([0, 1], ["abcd", "ab"], 4 * (CALL_S + 4 * CELL_S) + 2 * (CALL_S + 9 * CELL_S), id="summed"),
    ],
)
def test_containing_seconds(unmatched: list[int], preds: list[str], expected: float) -> None:
    assert containing_seconds(unmatched, ["ab", "abc"], preds) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("join_s", "total_s", "expected"),
    [(299.0, 419.0, False), (301.0, 301.0, True), (10.0, 421.0, True), (300.0, 420.0, False)],
)
def test_the_official_gives_up_above_its_limits(join_s: float, total_s: float, expected: bool) -> None:
    assert QuickMatch((), join_s, total_s).official_would_time_out is expected


@pytest.mark.parametrize(
    ("characters", "least_s", "most_s"),
    [(1000, 0.2, 3.0), (2000, 2.0, 20.0), (4000, 30.0, 300.0), (8000, 400.0, 6000.0)],
)
def test_time_of_a_paragraph_predicted_by_lines(characters: int, least_s: float, most_s: float) -> None:
    """The official took 6-8 s for 2,000 characters in lines of 60 and did not finish 4,000 in 13 s."""
    paragraph = "".join(chr(97 + (place * place * 7) % 26) for place in range(characters))
    lines = [paragraph[at : at + 60] for at in range(0, characters, 60)]
    assert least_s < match_page(texts(paragraph), pieces(*lines), "page").official_join_s < most_s
