"""Annotated lines and predicted pieces sorted into groups that are compared as one."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

from evalkit.linear_assignment import linear_sum_assignment
from evalkit.protocols.omnidocbench_v16.match.edits import Costs
from evalkit.protocols.omnidocbench_v16.match.pair import MatchRule
from evalkit.protocols.omnidocbench_v16.match.pieces import JOINER
from evalkit.protocols.omnidocbench_v16.match.run import Span
from evalkit.protocols.omnidocbench_v16.rules import rule


@dataclass(frozen=True, slots=True)
class Group:
    """Lines and pieces that are compared with each other; none on a side means unmatched."""

    gts: tuple[int, ...]
    preds: tuple[int, ...]
    edit: float
    rule: MatchRule


def settle(
    joined: Mapping[Span, Sequence[int]],
    assigned: Container[Span],
    gts: Sequence[str],
    preds: Sequence[str],
    costs: Costs,
) -> list[Group]:
    """All lines and pieces in groups: the joined ones, then leftovers, then lines without anything.

    `joined` maps runs of pieces to lines; `assigned` holds those of the runs that the assignment made; `costs` are
    those of single pieces.
    """
    groups = [
        _joined_group(span, sorted(set(lines)), span in assigned, gts, preds) for span, lines in joined.items() if lines
    ]
    used_pieces = {piece for first, last in joined for piece in range(first, last + 1)}
    used_lines = {line for lines in joined.values() for line in lines}
    groups += pair_leftovers(used_lines, used_pieces, costs)
    placed = {line for group in groups for line in group.gts}
    return groups + [Group((line,), (), 1, MatchRule.UNMATCHED_GT) for line in range(len(gts)) if line not in placed]


def _joined_group(span: Span, lines: Sequence[int], assigned: bool, gts: Sequence[str], preds: Sequence[str]) -> Group:
    first, last = span
    if not assigned:
        how = MatchRule.CONTAINED_GT
    elif len(lines) > 1:
        how = MatchRule.MERGED_GT
    else:
        how = MatchRule.MERGED_PRED if last > first else MatchRule.ASSIGNMENT
    pieces = tuple(range(first, last + 1))
    return Group(tuple(lines), pieces, group_edit(lines, pieces, gts, preds), how)


@rule(stage="match", order=45, example="lines 'ab' and 'cd' with pieces 'ab' and 'cd' -> 'abcd' against 'ab': 0.5")
def group_edit(lines: Sequence[int], pieces: Sequence[int], gts: Sequence[str], preds: Sequence[str]) -> float:
    """The normalised edit distance of a group: its pieces joined by spaces against its one line.

    Source: match_quick.py recalculate_edit_distances.
    Quirk: several lines are joined without a space and compared with the first piece alone.
    """
    gt = "".join(gts[line] for line in lines)
    pred = preds[pieces[0]] if len(lines) > 1 else JOINER.join(preds[piece] for piece in pieces)
    return Levenshtein.distance(gt, pred) / max(len(gt), len(pred))


@rule(stage="match", order=46, example="unmatched line 'abc' and unmatched piece 'xyz' -> paired, edit 1")
def pair_leftovers(used_lines: Iterable[int], used_pieces: Iterable[int], costs: Costs) -> list[Group]:
    """Unmatched lines and pieces paired at edit 1; when no line is left, all pieces as one unmatched group.

    Source: match_quick.py convert_final_matches.
    Quirk: the edit is 1 however close the two are. The pieces come in the order of a Python set of integers, which
    decides which of them gives the group its position and category, and ties of the assignment.
    """
    lines = list(set(range(costs.shape[0])) - set(used_lines))
    pieces = list(set(range(costs.shape[1])) - set(used_pieces))
    if not pieces:
        return []
    if not lines:
        return [Group((), tuple(pieces), 1, MatchRule.UNMATCHED_PRED)]
    rows, columns = linear_sum_assignment(costs[lines][:, pieces])
    return [
        Group((lines[row],), (pieces[column],), 1, MatchRule.LEFTOVER)
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
    ]
