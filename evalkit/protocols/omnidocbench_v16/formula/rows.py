"""Rows of a formula match: one annotated formula each, with the predicted formulas joined to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum

from evalkit.protocols.omnidocbench_v16.edit import normalized_edit
from evalkit.protocols.omnidocbench_v16.formula.prepare import ISOLATED, GtFormulas, PredFormulas, scored_category
from evalkit.protocols.omnidocbench_v16.match.pair import PairRecord
from evalkit.protocols.omnidocbench_v16.normalize.formula import strip_formula_delimiters
from evalkit.protocols.omnidocbench_v16.rules import rule


class FormulaRule(StrEnum):
    """How a formula's row came about, besides the rules of the text matcher."""

    ONE_TO_ONE = "formula_one_to_one"
    IN_ORDER = "formula_in_order"
    ROWS_ONE_TO_ONE = "formula_rows_one_to_one"
    ROWS_IN_ORDER = "formula_rows_in_order"
    ROWS_IN_ORDER_WITH_GAPS = "formula_rows_in_order_with_gaps"


COMPLETE_CATEGORIES = frozenset({"", "equation_inline", ISOLATED})


def unmatched_row(gt: GtFormulas, gt_index: int, joined_by: FormulaRule) -> PairRecord:
    """An annotated formula for which nothing was predicted."""
    item = gt.items[gt_index]
    return PairRecord(
        gt_idx=(gt_index,),
        gt=gt.lines[gt_index],
        norm_gt=gt.norms[gt_index],
        gt_category=item.category,
        gt_position=(item.order,),
        gt_attributes=(item.attributes,),
        rule=joined_by,
    )


def matched_row(
    gt: GtFormulas, gt_index: int, pred: PredFormulas, joined: Sequence[int], joined_by: FormulaRule
) -> PairRecord:
    """An annotated formula with one predicted formula, or with several read as its rows."""
    first = pred.items[joined[0]]
    norm_pred = " ".join(pred.norms[index] for index in joined).strip()
    single = len(joined) == 1
    return replace(
        unmatched_row(gt, gt_index, joined_by),
        pred_idx=tuple(joined),
        pred=pred.lines[joined[0]] if single else stack_rows(pred.lines[index] for index in joined),
        norm_pred=norm_pred,
        pred_category=first.category if single else ISOLATED,
        pred_position=first.item.position[0],
        edit=normalized_edit(gt.norms[gt_index], norm_pred),
    )


@rule(stage="match", order=71, example=r"$a$, $b$ -> \begin{array}{l} {a} \\ {b} \end{array}")
def stack_rows(parts: Iterable[str]) -> str:
    """Several formulas as one left-aligned array, so that they can be rendered together.

    Source: end2end_dataset.py _build_merged_formula_content.
    """
    bare = [text for part in parts if (text := strip_formula_delimiters(part.strip()))]
    if len(bare) < 2:
        return "".join(bare)
    return r"\begin{array}{l} " + r" \\ ".join("{" + text + "}" for text in bare) + r" \end{array}"


def is_complete(rows: Sequence[PairRecord], gt_count: int) -> bool:
    """Whether each annotated formula has exactly one row, matched to nothing or to a formula."""
    owners = [row.gt_idx for row in rows]
    return (
        len(rows) == gt_count
        and all(len(owner) == 1 for owner in owners)
        and len(set(owners)) == gt_count
        and all(row.pred_category in COMPLETE_CATEGORIES for row in rows)
    )


def with_scored_categories(rows: Iterable[PairRecord]) -> tuple[PairRecord, ...]:
    """Rows of annotated formulas, rescued predictions shown as display formulas."""
    return tuple(
        replace(row, pred_category=scored_category(row.pred_category)) if row.pred_category else row
        for row in rows
        if row.gt_idx
    )
