r"""Rows and cells of LaTeX outside of any inner environment or brace group."""

from __future__ import annotations

import re

_ROW_MARK = re.compile(r"[\\{}]")
_CELL_MARK = re.compile(r"[\\&]")
_AFTER_ROW = re.compile(r"\s*\*?")


def split_rows(latex: str) -> list[str]:
    r"""Non-empty rows between `\\` that stand in no brace group and no environment, stripped.

    A `*` and a bracketed length after `\\` belong to it. Unbalanced closings are ignored.
    """
    rows: list[str] = []
    braces = environments = start = position = 0
    while found := _ROW_MARK.search(latex, position):
        at = found.start()
        character = latex[at]
        if character != "\\":
            if not is_escaped(latex, at):
                braces = braces + 1 if character == "{" else max(0, braces - 1)
            position = at + 1
            continue
        step, end = _environment_mark(latex, at)
        if step:
            environments = max(0, environments + step)
            position = end
        elif latex.startswith("\\\\", at) and not braces and not environments:
            rows.append(latex[start:at])
            start = position = _after_row_break(latex, at + 2)
        else:
            position = at + 1
    rows.append(latex[start:])
    return [row for raw in rows if (row := raw.strip())]


def first_cell(row: str) -> str | None:
    """What stands before the first `&` that is outside of any environment; None when there is no such `&`."""
    environments = position = 0
    while found := _CELL_MARK.search(row, position):
        at = found.start()
        if row[at] == "&":
            if not environments and not is_escaped(row, at):
                return row[:at].strip()
            position = at + 1
            continue
        step, end = _environment_mark(row, at)
        environments = max(0, environments + step)
        position = end if step else at + 1
    return None


def is_escaped(latex: str, index: int) -> bool:
    """Whether an odd number of backslashes stands before a character."""
    before = index
    while before > 0 and latex[before - 1] == "\\":
        before -= 1
    return (index - before) % 2 == 1


def _environment_mark(latex: str, at: int) -> tuple[int, int]:
    r"""+1 for a complete `\begin{…}`, -1 for `\end{…}`, 0 for neither; and where it ends."""
    for opening, step in (("\\begin{", 1), ("\\end{", -1)):
        if latex.startswith(opening, at):
            close = latex.find("}", at + len(opening))
            return (step, close + 1) if close >= 0 else (0, at)
    return 0, at


def _after_row_break(latex: str, position: int) -> int:
    found = _AFTER_ROW.match(latex, position)
    end = found.end() if found else position
    if latex.startswith("[", end):
        close = latex.find("]", end + 1)
        return close + 1 if close >= 0 else end
    return end
