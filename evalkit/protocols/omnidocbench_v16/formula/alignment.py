"""Formulas matched in reading order: the cheapest alignment in which predicted rows may be joined."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evalkit.protocols.omnidocbench_v16.formula.prepare import Distances, GtFormulas, PredFormulas
from evalkit.protocols.omnidocbench_v16.formula.rows import FormulaRule, matched_row, unmatched_row
from evalkit.protocols.omnidocbench_v16.formula.segments import Segment, segment_limits, segments
from evalkit.protocols.omnidocbench_v16.match.pair import PairRecord
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.rules import rule


class WorkLimitError(Exception):
    """An alignment would take more work than the policy allows."""


SKIP_GT = -1
SKIP_PRED = -2


@dataclass(frozen=True, slots=True)
class _State:
    """What an alignment has cost so far: summed distances, edits and lengths of its pairs, inline matches."""

    cost: float
    edits: int
    length: int
    inline: int

    def beats(self, other: _State) -> bool:
        """Lower cost; then the lower share of edits (pairs before none); then fewer inline matches."""
        if self.cost + POLICY.formula.tie_tolerance < other.cost:
            return True
        if self.cost > other.cost + POLICY.formula.tie_tolerance:
            return False
        if self.length and other.length:
            share, other_share = self.edits * other.length, other.edits * self.length
            if share != other_share:
                return share < other_share
        elif self.length or other.length:
            return self.length > 0
        return self.inline < other.inline


@rule(stage="match", order=76, example="truth a=b, c=d and predictions a=, b, c=d -> a=b gets the first two joined")
def align_in_order(
    gt: GtFormulas, pred: PredFormulas, distances: Distances, *, gaps: bool, joined_by: FormulaRule
) -> tuple[PairRecord, ...]:
    """Rows of the cheapest alignment in reading order, where leaving out either side costs 1; none for an empty side.

    Raises WorkLimitError when the page holds more work than the policy allows.
    Source: end2end_dataset.py _build_display_formula_dp_candidate.
    Quirk: Runs with gaps are permitted only within one split formula.
    """
    if not gt.lines or not pred.lines:
        return ()
    limits = segment_limits(len(gt.lines), len(pred.lines), gaps=gaps)
    runs = segments(pred, limits, POLICY.formula.alignment_budget // len(gt.lines))
    if runs is None:
        raise WorkLimitError
    steps = _cheapest_steps(gt, pred, runs, distances)
    return tuple(
        matched_row(gt, gt_index, pred, runs[step].lines, joined_by)
        if step >= 0
        else unmatched_row(gt, gt_index, joined_by)
        for gt_index, step in enumerate(steps)
    )


def _cheapest_steps(gt: GtFormulas, pred: PredFormulas, runs: list[Segment], distances: Distances) -> list[int]:
    texts = [run.norm for run in runs]
    edits, lengths = distances.edits(texts), distances.lengths(texts)
    costs = np.divide(edits, lengths)
    ending = _by_end(runs, len(pred.lines))
    row = [_State(float(skipped), 0, 0, 0) for skipped in range(len(pred.lines) + 1)]
    choices: list[list[int]] = []
    for gt_index in range(len(gt.lines)):
        row, chosen = _next_row(
            row, runs, ending, costs[gt_index].tolist(), edits[gt_index].tolist(), lengths[gt_index].tolist()
        )
        choices.append(chosen)
    return _walk_back(choices, runs, len(pred.lines))


def _by_end(runs: list[Segment], pred_count: int) -> list[list[int]]:
    ending: list[list[int]] = [[] for _ in range(pred_count + 1)]
    for number, run in enumerate(runs):
        ending[run.lines[-1] + 1].append(number)
    return ending


def _next_row(
    above: list[_State],
    runs: list[Segment],
    ending: list[list[int]],
    costs: list[float],
    edits: list[int],
    lengths: list[int],
) -> tuple[list[_State], list[int]]:
    """States after one more annotated formula, for every number of predicted ones passed, and how each was reached.

    Ties go to the run that starts first, then to leaving out the annotated formula, then the predicted one.
    """
    states: list[_State] = []
    chosen: list[int] = []
    for end, before in enumerate(above):
        best: _State | None = None
        choice = SKIP_GT
        for number in ending[end]:
            start = above[runs[number].lines[0]]
            cost = start.cost + costs[number]
            if best is not None and cost > best.cost + POLICY.formula.tie_tolerance:
                continue
            new = _State(
                cost, start.edits + edits[number], start.length + lengths[number], start.inline + runs[number].inline
            )
            if best is None or new.beats(best):
                best, choice = new, number
        for step, state in ((SKIP_GT, before), (SKIP_PRED, states[-1] if states else None)):
            if state is None:
                continue
            new = _State(state.cost + 1.0, state.edits, state.length, state.inline)
            if best is None or new.beats(best):
                best, choice = new, step
        assert best is not None
        states.append(best)
        chosen.append(choice)
    return states, chosen


def _walk_back(choices: list[list[int]], runs: list[Segment], pred_count: int) -> list[int]:
    steps = []
    end = pred_count
    for chosen in reversed(choices):
        while chosen[end] == SKIP_PRED:
            end -= 1
        step = chosen[end]
        steps.append(step)
        if step >= 0:
            end = runs[step].lines[0]
    return steps[::-1]
