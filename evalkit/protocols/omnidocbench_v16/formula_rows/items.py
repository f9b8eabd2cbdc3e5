"""Formula items replaced by one item for each of their rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from evalkit.protocols.omnidocbench_v16.formula_rows.split import formula_rows
from evalkit.protocols.omnidocbench_v16.records import GtItem, PredItem
from evalkit.protocols.omnidocbench_v16.rules import rule

FORMULA = "equation_isolated"
INLINE = "equation_inline"
ROWS_PER_POSITION = 1000


@rule(stage="match", order=15, example=r"a \\ b at order 7 -> a at 7.001, b at 7.002")
def split_gt_rows(items: Iterable[GtItem]) -> list[GtItem]:
    """Annotated items; a multi-line formula becomes its rows, at positions between it and the next block.

    Source: match_quick.py split_gt_equation_arrays. A formula without a position leaves its rows without one,
    where the official stops with an error.
    """
    split: list[GtItem] = []
    for item in items:
        rows = formula_rows(item.content) if item.category == FORMULA else ()
        if not rows:
            split.append(item)
        for number, row in enumerate(rows, start=1):
            order = None if item.order is None else float(item.order) + number / ROWS_PER_POSITION
            split.append(replace(item, content=_delimited(row.latex), order=order))
    return split


@rule(stage="match", order=17, example=r"\[a \\ b\] at 10-17 -> \[a\] at 12-12, \[b\] at 17-17")
def split_pred_rows(items: Iterable[PredItem]) -> list[PredItem]:
    """Predicted items; a multi-line formula becomes its rows, each with its own span.

    Source: match_quick.py split_equation_arrays.
    """
    split: list[PredItem] = []
    for item in items:
        rows = formula_rows(item.content) if item.category == FORMULA else ()
        if not rows:
            split.append(item)
        start = item.position[0]
        split += [
            replace(item, content=_delimited(row.latex), position=(start + row.start, start + row.last)) for row in rows
        ]
    return split


@rule(stage="match", order=16, example="inline formula at 3, text at 9, text at 1 -> text, text, inline formula")
def sort_inline_last(items: Iterable[PredItem]) -> list[PredItem]:
    """Predicted items by start; inline formulas after all others.

    Source: match_quick.py sort_by_position_skip_inline.
    """
    return sorted(items, key=lambda item: (item.fine_category == INLINE, item.position[0]))


def _delimited(latex: str) -> str:
    return f"\\[{latex}\\]"
