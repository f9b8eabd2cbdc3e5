"""Whole pages: what is special about one side only, ignored categories and inline formulas."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from evalkit.protocols.omnidocbench_v16.match.ignored import claim_ignored
from evalkit.protocols.omnidocbench_v16.match.lines import gt_lines, pred_lines
from evalkit.protocols.omnidocbench_v16.match.pair import PairRecord
from evalkit.protocols.omnidocbench_v16.match.present import join_texts, most_common_category
from evalkit.protocols.omnidocbench_v16.match.quick import match_page
from evalkit.protocols.omnidocbench_v16.records import GtItem, PredItem
from tests.protocols.omnidocbench_v16.match.pages import pieces, texts


def summary(pairs: Iterable[PairRecord]) -> list[tuple[tuple[int, ...], tuple[int, ...], float, str]]:
    return [(pair.gt_idx, pair.pred_idx, pair.edit, pair.rule) for pair in pairs]


@pytest.mark.parametrize(
    ("gts", "preds", "expected"),
    [
        pytest.param([], [], [], id="nothing"),
        pytest.param(["a", " "], [], [((0,), (), 1, "unmatched_gt")], id="nothing predicted"),
        pytest.param([], ["a", "b"], [((), (0,), 1, "unmatched_pred"), ((), (1,), 1, "unmatched_pred")], id="no truth"),
        pytest.param(["abcd"], ["wxyz"], [((0,), (0,), 1.0, "only_pair")], id="one of each, whatever they are"),
        pytest.param(
            ["abcd"], ["abcd", "wxyz"], [((0,), (0,), 0.0, "assignment"), ((), (1,), 1, "unmatched_pred")], id="extra"
        ),
    ],
)
def test_match_page(gts: list[str], preds: list[str], expected: list[object]) -> None:
    assert summary(match_page(texts(*gts), pieces(*preds), "page").pairs) == expected


def test_without_a_partner_inline_formulas_take_all_unmatched_pieces_with_them() -> None:
    inline = PredItem("equation_isolated", "$x$", (50, 53), "equation_inline")
    found = match_page(texts("abcd", "efgh"), [*pieces("abcd", "efgh"), inline], "page").pairs
    assert summary(found) == [((0,), (0,), 0.0, "assignment"), ((1,), (1,), 0.0, "assignment")]


def test_rows_of_a_formula_are_matched_one_by_one() -> None:
    gt = GtItem("equation_isolated", r"\[a+b \\ c-d\]", 4)
    pred = PredItem("equation_isolated", r"\[a+b \\ c-d\]", (10, 22), None)
    found = match_page([gt], [pred], "page").pairs
    assert [(pair.gt, pair.gt_position, pair.pred_position, pair.edit) for pair in found] == [
        (r"\[a+b\]", (4.001,), 12, 0.0),
        (r"\[c-d\]", (4.002,), 19, 0.0),
    ]
    [joined] = [pair for pair in match_page([gt], [pred], "page", split_pred_formula=False).pairs if pair.pred_idx]
    assert joined.gt_idx == (0,)


def test_ignored_blocks_take_their_last_close_piece() -> None:
    gt = gt_lines([*texts("Chapter one", category="header"), *texts("Some text")])
    pred = pred_lines(pieces("Chapter one", "Some text", "Chapter on"))
    ignored = claim_ignored(gt, pred)
    assert ignored.claimed == {0, 2}
    assert [(group.gts, group.preds, group.edit, group.rule) for group in ignored.groups] == [
        ((0,), (2,), 1 / 10, "ignored_category"),
        ((), (0,), 1, "unmatched_pred"),
    ]


def test_scored_and_ignored_blocks_come_one_after_the_other() -> None:
    gts = [*texts("Chapter one", category="header"), GtItem("text_block", "Some text", 2)]
    found = match_page(gts, pieces("Chapter one", "Some text"), "page").pairs
    assert [(pair.gt_category, pair.gt_idx, pair.pred_idx) for pair in found] == [
        ("text_block", (1,), (1,)),
        ("header", (0,), (0,)),
    ]


@pytest.mark.parametrize(
    ("categories", "expected"),
    [([], ""), (["title"], "title"), (["text_block", "title", "title"], "title"), (["title", "text_block"], "title")],
)
def test_most_common_category(categories: list[str], expected: str) -> None:
    assert most_common_category(categories) == expected


@pytest.mark.parametrize(
    ("texts", "stacked", "expected"),
    [
        ([], True, ""),
        (["$$a$$"], True, "$$a$$"),
        (["$$a$$", r"\[b\]"], True, r"\begin{array}{l} {a} \\ {b} \end{array}"),
        (["a", "b"], False, "ab"),
    ],
)
def test_join_texts(texts: list[str], stacked: bool, expected: str) -> None:
    assert join_texts(texts, stacked=stacked) == expected


def test_a_long_paragraph_predicted_by_lines_is_matched_where_the_official_would_give_up() -> None:
    words = [chr(97 + (place * place) % 26) * (1 + place % 7) for place in range(2400)]
    paragraph = " ".join(words)
    lines = [paragraph[at : at + 60] for at in range(0, len(paragraph), 60)]
    found = match_page(texts(paragraph), pieces(*lines), "page")
    assert found.pairs[0].rule == "merged_pred"
    assert len(found.pairs[0].pred_idx) == 160
    assert found.official_would_time_out


@pytest.mark.parametrize(
    "preds", [["x"] * 3000, [chr(65 + place % 26) for place in range(3000)]], ids=["loop", "letters"]
)
def test_thousands_of_single_characters_are_matched(preds: list[str]) -> None:
    gts = [chr(97 + place % 26) for place in range(1000)]
    assert len({pair.gt_idx for pair in match_page(texts(*gts), pieces(*preds), "page").pairs} - {()}) > 900
