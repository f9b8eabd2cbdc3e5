"""Blocks that are not scored, taken out of the matching together with what was predicted for them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evalkit.protocols.omnidocbench_v16.match.edits import costs_between
from evalkit.protocols.omnidocbench_v16.match.groups import Group, settle
from evalkit.protocols.omnidocbench_v16.match.lines import UNSCORED_TEXT, GtLines, PredLines
from evalkit.protocols.omnidocbench_v16.match.pair import MatchRule
from evalkit.protocols.omnidocbench_v16.match.run import Span
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.rules import rule


@dataclass(frozen=True, slots=True)
class IgnoredBlocks:
    """Groups of ignored lines, and the pieces that are no longer free for other lines."""

    groups: tuple[Group, ...]
    claimed: frozenset[int]


@rule(stage="match", order=30, example="header 'Page 3' and piece 'Page 3' -> both out of the matching")
def claim_ignored(gt: GtLines, pred: PredLines) -> IgnoredBlocks:
    """Lines of ignored categories with the pieces close to them; what no line is close to stays for the others.

    Source: match_quick.py match_gt2pred_quick.
    Quirk: of several close pieces a line gets the last, not the closest. The other claimed pieces are paired with
    ignored lines that have none, at edit 1; a piece close to two lines is claimed once for each.
    """
    lines = [line for line, category in enumerate(gt.categories) if category in UNSCORED_TEXT]
    if not lines:
        return IgnoredBlocks((), frozenset())
    gts = [gt.norms[line] for line in lines]
    costs = costs_between(gts, pred.norms)
    hits = np.argwhere(costs < POLICY.match.close_edit).tolist()
    last_hit = {row: hit for hit, (row, _) in enumerate(hits)}
    claims = [piece for _, piece in hits]
    joined: dict[Span, list[int]] = {(hit, hit): [row] for row, hit in last_hit.items()}
    groups = settle(joined, set(joined), gts, [pred.norms[piece] for piece in claims], costs[:, claims])
    return IgnoredBlocks(tuple(_on_page(group, lines, claims) for group in groups), frozenset(claims))


def _on_page(group: Group, lines: list[int], claims: list[int]) -> Group:
    matched = group.rule == MatchRule.ASSIGNMENT
    return replace(
        group,
        gts=tuple(lines[line] for line in group.gts),
        preds=tuple(claims[claim] for claim in group.preds),
        rule=MatchRule.IGNORED_CATEGORY if matched else group.rule,
    )
