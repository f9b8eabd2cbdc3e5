"""How HTML and LaTeX tables are normalised before TEDS and edit distance."""

from __future__ import annotations

import html
import re
import unicodedata
from functools import lru_cache
from typing import Literal

from evalkit.protocols.omnidocbench_v16.normalize.delimiters import Delimiter, remove_delimited
from evalkit.protocols.omnidocbench_v16.normalize.html_tree import Element, Text, parse_html, serialize
from evalkit.protocols.omnidocbench_v16.normalize.latex_table import latex_table_to_html
from evalkit.protocols.omnidocbench_v16.normalize.table_cells import normalize_cell_text
from evalkit.protocols.omnidocbench_v16.policy import POLICY, LatexTables
from evalkit.protocols.omnidocbench_v16.rules import rule

HEAD_CELLS = {"th": "td"}
UNWRAPPED = frozenset(("thead", "tbody", "span"))

_REMEMBERED_CHARACTERS = 100_000
_TABLE_OPENING = re.compile(r"<table\b", re.IGNORECASE)
_TABLE_CLOSING = re.compile(r"</table>", re.IGNORECASE)
_ATTRIBUTES = tuple(re.compile(rf' {name}=".*?"') for name in ("style", "height", "width", "align", "class"))
_TBODY = re.compile(r"</?tbody>")
_WHITESPACE = re.compile(r"\s+")
_BARE_TAGS = tuple(f"<{slash}{name}>" for name in ("sup", "sub", "span", "div", "p") for slash in ("", "/"))
_COLGROUP = (Delimiter("<colgroup>", "</colgroup>", multiline=False),)


def normalize_table(
    text: str, format: Literal["html", "latex"] = "html", latex_tables: LatexTables = POLICY.normalize.latex_tables
) -> str:
    """A table as it is compared: one HTML table in a document, "" for text that holds none.

    Source: data_preprocess.py, normalized_table.
    """
    if format == "latex":
        return normalize_html_table(latex_table_to_html(text, latex_tables))
    return normalize_html_table(text)


def normalize_html_table(text: str) -> str:
    """An HTML table as it is compared.

    Source: data_preprocess.py, normalized_html_table.
    """
    return _normalize_and_remember(text) if len(text) <= _REMEMBERED_CHARACTERS else _normalize(text)


@lru_cache(maxsize=1024)
def _normalize_and_remember(text: str) -> str:
    return _normalize(text)


def _normalize(text: str) -> str:
    if not holds_table(text):
        return ""
    return drop_bare_tags(wrap_table(flatten_table(normalize_cells(simplify_tags(text)))))


@rule(stage="normalize", order=40, example="'<TABLE><tr></tr></TABLE>' -> False")
def holds_table(text: str) -> bool:
    """Whether text is taken for an HTML table.

    Source: data_preprocess.py, normalized_html_table.
    Quirk: an upper-case `<TABLE>` is not taken for a table, and scores as a missing one.
    """
    return "<table" in text.replace(" ", "")


@rule(stage="normalize", order=41, example="'<table><th><span>a</span></th></table>' -> '<table><td>a</td></table>'")
def simplify_tags(text: str) -> str:
    """th becomes td, thead, tbody and span go, MathML becomes the formula in its alttext; the rest is written anew.

    Source: data_preprocess.py, normalized_html_table.
    Quirk: MathML without an alttext becomes two dollar signs.
    """
    return serialize(parse_html(text).root, rename=HEAD_CELLS, unwrap=UNWRAPPED, replace=_formula_of_math)


def _formula_of_math(element: Element) -> str | None:
    return f"${element.attributes.get('alttext', '')}$" if element.name == "math" else None


@rule(stage="normalize", order=42, example=r"'<td> 5\u00a0✓ <!--c --></td>' -> '<td>5 √c</td>'")
def normalize_cells(text: str) -> str:
    """Normalise each piece of text inside cells.

    Source: data_preprocess.py, normalize_table_html_cell_text.
    Quirk: a comment in a cell becomes text when normalising changes it.
    """
    return serialize(parse_html(text).root, rewrite=_normalized_piece)


def _normalized_piece(piece: Text, cells: int) -> Text:
    """The text node, normalised once for each cell around it; a changed one is plain text."""
    for _ in range(cells):
        normalized = normalize_cell_text(piece.text)
        if normalized == piece.text:
            break
        piece = Text(normalized)
    return piece


@rule(
    stage="normalize",
    order=43,
    example=r"""'<table class="x"><tr><td>&lt;b&gt;</td></tr></table>' -> '<tr><td><b></td></tr>'""",
)
def flatten_table(text: str) -> str:
    """What is inside the outermost table, on one line, in compatibility forms, without layout attributes.

    Source: data_preprocess.py, normalized_html_table.
    Quirk: character references become characters first, so that an escaped tag becomes a real one;
    text between two tables of one fragment stays, and with it the second table's tags.
    """
    text = unicodedata.normalize("NFKC", html.unescape(text).replace("\n", "")).strip()
    text = _inside_table(text)
    for attribute in _ATTRIBUTES:
        text = attribute.sub("", text)
    return _WHITESPACE.sub(" ", _TBODY.sub("", text))


def _inside_table(text: str) -> str:
    """From the first opening tag to the last closing one."""
    opening = _TABLE_OPENING.search(text)
    closings = list(_TABLE_CLOSING.finditer(text))
    if opening is None or not closings:
        return ""
    start = text.find(">", opening.end()) + 1
    end = closings[-1].start()
    return text[start:end] if 0 < start <= end else ""


def wrap_table(rows: str) -> str:
    """The rows as a document with one table."""
    return f'<html><body><table border="1" >{rows}</table></body></html>'


@rule(stage="normalize", order=45, example="'<td><p>x<sup>2</sup></p></td>' -> '<td>x2</td>'")
def drop_bare_tags(text: str) -> str:
    """Remove sup, sub, span, div and p tags without attributes, and column groups.

    Source: data_preprocess.py, normalized_html_table.
    Quirk: with an attribute such a tag stays and counts in TEDS.
    """
    for tag in _BARE_TAGS:
        text = text.replace(tag, "")
    text = text.replace('<spandata-span-identity="">', "")
    return remove_delimited(text, _COLGROUP)
