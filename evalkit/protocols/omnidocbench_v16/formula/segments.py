"""Runs of predicted formulas that may be read together as one annotated formula."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evalkit.protocols.omnidocbench_v16.formula.prepare import INLINE, ISOLATED, PredFormulas
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.rules import rule


@dataclass(frozen=True, slots=True)
class Limits:
    """How many formulas a run may join, over how many places, and how many places it may jump over in all."""

    joined: int
    span: int
    skips: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of predicted formulas by line number, with its normalised text."""

    lines: tuple[int, ...]
    norm: str
    inline: bool


@rule(
    stage="match",
    order=74,
    example="5 annotated and 8 predicted formulas -> a run joins at most 8, of at most 8 places",
)
def segment_limits(gt_count: int, pred_count: int, *, gaps: bool) -> Limits:
    """How far a run of predicted formulas may reach, by how much the counts of both sides differ.

    Source: end2end_dataset.py _resolve_formula_candidate_max_merge and _build_display_formula_dp_candidate.
    """
    difference = abs(gt_count - pred_count)
    wide = gt_count > 1 and difference >= POLICY.formula.wide_join_difference
    joined = min(pred_count, POLICY.formula.join_wide if wide else POLICY.formula.join)
    if not gaps:
        return Limits(joined, joined, 0)
    skips = 2 if difference >= POLICY.formula.two_skips_difference else 0
    if skips == 0 and (difference >= 1 or pred_count >= POLICY.formula.one_skip_count):
        skips = 1
    return Limits(joined, min(pred_count, joined + POLICY.formula.gap_span), skips)


def segments(pred: PredFormulas, limits: Limits, most: int) -> list[Segment] | None:
    """Every permitted run with a text, by its first line and then in the order in which ties are decided.

    None when there are more than `most`.
    """
    found: list[Segment] = []
    for start in range(len(pred.lines)):
        for lines in _runs(pred, (start,), limits, limits.skips):
            if len(found) > most:
                return None
            norm = " ".join(pred.norms[line] for line in lines).strip()
            if norm:
                found.append(Segment(lines, norm, len(lines) == 1 and pred.items[start].category == INLINE))
    return found


def _runs(pred: PredFormulas, run: tuple[int, ...], limits: Limits, skips: int) -> Iterator[tuple[int, ...]]:
    yield run
    if len(run) >= limits.joined:
        return
    end = min(len(pred.lines), run[0] + limits.span, run[-1] + skips + 2)
    for line in range(run[-1] + 1, end):
        longer = (*run, line)
        if may_join(pred, longer):
            yield from _runs(pred, longer, limits, skips - (line - run[-1] - 1))


@rule(
    stage="match",
    order=75,
    example="rows 1 and 3 of one formula -> yes; formulas 1 and 3 -> no; formulas 1 and 2, the second inline -> no",
)
def may_join(pred: PredFormulas, lines: tuple[int, ...]) -> bool:
    """Whether lines may be read as one formula: rows of one formula, or neighbouring display formulas.

    Source: end2end_dataset.py _can_merge_formula_sequence.
    """
    formulas = [pred.items[line] for line in lines]
    if len({formula.source for formula in formulas}) == 1:
        return True
    neighbours = lines[-1] - lines[0] + 1 == len(lines)
    return neighbours and all(formula.category == ISOLATED for formula in formulas)
