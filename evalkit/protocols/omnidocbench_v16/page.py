"""One page from markdown to pairs: what is compared with what, for text, formulas, tables and reading order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalkit.protocols.omnidocbench_v16.cross_category import compare_as_text_across_categories
from evalkit.protocols.omnidocbench_v16.extract import extract_page
from evalkit.protocols.omnidocbench_v16.formula.choose import match_formulas
from evalkit.protocols.omnidocbench_v16.formula.pool import formula_candidates
from evalkit.protocols.omnidocbench_v16.gt_items import FORMULA, TEXT_CATEGORIES, GtPage
from evalkit.protocols.omnidocbench_v16.match.pair import PairRecord
from evalkit.protocols.omnidocbench_v16.match.quick import match_page as match_text_and_formulas
from evalkit.protocols.omnidocbench_v16.match.simple import match_simple
from evalkit.protocols.omnidocbench_v16.normalize.table import normalize_table
from evalkit.protocols.omnidocbench_v16.reading_order import OrderPair, order_pair
from evalkit.protocols.omnidocbench_v16.records import PredItem
from evalkit.protocols.omnidocbench_v16.rules import rule
from evalkit.protocols.omnidocbench_v16.text_span import prefer_nearby_text
from evalkit.protocols.omnidocbench_v16.waste import Waste, waste

NOT_MIXED = frozenset({"html_table", "latex_table", "md2html_table", "formula_rescue"})
# Captions, notes, page furniture: matched, so that they take their text away, but not scored.
UNSCORED_TEXT = frozenset(
    {
        "figure_caption",
        "figure_footnote",
        "table_caption",
        "table_footnote",
        "code_algorithm",
        "code_algorithm_caption",
        "header",
        "footer",
        "page_footnote",
        "page_number",
        "equation_caption",
    }
)


@dataclass(frozen=True, slots=True)
class PageMatch:
    """The scored pairs of a page, what was predicted in vain, and whether the official's clock would have run out."""

    text: tuple[PairRecord, ...]
    formulas: tuple[PairRecord, ...]
    tables: tuple[PairRecord, ...]
    order: OrderPair | None
    waste: Waste
    official_would_time_out: bool


def match_page(gt: GtPage, markdown: str, page_id: str) -> PageMatch:
    """The pairs of one page."""
    items = extract_page(markdown)
    tables = match_tables(gt, items, page_id)
    mixed = mixed_items(items)
    matched = match_text_and_formulas(gt.mixed, mixed, page_id)
    pairs = prefer_nearby_text([compare_as_text_across_categories(pair) for pair in matched.pairs], mixed)
    candidates = formula_candidates(items)
    with_text = [pair for pair in pairs if pair.gt_category == FORMULA and pair.gt_idx]
    formulas = match_formulas(gt.formulas, candidates, with_text, page_id)
    text = scored_text(pairs)
    return PageMatch(
        text=text,
        formulas=formulas,
        tables=tables,
        order=order_pair([*text, *formulas, *tables]),
        waste=waste(items, mixed, matched.pairs, formulas, tables),
        official_would_time_out=matched.official_would_time_out,
    )


@rule(stage="assemble", order=20, example="a text, a table, an inline formula -> text and formula, grouped by kind")
def mixed_items(items: Sequence[PredItem]) -> list[PredItem]:
    """Predicted text and formulas that are matched together, one kind after the other as they first appear.

    Source: end2end_dataset.py process_get_matched_elements.
    """
    kinds: dict[str, list[PredItem]] = {}
    for item in items:
        if item.category not in NOT_MIXED:
            kinds.setdefault(item.category, []).append(item)
    return [item for kind in kinds.values() for item in kind]


@rule(
    stage="match", order=50, example="2 annotated, 3 predicted tables -> 2 pairs; the third predicted one costs nothing"
)
def match_tables(gt: GtPage, items: Sequence[PredItem], page_id: str) -> tuple[PairRecord, ...]:
    """Annotated tables with the predicted ones, HTML first and converted LaTeX ones after them.

    Quirk: predicted tables that match none are left out; their text is not compared with anything.
    Source: end2end_dataset.py process_get_matched_elements.
    """
    if not gt.tables:
        return ()
    candidates = [item for item in items if item.category == "html_table"]
    candidates += [_converted(item) for item in items if item.category == "latex_table"]
    pairs = match_simple(gt.tables, candidates, "html_table", page_id).pairs
    return tuple(pair for pair in pairs if pair.gt_idx)


def _converted(item: PredItem) -> PredItem:
    return PredItem(
        "html_table",
        normalize_table(item.content, "latex"),
        item.position,
        item.fine_category or "latex2html_table",
    )


@rule(stage="match", order=65, example="title, paragraph, page number -> title and paragraph are scored")
def scored_text(pairs: Sequence[PairRecord]) -> tuple[PairRecord, ...]:
    """Pairs of annotated text, without captions, notes and page furniture.

    Quirk: predicted text that matches nothing is left out, so invented text costs nothing.
    Source: end2end_dataset.py process_get_matched_elements.
    """
    return tuple(
        pair for pair in pairs if pair.gt_category in TEXT_CATEGORIES and pair.gt_category not in UNSCORED_TEXT
    )
