"""One page from markdown to pairs: what is compared with what, for text, formulas, tables and reading order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evalkit.protocols.omnidocbench_v16.cross_category import compare_as_text_across_categories
from evalkit.protocols.omnidocbench_v16.extract.page import extract
from evalkit.protocols.omnidocbench_v16.formula.choose import match_formulas
from evalkit.protocols.omnidocbench_v16.formula.pool import formula_candidates
from evalkit.protocols.omnidocbench_v16.gt_items import FORMULA, TEXT_CATEGORIES, GtPage
from evalkit.protocols.omnidocbench_v16.match.lines import UNSCORED_TEXT
from evalkit.protocols.omnidocbench_v16.match.pair import PairRecord
from evalkit.protocols.omnidocbench_v16.match.quick import match_page as match_text_and_formulas
from evalkit.protocols.omnidocbench_v16.match.simple import match_simple
from evalkit.protocols.omnidocbench_v16.normalize.table import normalize_table
from evalkit.protocols.omnidocbench_v16.policy import POLICY, LatexTables
from evalkit.protocols.omnidocbench_v16.reading_order import OrderPair, order_pair
from evalkit.protocols.omnidocbench_v16.records import PredItem
from evalkit.protocols.omnidocbench_v16.rules import rule
from evalkit.protocols.omnidocbench_v16.text_span import prefer_nearby_text
from evalkit.protocols.omnidocbench_v16.waste import Waste, waste

Pools = Mapping[str, Sequence[PredItem]]
NOT_MIXED = frozenset({"html_table", "latex_table", "md2html_table", "formula_rescue"})


@dataclass(frozen=True, slots=True)
class PageMatch:
    """The scored pairs of a page, what was predicted in vain, and whether the official's clock would have run out."""

    text: tuple[PairRecord, ...]
    formulas: tuple[PairRecord, ...]
    tables: tuple[PairRecord, ...]
    order: OrderPair | None
    waste: Waste
    official_would_time_out: bool


def match_page(
    gt: GtPage, markdown: str, page_id: str, *, latex_tables: LatexTables = POLICY.normalize.latex_tables
) -> PageMatch:
    """The pairs of one page."""
    pools = extract(markdown, latex_tables=latex_tables)
    tables = match_tables(gt, pools, page_id, latex_tables)
    mixed = mixed_items(pools)
    matched = match_text_and_formulas(gt.mixed, mixed, page_id)
    pairs = prefer_nearby_text([compare_as_text_across_categories(pair) for pair in matched.pairs], mixed)
    with_text = [pair for pair in pairs if pair.gt_category == FORMULA and pair.gt_idx]
    found = match_formulas(gt.formulas, formula_candidates(pools), with_text, page_id)
    formulas = found.rows
    text = scored_text(pairs)
    return PageMatch(
        text=text,
        formulas=formulas,
        tables=tables,
        order=order_pair([*text, *formulas, *tables]),
        waste=waste(pools, matched.pairs, formulas, tables),
        official_would_time_out=matched.official_would_time_out or found.official_would_time_out,
    )


@rule(
    stage="assemble", order=20, example="text, a table, an inline formula -> text and formula, one kind after the other"
)
def mixed_items(pools: Pools) -> list[PredItem]:
    """Predicted text and formulas that are matched together, one kind after the other as they first appear.

    Source: end2end_dataset.py process_get_matched_elements.
    """
    return [item for kind, items in pools.items() if kind not in NOT_MIXED for item in items]


@rule(
    stage="match",
    order=0.5,
    example="2 annotated, 3 predicted tables -> 2 pairs; the third predicted one costs nothing",
)
def match_tables(gt: GtPage, pools: Pools, page_id: str, latex_tables: LatexTables) -> tuple[PairRecord, ...]:
    """Annotated tables with the predicted ones, HTML first and converted LaTeX ones after them.

    Quirk: predicted tables that match none are left out; their text is not compared with anything.
    Source: end2end_dataset.py process_get_matched_elements.
    """
    if not gt.tables:
        return ()
    converted = [_converted(item, latex_tables) for item in pools.get("latex_table", ())]
    pairs = match_simple(gt.tables, [*pools.get("html_table", ()), *converted], "html_table", page_id).pairs
    return tuple(pair for pair in pairs if pair.gt_idx)


def _converted(item: PredItem, latex_tables: LatexTables) -> PredItem:
    return replace(item, category="html_table", content=normalize_table(item.content, "latex", latex_tables))


@rule(stage="match", order=65, example="title, paragraph, page number -> title and paragraph are scored")
def scored_text(pairs: Sequence[PairRecord]) -> tuple[PairRecord, ...]:
    """Pairs of annotated text, without captions, notes and page furniture.

    Quirk: predicted text that matches nothing is left out, so invented text costs nothing.
    Source: end2end_dataset.py process_get_matched_elements.
    """
    return tuple(
        pair for pair in pairs if pair.gt_category in TEXT_CATEGORIES and pair.gt_category not in UNSCORED_TEXT
    )
