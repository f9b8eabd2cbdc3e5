"""OTSL tables (PaddleOCR-VL, MinerU, Youtu, MonkeyOCRv2) to HTML with spans.

Source: "Optimized Table Tokenization for Table Structure Recognition" (arXiv 2305.03393), sections 3 and 4.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

MAX_CELLS = 200_000
TOKEN = re.compile(r"<(fcel|ecel|lcel|ucel|xcel|ched|rhed|srow|nl)>")
STARTS = frozenset({"fcel", "ecel", "ched", "rhed", "srow"})


@dataclass(slots=True)
class _Cell:
    token: str
    text: str


def is_otsl(text: str) -> bool:
    """Whether a text holds an OTSL table."""
    return TOKEN.search(text) is not None


def otsl_to_html(text: str) -> str:
    """The table as HTML; "" for a text without cells. Text before the first token is dropped.

    Never raises: rows are filled up with empty cells, and a span token that continues nothing becomes an empty cell.
    """
    rows = _grid(text)
    if not rows:
        return ""
    body = "".join(f"<tr>{''.join(_cells_html(rows, index))}</tr>" for index in range(len(rows)))
    return f"<table>{body}</table>"


def _grid(text: str) -> list[list[_Cell]]:
    """Rows of equal width, at most MAX_CELLS cells in all."""
    rows: list[list[_Cell]] = [[]]
    tokens = list(TOKEN.finditer(text))
    for index, token in enumerate(tokens[:MAX_CELLS]):
        if token[1] == "nl":
            rows.append([])
            continue
        end = tokens[index + 1].start() if index + 1 < len(tokens) else len(text)
        rows[-1].append(_Cell(token[1], text[token.end() : end].strip()))
    rows = [row for row in rows if row]
    width = max((len(row) for row in rows), default=0)
    if width * len(rows) > MAX_CELLS:
        return rows
    return [row + [_Cell("ecel", "") for _ in range(width - len(row))] for row in rows]


def _cells_html(rows: list[list[_Cell]], at: int) -> list[str]:
    cells = []
    for column, cell in enumerate(rows[at]):
        if cell.token in STARTS:
            cells.append(_cell_html(cell, _colspan(rows[at], column), _rowspan(rows, at, column)))
        elif not _continues(rows, at, column):
            cells.append(_cell_html(cell, 1, 1))
    return cells


def _colspan(row: list[_Cell], column: int) -> int:
    span = 1
    while column + span < len(row) and row[column + span].token == "lcel":
        span += 1
    return span


def _rowspan(rows: list[list[_Cell]], at: int, column: int) -> int:
    span = 1
    while at + span < len(rows) and column < len(rows[at + span]) and rows[at + span][column].token == "ucel":
        span += 1
    return span


def _continues(rows: list[list[_Cell]], at: int, column: int) -> bool:
    """Whether a span token has a cell to its left (lcel), above (ucel) or both (xcel) that it can belong to."""
    token = rows[at][column].token
    left = column > 0
    above = at > 0 and column < len(rows[at - 1])
    return left if token == "lcel" else above if token == "ucel" else left and above


def _cell_html(cell: _Cell, colspan: int, rowspan: int) -> str:
    spans = (f' colspan="{colspan}"' if colspan > 1 else "") + (f' rowspan="{rowspan}"' if rowspan > 1 else "")
    return f"<td{spans}>{escape(cell.text, quote=False)}</td>"
