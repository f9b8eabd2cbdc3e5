"""Matching of the mixed text and formulas of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from evalkit.protocols.omnidocbench_v16.formula_rows import sort_inline_last, split_gt_rows, split_pred_rows
from evalkit.protocols.omnidocbench_v16.match.assignment import assign
from evalkit.protocols.omnidocbench_v16.match.contained import join_contained
from evalkit.protocols.omnidocbench_v16.match.edits import costs_of, edit_counts
from evalkit.protocols.omnidocbench_v16.match.groups import Group, group_edit, settle
from evalkit.protocols.omnidocbench_v16.match.ignored import claim_ignored
from evalkit.protocols.omnidocbench_v16.match.lines import (
    FORMULA,
    UNSCORED_TEXT,
    GtLines,
    PredLines,
    gt_lines,
    pred_lines,
)
from evalkit.protocols.omnidocbench_v16.match.official_time import containing_seconds
from evalkit.protocols.omnidocbench_v16.match.overlaps import disjoint_runs
from evalkit.protocols.omnidocbench_v16.match.pair import MatchRule, PairRecord
from evalkit.protocols.omnidocbench_v16.match.present import present
from evalkit.protocols.omnidocbench_v16.match.runs import best_runs
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.records import GtItem, PredItem
from evalkit.protocols.omnidocbench_v16.rules import rule

INLINE = "equation_inline"


@dataclass(frozen=True, slots=True)
class QuickMatch:
    """The pairs of a page, and about how many seconds the official joins pieces for and matches altogether."""

    pairs: tuple[PairRecord, ...]
    official_join_s: float = 0.0
    official_s: float = 0.0

    @property
    def official_would_time_out(self) -> bool:
        """Whether the official would probably give up and match otherwise: by its work, not by a clock."""
        limits = POLICY.match
        return self.official_join_s > limits.official_join_limit_s or self.official_s > limits.official_page_limit_s


def match_page(
    gt_items: Sequence[GtItem],
    pred_items: Sequence[PredItem],
    page_id: str,
    *,
    split_pred_formula: bool = True,
) -> QuickMatch:
    """The pairs of a page: joined groups, leftovers, unmatched lines; then those of ignored categories.

    Source: match_quick.py match_gt2pred_quick, as it is without its time limit.
    """
    gt = gt_lines(split_gt_rows(gt_items))
    ordered = sort_inline_last(pred_items)
    pred = pred_lines(split_pred_rows(ordered) if split_pred_formula else ordered)
    if not gt.norms or not pred.norms or len(gt.norms) == len(pred.norms) == 1:
        groups = _trivial_groups(gt, pred)
        return QuickMatch(tuple(present(group, gt, pred, page_id) for group in groups))
    ignored = claim_ignored(gt, pred)
    scored, join_s, contain_s = _match_scored(gt, pred, ignored.claimed)
    pairs = [present(group, gt, pred, page_id) for group in scored if not is_unmatched_inline(group, pred)]
    pairs += [
        present(group, gt, pred, page_id, stack_pred=False)
        for group in ignored.groups
        if not is_unmatched_inline(group, pred)
    ]
    return QuickMatch(tuple(pairs), join_s, join_s + contain_s)


def _trivial_groups(gt: GtLines, pred: PredLines) -> list[Group]:
    """One side is empty, or both have a single line, which are compared whatever their categories are."""
    if gt.norms and pred.norms:
        return [Group((0,), (0,), group_edit((0,), (0,), gt.norms, pred.norms), MatchRule.ONLY_PAIR)]
    unmatched = [Group((line,), (), 1, MatchRule.UNMATCHED_GT) for line in range(len(gt.norms))]
    return unmatched + [Group((), (piece,), 1, MatchRule.UNMATCHED_PRED) for piece in range(len(pred.norms))]


def _match_scored(gt: GtLines, pred: PredLines, claimed: frozenset[int]) -> tuple[list[Group], float, float]:
    """Groups of the lines whose categories are scored and of the pieces that ignored lines left over.

    Also the official's seconds for joining pieces and for looking for contained lines.
    """
    lines = [line for line, category in enumerate(gt.categories) if category not in UNSCORED_TEXT]
    pieces = [piece for piece in range(len(pred.norms)) if piece not in claimed]
    gts = [gt.norms[line] for line in lines]
    preds = [pred.norms[piece] for piece in pieces]
    counts = edit_counts(gts, preds)
    costs = costs_of(counts, gts, preds)
    runs = best_runs(gts, preds, counts, costs)
    assigned = assign(disjoint_runs(runs), gts, preds, costs)
    matched = set(assigned.values())
    unmatched = [at for at, line in enumerate(lines) if at not in matched and gt.categories[line] != FORMULA]
    joined = join_contained({span: [line] for span, line in assigned.items()}, unmatched, gts, preds, counts)
    groups = [
        replace(group, gts=tuple(lines[at] for at in group.gts), preds=tuple(pieces[at] for at in group.preds))
        for group in settle(joined, assigned, gts, preds, costs)
    ]
    return groups, sum(run.official_s for run in runs), containing_seconds(unmatched, gts, preds)


@rule(stage="match", order=52, example="an inline formula that no line took -> not in the result")
def is_unmatched_inline(group: Group, pred: PredLines) -> bool:
    """Unmatched pieces are left out of the result when the first of them is an inline formula.

    Source: match_quick.py match_gt2pred_quick.
    Quirk: all of them are left out, whatever the others are.
    """
    return not group.gts and pred.category(group.preds[0]) == INLINE
