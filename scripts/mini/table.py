"""Tables: a grid in a small notation, drawn with spans and rules, and written as HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .sheet import Box, Sheet, language
from .typeset import Style, atoms_of, break_lines, line_step, natural_width, place

LEFT, ABOVE = "<", "^"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table at its top left place."""

    text: str
    row: int
    column: int
    rows: int = 1
    columns: int = 1


@dataclass(frozen=True, slots=True)
class Look:
    """How a table is drawn. `line` is full_line, less_line, fewer_line or wireless_line, as the data set names it."""

    line: str = "full_line"
    head: int = 1
    px: int = 22
    pad: int = 9
    shade: str | None = None
    latin: str = "serif"
    cjk: str = "cjk"
    first_left: bool = True


def cells_of(grid: list[list[str]]) -> list[Cell]:
    """The cells of a grid in which `<` continues the cell at the left and `^` the one above."""
    cells = []
    for row, texts in enumerate(grid):
        for column, text in enumerate(texts):
            if text in (LEFT, ABOVE):
                continue
            columns = 1
            while column + columns < len(texts) and texts[column + columns] == LEFT:
                columns += 1
            rows = 1
            while row + rows < len(grid) and grid[row + rows][column] == ABOVE:
                rows += 1
            cells.append(Cell(text, row, column, rows, columns))
    return cells


def html_of(grid: list[list[str]], *, quoted: bool = True) -> str:
    """The table as HTML with td cells only; spans unquoted for streams."""
    rows: list[list[str]] = [[] for _ in grid]
    mark = '"' if quoted else ""
    for cell in cells_of(grid):
        spans = "".join(
            f" {name}={mark}{value}{mark}"
            for name, value in (("rowspan", cell.rows), ("colspan", cell.columns))
            if value > 1
        )
        rows[cell.row].append(f"<td{spans}>{cell.text}</td>")
    return "<table>" + "".join(f"<tr>{''.join(row)}</tr>" for row in rows) + "</table>"


def draw_table(
    sheet: Sheet,
    grid: list[list[str]],
    x: int,
    y: int,
    width: int,
    look: Look = Look(),
    weights: list[float] | None = None,
) -> tuple[dict[str, Any], int]:
    """Draw a table and record it; returns its truth object and the y below it."""
    cells = cells_of(grid)
    edges = _columns(grid, x, width, look, weights)
    heights = [2 * look.pad + line_step(_style(look))] * len(grid)
    wrapped = {}
    for cell in cells:
        inner = edges[cell.column + cell.columns] - edges[cell.column] - 2 * look.pad
        lines = break_lines(atoms_of(cell.text, _style(look)), inner, _style(look)) if cell.text else []
        wrapped[cell] = lines
        if cell.rows == 1:
            heights[cell.row] = max(heights[cell.row], len(lines) * line_step(_style(look)) + 2 * look.pad)
    tops = [y]
    for height in heights:
        tops.append(tops[-1] + height)
    if look.shade is not None:
        sheet.pen.rectangle((x, y, edges[-1], tops[look.head]), fill=look.shade)
    for cell in cells:
        _draw_cell(sheet, cell, wrapped[cell], edges, tops, look)
    _draw_rules(sheet, cells, edges, tops, look)
    block = sheet.add(
        "table", (x, y, edges[-1], tops[-1]), html=html_of(grid), attribute=_attributes(grid, cells, look)
    )
    block["_grid"] = grid
    return block, tops[-1] + 14


def _style(look: Look) -> Style:
    return Style(latin=look.latin, cjk=look.cjk, px=look.px, leading=1.25, align="center")


def _columns(grid: list[list[str]], x: int, width: int, look: Look, weights: list[float] | None) -> list[int]:
    if weights is None:
        weights = [1.0] * len(grid[0])
        for cell in cells_of(grid):
            if cell.columns == 1:
                natural = natural_width(atoms_of(cell.text, _style(look)), _style(look)) if cell.text else 0
                weights[cell.column] = max(weights[cell.column], min(natural, 360) + 2 * look.pad + 12)
    edges, passed = [x], 0.0
    for weight in weights:
        passed += weight
        edges.append(x + round(width * passed / sum(weights)))
    return edges


