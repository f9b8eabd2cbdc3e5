"""Tables matched one to one."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit.protocols.omnidocbench_v16.match.simple import comparable_table, match_simple
from evalkit.protocols.omnidocbench_v16.records import GtItem, PredItem

ONE = "<table><tr><td>one</td><td>two</td></tr></table>"
OTHER = "<table><tr><td>alpha beta</td></tr><tr><td>gamma</td></tr></table>"


def tables(*contents: str) -> list[GtItem]:
    return [GtItem("table", content, order) for order, content in enumerate(contents, start=3)]


def predicted(*contents: str) -> list[PredItem]:
    return [
        PredItem("html_table", content, (100 * place, 100 * place + 50), "html_table")
        for place, content in enumerate(contents)
    ]


def facts(gts: list[GtItem], preds: list[PredItem]) -> list[tuple[Any, ...]]:
    pairs = match_simple(gts, preds, "html_table", "page").pairs
    return [(pair.gt_idx, pair.pred_idx, pair.pred_category, pair.pred_position, pair.rule) for pair in pairs]


@pytest.mark.parametrize(
    ("gts", "preds", "expected"),
    [
        pytest.param([], [], [], id="nothing"),
        pytest.param([ONE], [], [((0,), (), "", None, "unmatched_gt")], id="nothing predicted"),
        pytest.param(
            [ONE, OTHER],
            [OTHER, ONE],
            [((0,), (1,), "html_table", 100, "assignment"), ((1,), (0,), "", None, "assignment")],
            id="crossed; piece 0 is shown without category and position",
        ),
        pytest.param([""], [ONE], [((), (0,), "html_table", 0, "unmatched_pred")], id="empty truth"),
    ],
)
def test_match_simple(gts: list[str], preds: list[str], expected: list[tuple[Any, ...]]) -> None:
    assert facts(tables(*gts), predicted(*preds)) == expected


def test_rows_of_an_unmatched_table_become_text() -> None:
    found = match_simple(tables(ONE), predicted(ONE, OTHER), "html_table", "page")
    assert [(one.content, one.category, one.fine_category, one.position) for one in found.spare_text] == [
        ("alphabeta", "text_all", "table_to_text", (100, 109)),
        ("gamma", "text_all", "table_to_text", (101, 106)),
    ]


def test_texts_are_matched_too_and_the_unmatched_ones_come_as_one_pair() -> None:
    gts = [GtItem("text_block", "one", 1)]
    preds = [
        PredItem("text_all", text, (place, place + 1), "text_block") for place, text in enumerate(["two", "one", "six"])
    ]
    found = match_simple(gts, preds, "text_all", "page")
    assert [(pair.gt, pair.pred, pair.edit) for pair in found.pairs] == [("one", "one", 0.0), ("", "twosix", 1)]
    assert found.spare_text == ()


@pytest.mark.parametrize("content", ["", "| a | b |"])
def test_what_is_no_html_table_is_compared_as_it_is(content: str) -> None:
    assert comparable_table(content) == content
