"""The predicted formulas of a page that compete for the annotated ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evalkit.protocols.omnidocbench_v16.formula.prepare import ISOLATED, PredFormula
from evalkit.protocols.omnidocbench_v16.records import PredItem
from evalkit.protocols.omnidocbench_v16.rules import rule

RESCUE_POOL = "formula_rescue"


@rule(
    stage="match",
    order=70,
    example="a formula of the text, then one rescued from a table cell at the same place -> both, each once",
)
def formula_candidates(pools: Mapping[str, Sequence[PredItem]]) -> list[PredFormula]:
    """Display and inline formulas, then what was rescued from elsewhere, without exact repeats.

    Source: end2end_dataset.py _build_formula_candidate_pool.
    """
    found = [*pools.get(ISOLATED, ()), *(_as_formula(item) for item in pools.get(RESCUE_POOL, ()))]
    distinct: dict[tuple[object, ...], PredItem] = {}
    for item in found:
        distinct.setdefault((item.position, item.content, item.fine_category, item.category), item)
    return [PredFormula(item, source) for source, item in enumerate(distinct.values())]


def _as_formula(item: PredItem) -> PredItem:
    return replace(item, category=ISOLATED, fine_category=item.fine_category or RESCUE_POOL)
