"""Formulas matched one to one whatever their order: the assignment with the least summed distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evalkit.linear_assignment import linear_sum_assignment
from evalkit.protocols.omnidocbench_v16.formula.prepare import Distances, GtFormulas, PredFormulas
from evalkit.protocols.omnidocbench_v16.formula.rows import FormulaRule, matched_row, unmatched_row
from evalkit.protocols.omnidocbench_v16.match.pair import PairRecord
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.rules import rule


@rule(stage="match", order=73, example="truth x, y and predictions y, x -> both matched at distance 0")
def assign_one_to_one(
    gt: GtFormulas, pred: PredFormulas, distances: Distances, joined_by: FormulaRule
) -> tuple[PairRecord, ...]:
    """Rows of the best one-to-one assignment, where leaving out either side costs 1.

    Source: end2end_dataset.py _build_display_formula_hungarian_candidate.
    """
    gt_count, pred_count = len(gt.lines), len(pred.lines)
    if pred_count == 0:
        return tuple(unmatched_row(gt, index, joined_by) for index in range(gt_count))
    owners = _owners(np.divide(distances.edits(pred.norms), distances.lengths(pred.norms)))
    return tuple(
        unmatched_row(gt, index, joined_by)
        if index not in owners
        else matched_row(gt, index, pred, (owners[index],), joined_by)
        for index in range(gt_count)
    )


def _owners(costs: NDArray[np.float64]) -> dict[int, int]:
    """The predicted formula of each annotated one that has one.

    The official matrix has a row and a column of cost 1 for leaving out each formula. Leaving out never pays, so
    that a matrix without them has the same least cost; it is used where the full one would take too much memory.
    """
    gt_count, pred_count = costs.shape
    size = gt_count + pred_count
    if size <= POLICY.formula.full_matrix_size:
        full = np.ones((size, size))
        full[gt_count:, pred_count:] = 0.0
        full[:gt_count, :pred_count] = costs
        costs = full
    pairs = zip(*linear_sum_assignment(costs), strict=True)
    return {int(gt): int(pred) for gt, pred in pairs if gt < gt_count and pred < pred_count}
