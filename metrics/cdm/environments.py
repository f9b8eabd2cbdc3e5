"""Environments: each becomes an `array`, with its delimiters where it has some."""

from __future__ import annotations

from collections.abc import Callable

from pylatexenc.latexwalker import LatexCharsNode, LatexMacroNode, LatexSpecialsNode

from metrics.cdm.atoms import Atom, atom, group
from metrics.cdm.nodes import Node, group_text
from metrics.cdm.vocabulary import CASES, DELIMITED_ENVIRONMENTS

Row = list[Atom]
Convert = Callable[[list[Node]], list[Atom]]


def environment(node: Node, convert: Convert) -> Atom:
    """The environment as one atom, its name forgotten; `convert` reads the nodes of one cell."""
    name: str = node.environmentname
    rows = _rows(node, name, convert)
    columns = _columns(node, name, rows)
    array = atom(r"\begin{array}", "{", *columns, "}", *_written(rows), r"\end{array}")
    delimiters = DELIMITED_ENVIRONMENTS.get(name.rstrip("*"))
    if delimiters is None:
        return array
    left, right = delimiters
    return atom(rf"\left{left}", array, rf"\right{right}")


def _columns(node: Node, name: str, rows: list[Row]) -> list[str]:
    """Column letters: those given, else alternating r l for the aligned family and l for all others.

    Quirk: rules, widths and other column types are dropped.
    """
    if name.rstrip("*") in CASES:
        return ["l", "l"]
    given = _column_argument(node, name)
    if given is not None:
        spelling = group_text(given)
        if not spelling or spelling.strip():
            return [letter for letter in spelling if letter in "lcr"]
    if name.startswith("aligned"):
        widest = max((len(row) for row in rows), default=0)
        return ["rl"[index % 2] for index in range(widest)]
    return ["l"] * (len(rows[0]) if rows else 0)


def _column_argument(node: Node, name: str) -> Node | None:
    arguments = list(getattr(getattr(node, "nodeargd", None), "argnlist", None) or ())
    if name == "array" and len(arguments) >= 2:
        return arguments[1]
    if name in ("tabular", "tabularx") and arguments:
        return arguments[0]
    return arguments[-1] if arguments else None


def _rows(node: Node, name: str, convert: Convert) -> list[Row]:
    """Cells of each row, split at `&` and `\\\\`; in the aligned family every second cell starts with `{ }`."""
    rows: list[Row] = []
    row: Row = []
    cell: list[Node] = []

    def close_cell() -> None:
        atoms = convert(cell)
        if name.startswith("aligned") and len(row) % 2 == 1:
            atoms.insert(0, group(()))
        row.append(group(atoms))
        cell.clear()

    def close_row() -> None:
        nonlocal row
        close_cell()
        rows.append(row)
        row = []

    for child in node.nodelist or ():
        if isinstance(child, LatexSpecialsNode) and child.specials_chars == "&":
            close_cell()
        elif isinstance(child, LatexMacroNode) and child.macroname == "\\":
            close_row()
            cell.extend(_star_of(child))
        else:
            cell.append(child)
    close_row()
    return rows


def _star_of(line_break: Node) -> list[Node]:
    r"""The star of `\\*`. Quirk: it stays, as the first thing of the next row."""
    arguments = list(getattr(getattr(line_break, "nodeargd", None), "argnlist", None) or ())
    star = arguments[0] if arguments else None
    return [star] if isinstance(star, LatexCharsNode) and star.chars == "*" else []


def _written(rows: list[Row]) -> list[str | Atom]:
    """The rows with `&` and `\\\\`, empty rows left out and empty cells without braces."""
    parts: list[str | Atom] = []
    for row in rows:
        if not any(cell.parts for cell in row):
            continue
        for index, cell in enumerate(row):
            if index:
                parts.append("&")
            if cell.parts:
                parts.append(cell)
        parts.append(r"\\")
    return parts
