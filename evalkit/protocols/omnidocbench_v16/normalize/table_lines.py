"""Tables as lines of text, for pairs of a table on one side and text on the other."""

from __future__ import annotations

import re
from collections.abc import Iterable

from evalkit.protocols.omnidocbench_v16.normalize.delimiters import Delimiter, NextOccurrence, delimited_spans
from evalkit.protocols.omnidocbench_v16.normalize.html_reading import Reading, Span
from evalkit.protocols.omnidocbench_v16.normalize.html_tree import Element, parse_html, serialize
from evalkit.protocols.omnidocbench_v16.normalize.latex_text import latex_to_text
from evalkit.protocols.omnidocbench_v16.normalize.table import (
    HEAD_CELLS,
    UNWRAPPED,
    drop_bare_tags,
    flatten_table,
    holds_table,
    wrap_table,
)
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


@rule(stage="normalize", order=63, example="'<table><tr><td>a b</td><td>c</td></tr></table>' -> ['ab c']")
def table_to_text_lines(table: str) -> list[str]:
    """One line a row, its cells joined by blanks; without rows one line a cell; without cells one line.

    Source: table_postprocess.py, table_to_text_lines.
    """
    document = table_with_plain_cells(table)
    if not document:
        return []
    reading = Reading(parse_html(document).root)
    rows = [" ".join(_texts(reading, reading.inside(row, "td"))) for row in reading.spans_of("tr")]
    return [row for row in rows if row] or _texts(reading, reading.spans_of("td")) or _texts(reading, [reading.whole])


def _texts(reading: Reading, spans: Iterable[Span]) -> list[str]:
    texts = (plain_cell_text(text) for span in spans if (text := reading.text(span)))
    return [text for text in texts if text]


def plain_cell_text(text: str) -> str:
    """A cell's text or markup with its formulas read as text."""
    return normalize_cell_text(cell_formulas_to_text(text))


@rule(stage="normalize", order=59, example=r"<td>5 $\pm$ 1</td> -> <td>5±1</td>")
def table_with_plain_cells(table: str) -> str:
    """An HTML table on one line, the formulas in its cells read as text; "" for text that holds no table.

    Source: table_postprocess.py, table_post_process.
    Quirk: cells lose their blanks, so that two words become one.
    """
    if not holds_table(table):
        return ""
    document = drop_bare_tags(wrap_table(flatten_table(_simplify_tags(table))))
    return _with_plain_cells(document.replace("> ", ">").replace(" </td>", "</td>"))


def _simplify_tags(table: str) -> str:
    return serialize(parse_html(table).root, rename=HEAD_CELLS, unwrap=UNWRAPPED, replace=_formula_of_math)


def _formula_of_math(element: Element) -> str | None:
    formula = element.attributes.get("alttext") if element.name == "math" else None
    return f"${formula}$" if formula else None


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
