"""The cheapest assignment of predicted pieces, single or joined to runs, to annotated lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from evalkit.linear_assignment import linear_sum_assignment
from evalkit.protocols.omnidocbench_v16.match.edits import Costs, costs_between
from evalkit.protocols.omnidocbench_v16.match.pieces import JOINER
from evalkit.protocols.omnidocbench_v16.match.run import Span
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.rules import rule


@rule(stage="match", order=42, example="costs [[0.1, 0.6], [0.2, 0.9]] -> line 0 with piece 1, line 1 with piece 0")
def assign(runs: Iterable[Span], gts: Sequence[str], preds: Sequence[str], costs: Costs) -> dict[Span, int]:
    """Runs of pieces and the line that each is assigned to, by rising line, where their cost is acceptable.

    Source: match_quick.py cal_final_match and process_matches.
    """
    units = _units(runs, len(preds))
    unit_costs = _unit_costs(units, gts, preds, costs)
    rows, columns = linear_sum_assignment(unit_costs)
    return {
        units[column]: row
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
        if not unit_costs[row, column] > POLICY.match.unmatched_edit
    }


def _units(runs: Iterable[Span], piece_count: int) -> list[Span]:
    """The runs and every other piece alone, by position."""
    by_first = dict(runs)
    units: list[Span] = []
    piece = 0
    while piece < piece_count:
        last = by_first.get(piece, piece)
        units.append((piece, last))
        piece = last + 1
    return units


def _unit_costs(units: Sequence[Span], gts: Sequence[str], preds: Sequence[str], costs: Costs) -> Costs:
    if len(units) == len(preds):
        return costs
    joined = [at for at, (first, last) in enumerate(units) if last > first]
    unit_costs = costs[:, [first for first, _ in units]]
    texts = [JOINER.join(preds[units[at][0] : units[at][1] + 1]) for at in joined]
    unit_costs[:, joined] = costs_between(gts, texts)
    return np.ascontiguousarray(unit_costs)
