"""Tables as lines of text, for pairs of a table on one side and text on the other."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bs4 import BeautifulSoup, Tag

from evalkit.protocols.omnidocbench_v16.normalize.delimiters import Delimiter, NextOccurrence, delimited_spans
from evalkit.protocols.omnidocbench_v16.normalize.latex_text import latex_to_text
from evalkit.protocols.omnidocbench_v16.normalize.table import drop_bare_tags, flatten_table, holds_table, wrap_table
from evalkit.protocols.omnidocbench_v16.normalize.table_cells import normalize_cell_text
from evalkit.protocols.omnidocbench_v16.rules import rule

_FORMULA = (
    Delimiter(r"\\\[", "\\]"),
    Delimiter(r"\\\(", "\\)"),
    Delimiter(r"\$\$", "$$"),
    Delimiter(r"\$", "$"),
)
_TEXT_REPLACEMENTS = (
    ("\\t", ""), ("\\n", ""), ("\t", ""), ("\n", ""), ("/t", ""), ("/n", ""), (" ", ""),
    ("✓", "✔"), ("√", "✔"), ("-", "—"), ("∼", "～"), ("Ø", "∅"),
)  # fmt: skip
_FORMULA_REPLACEMENTS = (
    *(("\\" + font, "") for font in (
        "mathbf", "mathrm", "mathnormal", "mathit", "mathbb", "mathcal", "mathscr", "mathfrak", "mathsf", "mathtt",
        "textbf", "textit",
    )),
    ("\\checkmark", "✔"), ("\\pm", "±"),
    ("\\alpha", "α"), ("\\beta", "β"), ("\\gama", "γ"), ("\\gamma", "γ"), ("\\mu", "μ"), ("\\lambda", "λ"),
    ("\\theta", "θ"), ("\\eta", "η"), ("\\pi", "π"), ("\\rho", "ρ"), ("\\sigma", "σ"), ("\\omega", "ω"),
    ("\\delta", "δ"), ("∼", "～"), ("-", "—"), ("Ø", "∅"),
)  # fmt: skip
_UNDERSCORES = re.compile(r"_{4,}")


def table_to_text_lines(table: str) -> list[str]:
    """One line a row, its cells joined by blanks; without rows one line a cell; without cells one line.

    Source: table_postprocess.py, table_to_text_lines.
    """
    document = table_with_plain_cells(table)
    if not document:
        return []
    soup = BeautifulSoup(document, "html.parser")
    rows = [" ".join(_texts(row.find_all("td"))) for row in soup.find_all("tr")]
    return [row for row in rows if row] or _texts(soup.find_all("td")) or _texts([soup])


def _texts(elements: Iterable[Tag]) -> list[str]:
    texts = (plain_cell_text(element.get_text(" ", strip=True)) for element in elements)
    return [text for text in texts if text]


def plain_cell_text(text: str) -> str:
    """A cell's text or markup with its formulas read as text."""
    return normalize_cell_text(cell_formulas_to_text(text))


def table_with_plain_cells(table: str) -> str:
    """An HTML table on one line, the formulas in its cells read as text; "" for text that holds no table.

    Source: table_postprocess.py, table_post_process.
    """
    if not holds_table(table):
        return ""
    document = drop_bare_tags(wrap_table(flatten_table(_simplify_tree(table))))
    return _with_plain_cells(document.replace("> ", ">").replace(" </td>", "</td>"))


def _simplify_tree(table: str) -> str:
    """th as td, no thead, tbody or span, MathML as the formula in its alttext where it has one."""
    soup = BeautifulSoup(table, "html.parser")
    for tag in soup.find_all("th"):
        tag.name = "td"
    for tag in soup.find_all(["thead", "tbody"]):
        tag.unwrap()
    for tag in soup.find_all("math"):
        if formula := tag.get("alttext", ""):
            tag.replace_with(f"${formula}$")
    for tag in soup.find_all("span"):
        tag.unwrap()
    return str(soup)


def _with_plain_cells(document: str) -> str:
    pieces: list[str] = []
    tag_end, closing = NextOccurrence(document, ">"), NextOccurrence(document, "</td>")
    position = last_end = 0
    while (start := document.find("<td", position)) >= 0:
        inner = tag_end.at_or_after(start) + 1
        end = closing.at_or_after(inner) if inner else -1
        if end < 0:
            break
        pieces += document[last_end:inner], plain_cell_text(document[inner:end])
        last_end = end
        position = end + len("</td>")
    return "".join(pieces) + document[last_end:]


@rule(stage="normalize", order=60, example=r"'a - b $x \\alpha$' -> 'a—bxα'")
def cell_formulas_to_text(text: str) -> str:
    """A cell without blanks, its formulas read as text, dashes and ticks made alike.

    Source: text_postprocess.py, text_post_process.
    """
    pieces: list[str] = []
    last_end = 0
    for span in delimited_spans(text, _FORMULA):
        pieces += clean_cell_string(text[last_end : span.start]), cell_formula_to_text(text[span.start : span.end])
        last_end = span.end
    pieces.append(clean_cell_string(text[last_end:]))
    return "".join(pieces)


@rule(stage="normalize", order=61, example=r"'a/not - b' -> 'aot—b'")
def clean_cell_string(text: str) -> str:
    """The part of a cell outside formulas: no blanks, dashes and ticks made alike.

    Source: text_postprocess.py, clean_string.
    Quirk: the two characters `/n`, `/t`, `\\n` or `\\t` are dropped.
    """
    for old, new in _TEXT_REPLACEMENTS:
        text = text.replace(old, new)
    return _UNDERSCORES.sub("____", text)


@rule(stage="normalize", order=62, example=r"'$\\mathbf{x} - \\pm$' -> 'x—±'")
def cell_formula_to_text(formula: str) -> str:
    """A formula in a cell, delimiters included, as text without blanks.

    Source: text_postprocess.py, latex2unicode.
    """
    formula = formula.strip()
    if formula.startswith(("\\(", "\\[")):
        formula = formula[2:]
    if formula.endswith(("\\)", "\\]")):
        formula = formula[:-2]
    formula = formula.strip("$")
    for old, new in _FORMULA_REPLACEMENTS:
        formula = formula.replace(old, new)
    return latex_to_text(formula, fallback=formula).replace(" ", "").replace("\u00a0", "")
