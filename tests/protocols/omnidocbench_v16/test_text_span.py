"""The second look for badly matched titles and paragraphs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evalkit.protocols.omnidocbench_v16.match.pair import PairRecord
from evalkit.protocols.omnidocbench_v16.records import PredItem
from evalkit.protocols.omnidocbench_v16.text_span import (
    NEARBY_TEXT,
    deserves_second_look,
    has_math,
    owned_pieces,
    prefer_nearby_text,
)

PARAGRAPH = (
    "A paragraph of many words that the matcher gave away although every word of it was predicted somewhere else."
)


def pieces(*texts: str) -> list[PredItem]:
    return [
        PredItem("text_all", text, (100 * number, 100 * number + 99), "text_block") for number, text in enumerate(texts)
    ]


def pair(gt: str, owned: tuple[int, ...], edit: float = 0.9, category: str = "text_block") -> PairRecord:
    return PairRecord(gt_idx=(0,), gt=gt, norm_gt=gt.replace(" ", ""), gt_category=category, pred_idx=owned, edit=edit)


@pytest.mark.parametrize(
    ("pairs", "texts", "expected"),
    [
        pytest.param([pair("Title here", (0,), category="title")], ["zzz", "Title here"], [(1,)], id="title"),
        pytest.param([pair(PARAGRAPH, (0,))], ["zzz", PARAGRAPH], [(1,)], id="paragraph"),
        pytest.param([pair(PARAGRAPH, ())], ["zzz", PARAGRAPH], [(1,)], id="unmatched-searches-everywhere"),
        pytest.param([pair(PARAGRAPH, (0,))], ["zzz", PARAGRAPH[:50], PARAGRAPH[50:]], [(1, 2)], id="two-pieces"),
        pytest.param([pair("short text", (0,))], ["zzz", "short text"], [(0,)], id="short-paragraphs-stay"),
        pytest.param([pair("short $x^2$", (0,))], ["zzz", "short $x^2$"], [(1,)], id="short-with-math"),
        pytest.param([pair(PARAGRAPH, (0,), edit=0.45)], ["zzz", PARAGRAPH], [(0,)], id="not-bad-enough"),
        pytest.param([pair(PARAGRAPH, (0,))], ["zzz"] + ["y"] * 8 + [PARAGRAPH], [(0,)], id="out-of-reach"),
        pytest.param([pair(PARAGRAPH, (0,))], ["zzz", PARAGRAPH[:60]], [(0,)], id="not-good-enough"),
        pytest.param(
            [pair(PARAGRAPH, (0,)), replace(pair("x", (1,)), edit=0.0)],
            ["zzz", PARAGRAPH],
            [(0,), (1,)],
            id="taken-by-another",
        ),
        pytest.param(
            [pair(PARAGRAPH, (0,), edit=0.9), pair(PARAGRAPH, (2,), edit=0.8)],
            ["zzz", PARAGRAPH, "yyy"],
            [(1,), (2,)],
            id="largest-gain-first",
        ),
    ],
)
def test_replacement(pairs: list[PairRecord], texts: list[str], expected: list[tuple[int, ...]]) -> None:
    assert [one.pred_idx for one in prefer_nearby_text(pairs, pieces(*texts))] == expected


def test_a_replaced_pair_has_the_pieces_joined_without_blanks() -> None:
    (found,) = prefer_nearby_text([pair(PARAGRAPH, (0,))], pieces("zzz", PARAGRAPH[:50], PARAGRAPH[50:]))
    assert (found.pred, found.pred_position, found.pred_category, found.edit) == (PARAGRAPH, 100, "text_block", 0.0)
    assert found.rule == NEARBY_TEXT


def test_nothing_predicted_changes_nothing() -> None:
    pairs = [pair(PARAGRAPH, ())]
    assert prefer_nearby_text(pairs, []) == pairs


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(PairRecord(gt_idx=(0,), gt_category="title", edit=0.46), True, id="title"),
        pytest.param(PairRecord(gt_idx=(0,), gt_category="header", edit=0.9), False, id="header"),
        pytest.param(PairRecord(gt_idx=(), gt_category="title", edit=0.9), False, id="no-truth"),
        pytest.param(PairRecord(gt_idx=(0,), gt_category="text_block", norm_gt="x" * 80, edit=0.9), True, id="long"),
        pytest.param(PairRecord(gt_idx=(0,), gt_category="text_block", norm_gt="x" * 79, edit=0.9), False, id="short"),
    ],
)
def test_deserves_second_look(found: PairRecord, expected: bool) -> None:
    assert deserves_second_look(found) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", False),
        ("$x$", True),
        (r"\(x\)", True),
        (r"\frac", True),
        ("a_b", False),
        (r"a_b \c", True),
        ("$5", False),
        ("$5^", True),
    ],
)
def test_has_math(text: str, expected: bool) -> None:
    assert has_math(text) is expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(PairRecord(pred_idx=(2, 1, 1)), [1, 2], id="by-number"),
        pytest.param(PairRecord(pred_idx=(99,), pred_position=150), [1], id="number-out-of-range-by-position"),
        pytest.param(PairRecord(pred_idx=()), [], id="nothing"),
    ],
)
def test_owned_pieces(found: PairRecord, expected: list[int]) -> None:
    assert owned_pieces(found, pieces("a", "b", "c")) == expected
