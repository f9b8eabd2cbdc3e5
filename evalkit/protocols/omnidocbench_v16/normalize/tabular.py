"""Built-in conversion of LaTeX tables to HTML, for machines without latexmlc."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from evalkit.protocols.omnidocbench_v16.normalize.html_tree import escape
from evalkit.protocols.omnidocbench_v16.normalize.tabular_cells import TabularCell, read_cell

_TABULARS = frozenset(
    ("tabular", "tabular*", "tabularx", "tabulary", "longtable", "longtable*", "array", "supertabular")
)
_HAS_WIDTH = frozenset(("tabular*", "tabularx", "tabulary"))
_TOKEN = re.compile(
    r"(?P<comment>%[^\n]*\n?)|(?P<row>\\\\\*?(?:[ \t]*\[[^\]\n]*\])?|\\tabularnewline\b|\\cr\b)"
    r"|\\(?P<edge>begin|end)\s*\{(?P<name>[^{}]*)\}|(?P<escaped>\\.)|(?P<open>\{)|(?P<close>\})|(?P<cell>&)",
    re.DOTALL,
)
_RULE = re.compile(
    r"\\(?:hline|hdashline|endhead|endfirsthead|endfoot|endlastfoot|noindent|centering|(?:top|mid|bottom)rule"
    r"|addlinespace|(?:c|cdash)line|cmidrule|specialrule|arrayrulecolor|rowcolor|caption\*?|label|noalign|Xhline)"
    r"(?![a-zA-Z])[ \t]*(?:\([^()\n]*\)|\[[^\[\]\n]*\]|\{[^{}]*\}|[ \t])*"
)
_MOST_SPAN = 1000


@dataclass(frozen=True, slots=True)
class _Tabular:
    """A tabular environment's rows as the LaTeX of their cells."""

    rows: list[list[str]]


def tabular_to_html(latex: str) -> str:
    """The outermost tabular environments of a LaTeX table as HTML tables; "" when there are none.

    Reads multicolumn and multirow with their nesting, rules of booktabs, colours, stacked cells and fonts;
    formulas stay in dollar signs.
    """
    return "\n".join(_table_html(tabular) for tabular in _tabulars(latex))


def _tabulars(latex: str) -> Iterator[_Tabular]:
    """Outermost tabular environments, closed or not."""
    rows: list[list[str]] = []
    cell_start = braces = environments = 0
    is_open = False
    for token in _TOKEN.finditer(latex):
        if not is_open:
            if token["edge"] == "begin" and token["name"].strip() in _TABULARS:
                is_open, rows, braces, environments = True, [[]], 0, 0
                cell_start = _end_of_arguments(latex, token.end(), token["name"].strip())
            continue
        if token.start() < cell_start:
            continue
        if token["open"]:
            braces += 1
        elif token["close"]:
            braces -= 1
        elif token["edge"] == "begin":
            environments += 1
        elif token["edge"] == "end" and environments > 0:
            environments -= 1
        elif braces <= 0 and environments == 0 and (token["cell"] or token["row"] or token["edge"] == "end"):
            rows[-1].append(latex[cell_start : token.start()])
            cell_start = token.end()
            if token["row"]:
                rows.append([])
            elif token["edge"] == "end":
                is_open = False
                yield _Tabular(rows)
    if is_open:
        rows[-1].append(latex[cell_start:])
        yield _Tabular(rows)


def _end_of_arguments(latex: str, position: int, name: str) -> int:
    """Behind the position and column arguments of a tabular environment."""
    position = _skip_group(latex, position, "[", "]")
    if name in _HAS_WIDTH:
        position = _skip_group(latex, position, "{", "}")
        position = _skip_group(latex, position, "[", "]")
    return _skip_group(latex, position, "{", "}")


def _skip_group(latex: str, position: int, opening: str, closing: str) -> int:
    """Behind a group that begins at the position, blanks before it aside; the position when there is none."""
    start = position
    while start < len(latex) and latex[start].isspace():
        start += 1
    if not latex.startswith(opening, start):
        return position
    depth = 0
    for index in range(start, len(latex)):
        depth += (latex[index] == opening) - (latex[index] == closing)
        if depth == 0:
            return index + 1
    return position


def _table_html(tabular: _Tabular) -> str:
    """Rows of equal width, without empty rows and without empty columns at the right, as latexmlc makes them."""
    rows = [[read_cell(_RULE.sub("", cell)) for cell in cells] for cells in tabular.rows]
    pieces: list[str] = ["<table>"]
    covered: dict[int, int] = {}  # rows still covered by a multirow cell, by column
    for row in _trimmed(_padded(rows)):
        if any(cell.text for cell in row) or any(left > 0 for left in covered.values()):
            pieces += "<tr>", *_row_html(row, covered), "</tr>"
    return "".join([*pieces, "</table>"])


def _padded(rows: list[list[TabularCell]]) -> list[list[TabularCell]]:
    widths = [sum(min(cell.columns, _MOST_SPAN) for cell in row) for row in rows]
    widest = min(max(widths), _MOST_SPAN)
    return [row + [TabularCell()] * (widest - width) for row, width in zip(rows, widths, strict=True)]


def _trimmed(rows: list[list[TabularCell]]) -> list[list[TabularCell]]:
    while all(len(row) > 1 and row[-1] == TabularCell() for row in rows):
        rows = [row[:-1] for row in rows]
    return rows


def _row_html(row: list[TabularCell], covered: dict[int, int]) -> Iterator[str]:
    column = 0
    for cell in row:
        columns = min(cell.columns, _MOST_SPAN)
        if covered.get(column, 0) > 0 and not cell.text:
            for spanned in range(column, column + columns):
                covered[spanned] = covered.get(spanned, 0) - 1
        else:
            rows = min(cell.rows, _MOST_SPAN)
            for spanned in range(column, column + columns):
                covered[spanned] = rows - 1
            yield _cell_html(cell.text, rows, columns)
        column += columns


def _cell_html(text: str, rows: int, columns: int) -> str:
    spans = (f' rowspan="{rows}"' if rows > 1 else "") + (f' colspan="{columns}"' if columns > 1 else "")
    return f"<td{spans}>{escape(text)}</td>"
