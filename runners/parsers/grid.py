"""Tables from geometry alone: lines whose rows and columns align, for tables that the models miss or misread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from statistics import median, mode

from evalkit.types import BBox
from runners.parsers.lines import TextLine, height, hull, printed_rows

MIN_ROWS = 3
MIN_REGULAR = 0.7  # share of the rows that must have a cell in most columns
MAX_CELL_CHARS = 18  # median length of a cell's text above which aligned lines are columns of running text
ROW_GAP = 1.6  # white space between two rows of one table, in line heights


@dataclass(frozen=True, slots=True)
class Grid:
    """A table read off the page: its lines, and for each row (text, colspan) of each cell."""

    bbox: BBox
    lines: tuple[TextLine, ...]
    rows: tuple[tuple[tuple[str, int], ...], ...]
    columns: int

    def html(self) -> str:
        """The table as HTML."""
        body = "".join(f"<tr>{''.join(_cell(text, span) for text, span in row)}</tr>" for row in self.rows)
        return f"<table>{body}</table>"


def _cell(text: str, span: int) -> str:
    attribute = f' colspan="{span}"' if span > 1 else ""
    return f"<td{attribute}>{escape(text, quote=False)}</td>"


def grid_of(lines: Sequence[TextLine]) -> Grid | None:
    """The grid that all the lines form together, or None when they do not align."""
    rows = printed_rows(lines)
    counts = [len(row) for row in rows if len(row) > 1]
    if len(counts) < MIN_ROWS:
        return None
    columns = _columns([row for row in rows if len(row) == mode(counts)])
    if len(columns) < 2 or not _is_regular(rows, columns):
        return None
    if median(len(line.text) for line in lines) > MAX_CELL_CHARS:
        return None
    cells = tuple(_row_cells(row, columns) for row in rows)
    return Grid(hull([line.bbox for line in lines]), tuple(lines), cells, len(columns))


def _columns(rows: Sequence[Sequence[TextLine]]) -> list[tuple[float, float]]:
    """x intervals of the columns: cells that overlap sideways share one."""
    intervals = sorted((line.bbox.x1, line.bbox.x2) for row in rows for line in row)
    columns: list[tuple[float, float]] = []
    for start, stop in intervals:
        if columns and start < columns[-1][1]:
            columns[-1] = (columns[-1][0], max(columns[-1][1], stop))
        else:
            columns.append((start, stop))
    return columns


def _is_regular(rows: Sequence[Sequence[TextLine]], columns: Sequence[tuple[float, float]]) -> bool:
    filled = sum(len(row) > max(1, len(columns) // 2) for row in rows)
    return filled >= MIN_ROWS and filled >= MIN_REGULAR * len(rows)


def _row_cells(row: Sequence[TextLine], columns: Sequence[tuple[float, float]]) -> tuple[tuple[str, int], ...]:
    cells: list[tuple[str, int]] = []
    at = 0
    for line in row:
        first, last = _span(line.bbox, columns)
        if cells and first < at:  # a second line in the cell before
            text, span = cells[-1]
            cells[-1] = (f"{text} {line.text.strip()}", span)
            continue
        cells += [("", 1)] * (first - at)
        cells.append((line.text.strip(), last - first + 1))
        at = last + 1
    return tuple(cells + [("", 1)] * (len(columns) - at))


def _span(box: BBox, columns: Sequence[tuple[float, float]]) -> tuple[int, int]:
    """First and last column that a box covers; the nearest one when it covers none."""
    covered = [
        index
        for index, (start, stop) in enumerate(columns)
        if min(box.x2, stop) - max(box.x1, start) > 0.3 * min(box.x2 - box.x1, stop - start)
    ]
    if covered:
        return covered[0], covered[-1]
    centre = (box.x1 + box.x2) / 2
    nearest = min(range(len(columns)), key=lambda index: abs(centre - sum(columns[index]) / 2))
    return nearest, nearest


def find_grids(lines: Sequence[TextLine]) -> list[Grid]:
    """Grids among lines of no region: runs of rows close to one another that align."""
    grids = []
    for run in _runs(printed_rows(lines)):
        grid = grid_of([line for row in run for line in row])
        if grid is not None:
            grids.append(grid)
    return grids


def _runs(rows: Sequence[Sequence[TextLine]]) -> list[list[Sequence[TextLine]]]:
    """Runs of rows with two cells or more and little white space between them."""
    runs: list[list[Sequence[TextLine]]] = []
    previous: BBox | None = None
    for row in rows:
        box = hull([line.bbox for line in row])
        if len(row) < 2:
            previous = None
            continue
        if previous is not None and box.y1 - previous.y2 < ROW_GAP * height(previous):
            runs[-1].append(row)
        else:
            runs.append([row])
        previous = box
    return [run for run in runs if len(run) >= MIN_ROWS]