def _draw_cell(sheet: Sheet, cell: Cell, lines: list[Any], edges: list[int], tops: list[int], look: Look) -> None:
    is_head = cell.row < look.head
    left = look.first_left and cell.column == 0 and not is_head and cell.columns == 1
    style = _style(look).but(align="left" if left else "center")
    if is_head:
        bold = {"serif": "serif_bold", "sans": "sans_bold", "cjk": "cjk_bold", "cjk_sans": "cjk_sans_bold"}
        style = style.but(latin=bold[look.latin], cjk=bold[look.cjk])
    x, width = edges[cell.column] + look.pad, edges[cell.column + cell.columns] - edges[cell.column] - 2 * look.pad
    if is_head and cell.text:
        lines = break_lines(atoms_of(cell.text, style), width, style)
    top, bottom = tops[cell.row], tops[cell.row + cell.rows]
    y = top + (bottom - top - len(lines) * line_step(style)) // 2
    for line in lines:
        baseline = y + round(style.px * 0.95)
        for atom, at in place(line, x, width, style):
            if atom.drawn is not None:
                sheet.stamp(atom.drawn.ink, at + 1, baseline - atom.ascent, "black")
            elif atom.face is not None:
                sheet.pen.text((at, baseline), atom.text, font=atom.face, fill="black", anchor="ls")
        y += line_step(style)


def _draw_rules(sheet: Sheet, cells: list[Cell], edges: list[int], tops: list[int], look: Look) -> None:
    pen, left, right = sheet.pen, edges[0], edges[-1]
    if look.line == "full_line":
        for cell in cells:
            box = (edges[cell.column], tops[cell.row], edges[cell.column + cell.columns], tops[cell.row + cell.rows])
            pen.rectangle(box, outline="black", width=1)
        pen.rectangle((left, tops[0], right, tops[-1]), outline="black", width=2)
    elif look.line == "fewer_line":
        for y, weight in ((tops[0], 3), (tops[look.head], 2), (tops[-1], 3)):
            pen.line((left, y, right, y), fill="black", width=weight)
        for cell in cells:
            if cell.row + cell.rows < look.head and cell.columns > 1:
                y = tops[cell.row + 1]
                pen.line((edges[cell.column] + 6, y, edges[cell.column + cell.columns] - 6, y), fill="black", width=1)
    elif look.line == "less_line":
        for y in tops:
            pen.line((left, y, right, y), fill="#444444", width=1)


def _attributes(grid: list[list[str]], cells: list[Cell], look: Look) -> dict[str, Any]:
    text = " ".join(cell.text for cell in cells)
    return {
        "table_layout": "horizontal",
        "with_span": any(cell.rows > 1 or cell.columns > 1 for cell in cells),
        "line": look.line,
        "language": language("table", text),
        "include_equation": "$" in text,
        "include_background": look.shade is not None,
        "include_photo": False,
        "with_structured_text": False,
        "table_vertical": False,
    }


def turned(sheet: Sheet, inner: Sheet, x: int, y: int) -> None:
    """Put another sheet on this one, turned by 90 degrees to the left, with its blocks."""
    sheet.image.paste(inner.image.rotate(90, expand=True), (x, y))
    shift, first = len(sheet.blocks), sheet.orders
    for block in inner.blocks:
        block = dict(block) | {"anno_id": block["anno_id"] + shift}
        block["order"] = None if block["order"] is None else block["order"] + first
        block["poly"] = _turn(block["poly"], inner.width, x, y)
        block["line_with_spans"] = [
            span | {"poly": _turn(span["poly"], inner.width, x, y)} for span in block.get("line_with_spans", [])
        ]
        attribute = dict(block["attribute"])
        if block["category_type"] == "table":
            attribute |= {"table_layout": "vertical", "table_vertical": True}
            del block["line_with_spans"]
        else:
            attribute["text_rotate"] = "rotate270"
        sheet.blocks.append(block | {"attribute": attribute})
    sheet.orders += inner.orders
    for relation in inner.relations:
        sheet.relations.append(relation | {key: relation[key] + shift for key in ("source_anno_id", "target_anno_id")})


def _turn(corners: list[float], width: int, x: int, y: int) -> list[float]:
    from .sheet import box_of, poly

    x1, y1, x2, y2 = box_of(corners)
    box: Box = (x + y1, y + width - x2, x + y2, y + width - x1)
    return poly(box)
