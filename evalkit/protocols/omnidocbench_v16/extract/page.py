"""A page of markdown taken apart into pools of items, in the official order."""

from __future__ import annotations

from evalkit.protocols.omnidocbench_v16.extract.cleaning import clean_markdown
from evalkit.protocols.omnidocbench_v16.extract.display_formulas import take_formulas
from evalkit.protocols.omnidocbench_v16.extract.formula_candidates import image_formula_candidates
from evalkit.protocols.omnidocbench_v16.extract.markdown_tables import take_markdown_tables
from evalkit.protocols.omnidocbench_v16.extract.short_inline import is_short_inline_label
from evalkit.protocols.omnidocbench_v16.extract.tables import take_html_tables, take_latex_tables
from evalkit.protocols.omnidocbench_v16.extract.text_blocks import take_code_blocks, text_items, unwrap_headings
from evalkit.protocols.omnidocbench_v16.policy import POLICY, LatexTables
from evalkit.protocols.omnidocbench_v16.records import PredItem
from evalkit.protocols.omnidocbench_v16.rules import rule


@rule(stage="extract", order=70, example="a page -> its items by category, in the order of their positions")
def extract(markdown: str, *, latex_tables: LatexTables = POLICY.normalize.latex_tables) -> dict[str, list[PredItem]]:
    """The items of a page by category (text_all, equation_isolated, formula_rescue, html_table, latex_table).

    Each pool is in the order of the items' positions; an empty pool is absent.

    Source: extract.py, md_tex_filter.
    Quirk: positions count in the cleaned text, those of text blocks without the line feeds between blocks,
    and those of image formulas in the raw text, so that they do not fit together exactly.
    """
    items = image_formula_candidates(markdown)
    text = clean_markdown(markdown)
    text, tables = take_latex_tables(text, latex_tables)
    items += tables
    for take in (take_html_tables, take_formulas, take_markdown_tables, take_code_blocks):
        text, found = take(text)
        items += found
    items += text_items(unwrap_headings(text))
    pools: dict[str, list[PredItem]] = {}
    for item in sorted(items, key=lambda item: item.position[0]):
        if not is_short_inline_label(item):
            pools.setdefault(item.category, []).append(item)
    return pools
