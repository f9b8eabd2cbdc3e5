"""Items split into rows, and the order of predicted items."""

from __future__ import annotations

import pytest

from evalkit.protocols.omnidocbench_v16.formula_rows import sort_inline_last, split_gt_rows, split_pred_rows
from evalkit.protocols.omnidocbench_v16.records import GtItem, PredItem

TWO_ROWS = r"\[a \\ b\]"


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        pytest.param(
            GtItem("equation_isolated", TWO_ROWS, 7, {"k": 1}), [(r"\[a\]", 7.001), (r"\[b\]", 7.002)], id="two rows"
        ),
        pytest.param(GtItem("equation_isolated", "$$a$$", 7), [("$$a$$", 7)], id="one row stays as it is"),
        pytest.param(GtItem("text_block", TWO_ROWS, 7), [(TWO_ROWS, 7)], id="text is not split"),
        pytest.param(
            GtItem("equation_isolated", TWO_ROWS, None), [(r"\[a\]", None), (r"\[b\]", None)], id="without a position"
        ),
    ],
)
def test_split_gt_rows(item: GtItem, expected: list[tuple[str, float | None]]) -> None:
    rows = split_gt_rows([item])
    assert [(row.content, row.order) for row in rows] == expected
    assert all(row.attributes == item.attributes for row in rows)


def test_split_pred_rows_keeps_what_an_item_carries() -> None:
    item = PredItem("equation_isolated", TWO_ROWS, (10, 19), "equation_inline", {"source": 3})
    assert split_pred_rows([item]) == [
        PredItem("equation_isolated", r"\[a\]", (12, 12), "equation_inline", {"source": 3}),
        PredItem("equation_isolated", r"\[b\]", (17, 17), "equation_inline", {"source": 3}),
    ]
    text = PredItem("text_all", TWO_ROWS, (10, 19))
    assert split_pred_rows([text]) == [text]


def test_inline_formulas_come_last() -> None:
    late = PredItem("text_all", "late", (9, 9))
    early = PredItem("text_all", "early", (1, 1))
    inline = PredItem("equation_isolated", "x", (0, 0), "equation_inline")
    same = PredItem("text_all", "same", (1, 4))
    assert sort_inline_last([inline, late, early, same]) == [early, same, late, inline]
