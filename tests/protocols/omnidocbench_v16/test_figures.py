"""Reading order, labels, page figures and the overall figure."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit.protocols.omnidocbench_v16.figures import expected_pages, overall
from evalkit.protocols.omnidocbench_v16.labels import block_labels, page_labels
from evalkit.protocols.omnidocbench_v16.match.pair import PairRecord
from evalkit.protocols.omnidocbench_v16.reading_order import OrderPair, order_pair
from evalkit.protocols.omnidocbench_v16.waste import ends_in_loop
from evalkit.types import Block, GroundTruth, Page


def placed(position: float | None, predicted_at: int | None, *more: float | None) -> PairRecord:
    positions = (position, *more)
    return PairRecord(gt_idx=tuple(range(len(positions))), gt_position=positions, pred_position=predicted_at)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        pytest.param([placed(1, 5), placed(2, 9)], OrderPair((1, 2), (1, 2)), id="in-order"),
        pytest.param([placed(1, 9), placed(2, 5)], OrderPair((1, 2), (2, 1)), id="swapped"),
        pytest.param([placed(2, None), placed(1, 3)], OrderPair((1, 2), (1,)), id="one-not-predicted"),
        pytest.param([placed(1, 4, 3), placed(2, 4)], OrderPair((1, 2, 3), (1, 3, 2)), id="joined-follow-the-first"),
        pytest.param([placed(None, 4)], None, id="no-position"),
        pytest.param([placed(0, 4), placed(1, 5)], OrderPair((1,), (1,)), id="position-0-is-none"),
        pytest.param([placed(None, 4, 3)], OrderPair((3,), (3,)), id="joined-to-one-without"),
        pytest.param([PairRecord(pred_position=3)], None, id="no-truth"),
        pytest.param([], None, id="nothing"),
    ],
)
def test_order_pair(pairs: list[PairRecord], expected: OrderPair | None) -> None:
    assert order_pair(pairs) == expected


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        pytest.param({}, ("ALL",), id="none"),
        pytest.param(
            {"language": "english", "layout": None}, ("ALL", "language: english", "layout: None"), id="values"
        ),
        pytest.param({"special_issue": ["watermark", "table_x"]}, ("ALL", "watermark"), id="list-without-tables"),
        pytest.param({"a": ["x", "x"]}, ("ALL", "x"), id="once-each"),
    ],
)
def test_page_labels(attributes: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert page_labels(attributes) == expected


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        pytest.param([{"k": True}], ("k: True",), id="one"),
        pytest.param([{"k": 1}, {"k": 2}], ("k: 1", "k: 2"), id="two-blocks"),
        pytest.param([[{"k": 1}], {}], ("k: 1",), id="nested"),
        pytest.param([], (), id="none"),
    ],
)
def test_block_labels(attributes: list[Any], expected: tuple[str, ...]) -> None:
    assert block_labels(attributes) == expected


@pytest.mark.parametrize(
    ("element", "expected"),
    [("table", ("a",)), ("display_formula", ("b",)), ("text_block", ()), ("reading_order", ())],
)
def test_expected_pages(element: str, expected: tuple[str, ...]) -> None:
    truths = [
        GroundTruth(Page("a", "a"), (Block("table"), Block("equation_isolated", ignore=True))),
        GroundTruth(Page("b", "b"), (Block("equation_isolated"), Block("text_block"))),
    ]
    assert expected_pages(element, truths) == expected


@pytest.mark.parametrize(
    ("text_edit", "teds", "cdm", "expected"),
    [
        (0.0, 1.0, 1.0, 100.0),
        (1.0, 0.0, 0.0, 0.0),
        (0.1, 0.8, 0.9, 260 / 3),
        (None, 1.0, 1.0, None),
        (0.0, 1.0, None, None),
    ],
)
def test_overall(text_edit: float | None, teds: float | None, cdm: float | None, expected: float | None) -> None:
    assert overall(text_edit, teds, cdm) == (None if expected is None else pytest.approx(expected, abs=1e-12))


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        pytest.param("word " * 60, True, id="one-word"),
        pytest.param("A good page. " + "And the next line, " * 20, True, id="a-phrase-at-the-end"),
        pytest.param("And the next line, " * 20 + "A good end of the page.", False, id="not-at-the-end"),
        pytest.param("word " * 20, False, id="too-short"),
        pytest.param("." * 500, False, id="leaders-are-no-words"),
        pytest.param("<tr><td></td><td></td></tr>" * 50, False, id="empty-cells"),
        pytest.param("", False, id="empty"),
        pytest.param(
            "The quick brown fox jumps over the lazy dog. Pack my box with five dozen liquor jugs. " * 3,
            False,
            id="thrice",
        ),
    ],
)
def test_ends_in_loop(markdown: str, expected: bool) -> None:
    assert ends_in_loop(markdown) is expected
