"""From prepared formulas to boxes: which formulas share a run, and on which paper each ends up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metrics.cdm.boxes import Picture, measure
from metrics.cdm.formula import Prepared
from metrics.cdm.preamble import LARGEST_PAPER, is_far_reaching, text_size
from metrics.cdm.texlog import Overfull
from metrics.cdm.typeset import TexState, Typeset, Typesetter

_WIDTH_SLACK_PT = 0.2  # more than TeX tolerates without calling a box overfull


@dataclass(frozen=True, slots=True)
class Drawing:
    """A formula's boxes, or why there are none."""

    state: TexState
    picture: Picture | None = None
    note: str | None = None


def must_be_alone(formula: Prepared) -> bool:
    """True for a formula that uses words which change what follows."""
    return is_far_reaching(formula.coloured.latex)


def draw_alone(typesetter: Typesetter, formula: Prepared) -> Drawing:
    """Draw one formula in runs of its own, on larger paper while it is too wide."""
    paper = formula.first_paper
    while True:
        typeset = typesetter.alone(formula.kind, paper, formula.coloured.latex)
        if typeset.overfull is None or paper == LARGEST_PAPER:
            return _drawing(typeset, formula)
        paper -= 1


def draw_together(typesetter: Typesetter, formulas: Sequence[Prepared]) -> list[Drawing]:
    """Draw formulas of one kind in shared runs; those that strayed in them are drawn alone."""
    drawings: dict[int, Drawing] = {}
    papers = {index: formula.first_paper for index, formula in enumerate(formulas)}
    while papers:
        paper = max(papers.values())
        batch = [index for index, wanted in papers.items() if wanted == paper]
        kind = formulas[batch[0]].kind
        results = typesetter.together(kind, paper, [formulas[index].coloured.latex for index in batch])
        for index, typeset in zip(batch, results, strict=True):
            if typeset is None:
                drawings[index] = draw_alone(typesetter, formulas[index])
            elif typeset.overfull is not None and paper > LARGEST_PAPER:
                papers[index] = next_paper(paper, typeset.overfull)
                continue
            else:
                drawings[index] = _drawing(typeset, formulas[index])
            del papers[index]
    return [drawings[index] for index in range(len(formulas))]


def next_paper(paper: int, overfull: Overfull) -> int:
    """The first larger paper on which a formula can fit; sizes on which it cannot are left out."""
    larger = paper - 1
    if overfull.width_pt is not None:
        needed = text_size(paper)[0] + overfull.width_pt - _WIDTH_SLACK_PT
        while larger > LARGEST_PAPER and text_size(larger)[0] < needed:
            larger -= 1
    return larger


def _drawing(typeset: Typeset, formula: Prepared) -> Drawing:
    if typeset.state is not TexState.OK:
        return Drawing(typeset.state, note=typeset.note)
    count = min(len(formula.coloured.tokens), formula.coloured.colours)
    return Drawing(TexState.OK, measure(typeset.pages, count))
