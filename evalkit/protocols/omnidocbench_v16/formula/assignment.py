"""Formulas matched one to one whatever their order: the assignment with the least summed distance."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from evalkit.protocols.omnidocbench_v16.formula.prepare import Distances, GtFormulas, PredFormulas
from evalkit.protocols.omnidocbench_v16.formula.rows import FormulaRule, matched_row, unmatched_row
from evalkit.protocols.omnidocbench_v16.match.pair import PairRecord
from evalkit.protocols.omnidocbench_v16.rules import rule


@rule(stage="match", order=73, example="truth x, y and predictions y, x -> both matched at distance 0")
def assign(gt: GtFormulas, pred: PredFormulas, distances: Distances, joined_by: FormulaRule) -> tuple[PairRecord, ...]:
    """Rows of the best one-to-one assignment, where leaving out either side costs 1.

    Source: end2end_dataset.py _build_display_formula_hungarian_candidate.
    """
    gt_count, pred_count = len(gt.lines), len(pred.lines)
    if pred_count == 0:
        return tuple(unmatched_row(gt, index, joined_by) for index in range(gt_count))
    costs = np.ones((gt_count + pred_count, gt_count + pred_count))
    costs[gt_count:, pred_count:] = 0.0
    costs[:gt_count, :pred_count] = np.divide(distances.edits(pred.norms), distances.lengths(pred.norms))
    owners = linear_sum_assignment(costs)[1]
    return tuple(
        matched_row(gt, index, pred, (int(owner),), joined_by)
        if owner < pred_count
        else unmatched_row(gt, index, joined_by)
        for index, owner in enumerate(owners[:gt_count])
    )
