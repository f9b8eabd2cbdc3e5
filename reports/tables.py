"""Tables of model output as a grid of plain cells: nothing of the source's own markup reaches the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html.parser import HTMLParser

MOST_CELLS = 3_000
MOST_SPAN = 60
MOST_SOURCE_CHARS = 400_000
MOST_CELL_CHARS = 600


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell by its place in the grid. `changed` where the other side's cell at this place is another."""

    text: str
    row: int
    column: int
    rowspan: int = 1
    colspan: int = 1
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; `cut` says that the source holds more."""

    rows: tuple[tuple[TableCell, ...], ...]
    cut: bool = False


class _Reader(HTMLParser):
    """Collects the text of the outermost table's cells; everything but rows, cells and spans is dropped."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[list[tuple[list[str], int, int]]] = []
        self.cells = 0
        self.cut = False
        self._open = False
        self._chars = 0
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"script", "style", "template"}:
            self._silent += 1
        elif tag == "tr":
            self.rows.append([])
            self._open = False
        elif tag in {"td", "th"}:
            self._begin_cell(dict(attrs))
        elif tag == "br" and self._open:
            self.handle_data(" ")

    def _begin_cell(self, attrs: dict[str, str | None]) -> None:
        if self.cells >= MOST_CELLS:
            self.cut, self._open = True, False
            return
        if not self.rows:
            self.rows.append([])
        self.rows[-1].append(([], _span(attrs.get("rowspan")), _span(attrs.get("colspan"))))
        self.cells += 1
        self._open, self._chars = True, 0

    def handle_endtag(self, tag: str) -> None:
        if tag in {"script", "style", "template"}:
            self._silent = max(0, self._silent - 1)
        elif tag in {"td", "th", "tr", "table"}:
            self._open = False

    def handle_data(self, data: str) -> None:
        if not self._open or self._silent or self._chars >= MOST_CELL_CHARS:
            return
        kept = data[: MOST_CELL_CHARS - self._chars]
        self._chars += len(kept)
        self.rows[-1][-1][0].append(kept)
        if len(kept) < len(data):
            self.rows[-1][-1][0].append("…")
            self.cut = True


def _span(value: str | None) -> int:
    text = (value or "").strip()
    return min(MOST_SPAN, max(1, int(text))) if text.isascii() and text.isdigit() and len(text) < 6 else 1


def read_table(source: str) -> Table | None:
    """The grid of the first table in a text; None where there is none."""
    start = source.lower().find("<table")
    if start < 0:
        return None
    reader = _Reader()
    reader.feed(source[start : start + MOST_SOURCE_CHARS])
    rows = [row for row in reader.rows if row]
    return Table(_placed(rows), reader.cut or len(source) - start > MOST_SOURCE_CHARS) if rows else None


def _placed(rows: Sequence[Sequence[tuple[list[str], int, int]]]) -> tuple[tuple[TableCell, ...], ...]:
    """Cells at their places in the grid, as browsers place them; spans end with the table."""
    busy_until: dict[int, int] = {}
    placed = []
    for number, row in enumerate(rows):
        column, cells = 0, []
        for texts, rowspan, colspan in row:
            while busy_until.get(column, 0) > number:
                column += 1
            height = min(rowspan, len(rows) - number)
            cells.append(TableCell(" ".join("".join(texts).split()), number, column, height, colspan))
            busy_until |= dict.fromkeys(range(column, column + colspan), number + height)
            column += colspan
        placed.append(tuple(cells))
    return tuple(placed)


def compare_tables(first: Table, second: Table) -> tuple[Table, Table]:
    """Both tables with the cells marked that the other does not have at the same place with the same text."""
    return _marked(first, second), _marked(second, first)


def _marked(table: Table, other: Table) -> Table:
    there = {_key(cell): cell for row in other.rows for cell in row}

    def changed(cell: TableCell) -> bool:
        found = there.get(_key(cell))
        same = found is not None and (found.text, found.rowspan, found.colspan) == (
            cell.text, cell.rowspan, cell.colspan,
        )  # fmt: skip
        return not same

    rows = tuple(
        tuple(TableCell(cell.text, cell.row, cell.column, cell.rowspan, cell.colspan, changed(cell)) for cell in row)
        for row in table.rows
    )
    return Table(rows, table.cut)


def _key(cell: TableCell) -> tuple[int, int]:
    return cell.row, cell.column
