"""LaTeX and HTML tables of a page."""

from __future__ import annotations

import re

from evalkit.protocols.omnidocbench_v16.extract.blanking import blank
from evalkit.protocols.omnidocbench_v16.extract.formula_candidates import table_formula_candidates
from evalkit.protocols.omnidocbench_v16.extract.nesting import Nesting, outermost_pairs
from evalkit.protocols.omnidocbench_v16.normalize.delimiters import Delimiter, delimited_spans
from evalkit.protocols.omnidocbench_v16.normalize.table import normalize_table
from evalkit.protocols.omnidocbench_v16.policy import LatexTables
from evalkit.protocols.omnidocbench_v16.records import PredItem
from evalkit.protocols.omnidocbench_v16.rules import rule

_TABLE_ENVIRONMENT = (Delimiter(r"\\begin\{table\}", "\\end{table}"),)
_TABULAR = Nesting(re.compile(r"\\begin\{tabular\}"), "\\end{tabular}", closing_step=14, restart_step=16)
_HTML_TABLE = Nesting(re.compile(r"<table"), "</table>", closing_step=8, restart_step=16)


def take_latex_tables(text: str, latex_tables: LatexTables) -> tuple[str, list[PredItem]]:
    """Blank the LaTeX tables and give them as items: as HTML where that succeeds, else as LaTeX.

    Source: extract.py, md_tex_filter.
    """
    items: list[PredItem] = []
    found = latex_table_spans(text)
    for start, latex in found:
        position = (start, start + len(latex))
        table = normalize_table(latex, "latex", latex_tables)
        if table:
            items.append(PredItem("html_table", table, position, "latex2html_table"))
        else:
            items.append(PredItem("latex_table", latex, position, "latex_table"))
    return blank(text, (item.position for item in items)), items


@rule(
    stage="extract",
    order=10,
    example=r"'x\\begin{tabular}{c}a\\end{tabular} y' -> [(1, '\\begin{tabular}{c}a\\end{tabular} ')]",
)
def latex_table_spans(text: str) -> list[tuple[int, str]]:
    """Start and LaTeX of table environments, and of outermost tabular environments outside of them.

    Source: extract.py, extract_tex_table and extract_tabular.
    Quirk: the character behind `\\end{tabular}` belongs to the table; `tabular*` and `table*` are not found.
    """
    environments = [(span.start, span.end) for span in delimited_spans(text, _TABLE_ENVIRONMENT)]
    rest = blank(text, environments)
    tables = [(start, text[start:end]) for start, end in environments]
    tabulars = [(start, rest[start:end]) for start, end in outermost_pairs(rest, _TABULAR)]
    return sorted(tables + tabulars, key=lambda table: table[0])


def take_html_tables(text: str) -> tuple[str, list[PredItem]]:
    """Blank the HTML tables and give them as items, with the formulas that fill cells as candidates.

    Source: extract.py, md_tex_filter.
    """
    items: list[PredItem] = []
    spans = html_table_spans(text)
    for start, end in spans:
        table = text[start:end]
        items.append(PredItem("html_table", table, (start, end)))
        items += table_formula_candidates(table, start)
    return blank(text, spans), items


@rule(stage="extract", order=11, example=r"'<table>cells are here</table>' -> [(0, 29)]")
def html_table_spans(text: str) -> list[tuple[int, int]]:
    """Outermost HTML tables; of a table that never closes, the tables inside.

    Source: extract.py, extract_html_table.
    Quirk: a tag that begins within eight characters of an opening `<table` is not seen.
    """
    last = text.rfind(">")
    return outermost_pairs(text[: last + 1], _HTML_TABLE)
