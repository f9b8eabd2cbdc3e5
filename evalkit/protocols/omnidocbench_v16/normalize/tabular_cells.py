"""One cell of a LaTeX table: its spans and its text."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from evalkit.protocols.omnidocbench_v16.normalize.braces import closing_braces
from evalkit.protocols.omnidocbench_v16.normalize.delimiters import Delimiter, delimited_spans
from evalkit.protocols.omnidocbench_v16.normalize.latex_converter import convert_latex

_FORMULA = (Delimiter(r"(?<!\\)\$\$", "$$"), Delimiter(r"(?<!\\)\$", "$"), Delimiter(r"\\\(", "\\)"))
_COMMENT = re.compile(r"(?<!\\)%[^\n]*\n?")
_OPTION = re.compile(r"\s*\[[^\[\]]*\]")
_SPAN_COMMAND = re.compile(r"\\(multicolumn|multirow)\*?(?![a-zA-Z])")
_COMMAND = re.compile(r"\\([a-zA-Z]+)\*?")
_NUMBER = re.compile(r"\d+")
_ROW_BREAK = re.compile(r"\\\\\*?(?:[ \t]*\[[^\]\n]*\])?")
_ENVIRONMENT = re.compile(r"\\(?:begin|end)\s*\{[^{}]*\}(?:\s*\[[^\[\]]*\])?(?:\s*\{[lcr|p @]*\})?")
_AMPERSAND = re.compile(r"(?<!\\)&")
_WHITESPACE = re.compile(r"\s+")

_KEPT_ARGUMENT = {
    "makecell": (1, 0), "shortstack": (1, 0), "thead": (1, 0), "parbox": (2, 1), "rotatebox": (2, 1),
    "scalebox": (2, 1), "resizebox": (3, 2), "textcolor": (2, 1), "colorbox": (2, 1), "fcolorbox": (3, 2),
    "raisebox": (2, 1), "adjustbox": (2, 1), "diagbox": (2, None), "backslashbox": (2, None), "cellcolor": (1, -1),
    "rowcolor": (1, -1), "columncolor": (1, -1), "color": (1, -1), "vspace": (1, -1), "hspace": (1, -1),
    "rule": (2, -1), "label": (1, -1), "footnote": (1, -1), "setlength": (2, -1), "renewcommand": (2, -1),
    "fontsize": (2, -1), "phantom": (1, -1), "includegraphics": (1, -1),
}  # fmt: skip
"""How many arguments a command has, and which of them is the text: -1 for none, None for all."""


@dataclass(frozen=True, slots=True)
class TabularCell:
    """A cell: its text, and how many rows and columns it covers."""

    text: str = ""
    rows: int = 1
    columns: int = 1


def read_cell(latex: str) -> TabularCell:
    """The cell that a piece of LaTeX between two `&` stands for."""
    cell = TabularCell()
    latex = _COMMENT.sub("", latex)
    while (found := _SPAN_COMMAND.search(latex)) is not None:
        arguments, end = _arguments(latex, found.end(), 3)
        if len(arguments) < 3:
            break
        number = _NUMBER.search(arguments[0])
        count = max(1, int(number.group()[:6])) if number else 1
        cell = replace(cell, columns=count) if found.group(1) == "multicolumn" else replace(cell, rows=count)
        latex = f"{latex[: found.start()]} {arguments[2]} {latex[end:]}"
    return replace(cell, text=_plain(latex))


def _arguments(latex: str, position: int, count: int) -> tuple[list[str], int]:
    """Up to `count` brace groups from the position on, options between them skipped, and where they end."""
    closing = closing_braces(latex)
    arguments: list[str] = []
    while len(arguments) < count:
        start = position
        while option := _OPTION.match(latex, start):
            start = option.end()
        while start < len(latex) and latex[start].isspace():
            start += 1
        if start < len(latex) and latex[start] == "*" and arguments:  # natural width of multirow
            arguments.append("*")
            position = start + 1
            continue
        if start not in closing:
            break
        position = closing[start] + 1
        arguments.append(latex[start + 1 : closing[start]])
    return arguments, position


def _plain(latex: str) -> str:
    """The text of a cell without commands; formulas in dollar signs."""
    latex = _expand_commands(latex)
    pieces: list[str] = []
    last_end = 0
    for span in delimited_spans(latex, _FORMULA):
        pieces += _read(latex[last_end : span.start]), f"${span.inner(latex).strip()}$"
        last_end = span.end
    pieces.append(_read(latex[last_end:]))
    return _WHITESPACE.sub(" ", "".join(pieces)).strip()


def _expand_commands(latex: str) -> str:
    """Commands with arguments that are no text give way to the argument that is."""
    search_from = 0
    while (found := _COMMAND.search(latex, search_from)) is not None:
        search_from = found.end()
        if found.group(1) not in _KEPT_ARGUMENT:
            continue
        count, kept = _KEPT_ARGUMENT[found.group(1)]
        arguments, end = _arguments(latex, found.end(), count)
        if len(arguments) < count:
            continue
        text = " ".join(arguments) if kept is None else arguments[kept] if kept >= 0 else ""
        latex = latex[: found.start()] + text + latex[end:]
        search_from = found.start()
    return latex


def _read(latex: str) -> str:
    latex = _AMPERSAND.sub(" ", _ENVIRONMENT.sub(" ", _ROW_BREAK.sub(" ", latex)))
    if not any(sign in latex for sign in "\\{}~`'-"):
        return latex
    text = convert_latex(latex)
    return latex if text is None else text
