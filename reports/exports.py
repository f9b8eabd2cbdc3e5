"""The leaderboard as CSV, JSON, Markdown and a LaTeX table; titles come from files, so each format escapes them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from evalkit.store import dumps
from reports.layout_scores import HEADLINE_MODE
from reports.leaderboard import Cell, Row, Section

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--",
}  # fmt: skip
_MARKDOWN = str.maketrans({char: f"\\{char}" for char in "\\|*_`[]"} | {"<": "&lt;", ">": "&gt;", "\n": " "})


def as_rows(sections: Sequence[Section]) -> list[dict[str, Any]]:
    """Every row in full precision, with its signature and what it is."""
    return [_plain(section, row) for section in sections for row in section.rows]


def _plain(section: Section, row: Row) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "system": row.run.title,
        "run": row.run.key,
        "provenance": "emulated" if section.emulated else "measured",
        "speed_valid": None if row.run.speed is None else row.run.speed.valid,
        "signature": section.signature,
        "tier": row.tier,
        "page_iou_signature": None if row.run.layout is None else row.run.layout.signature_in(HEADLINE_MODE),
    }
    for cell in row.cells:
        textual = cell.value is None and cell.column.name in {"hardware", "date"}
        facts[cell.column.name] = cell.text if textual else cell.value
        if cell.interval is not None:
            facts[f"{cell.column.name}_low"], facts[f"{cell.column.name}_high"] = cell.interval
    return facts


def to_json(sections: Sequence[Section]) -> str:
    """An array with an object a row."""
    return dumps(as_rows(sections), indent=1) + "\n"


def to_csv(sections: Sequence[Section]) -> str:
    """A header and a line a row; texts that a spreadsheet would run as formulas are made harmless."""
    rows = as_rows(sections)
    names = list(dict.fromkeys(name for row in rows for name in row))
    target = io.StringIO()
    writer = csv.DictWriter(target, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _harmless(value) for name, value in row.items()} for row in rows)
    return target.getvalue()


def _harmless(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def _head(cells: Sequence[Cell]) -> list[str]:
    arrows = {"high": "↑", "low": "↓", "none": ""}
    return [f"{cell.column.title} {arrows[cell.column.better]}".strip() for cell in cells]


def _shown(row: Row) -> list[Cell]:
    return [cell for cell in row.cells if cell.column.shown]


def _name(row: Row) -> str:
    return f"{row.run.title} ({', '.join(mark.text for mark in row.marks)})" if row.marks else row.run.title


def to_markdown(sections: Sequence[Section]) -> str:
    """A table for each signature."""
    parts = []
    for section in sections:
        head = ["System", *_head(_shown(section.rows[0]))]
        lines = ["| " + " | ".join(head) + " |", "|" + "---|" + "---:|" * (len(head) - 1)]
        for row in section.rows:
            cells = [_name(row).translate(_MARKDOWN), *(_markdown_cell(cell) for cell in _shown(row))]
            lines.append("| " + " | ".join(cells) + " |")
        signature = section.signature.replace("`", "")
        parts.append("\n".join([f"**{section.title}** `{signature}`", "", *lines]))
    return "\n\n".join(parts) + "\n"


def _markdown_cell(cell: Cell) -> str:
    text = cell.text.translate(_MARKDOWN)
    return f"**{text}**" if cell.best else f"~~{text}~~" if cell.void else text


def to_latex(sections: Sequence[Section]) -> str:
    """A booktabs table; invalid figures are left out, since no mark beside a number survives being copied."""
    parts = []
    for section in sections:
        head = [latex(title) for title in ("System", *_head(_shown(section.rows[0])))]
        lines = [
            f"% {section.title}: {section.signature}".replace("\n", " "),
            r"\begin{tabular}{l" + "r" * (len(head) - 1) + "}",
            r"\toprule",
            " & ".join(head) + r" \\",
            r"\midrule",
            *(" & ".join([latex(_name(row)), *map(_latex_cell, _shown(row))]) + r" \\" for row in section.rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _latex_cell(cell: Cell) -> str:
    if cell.void:
        return "--"
    return rf"\textbf{{{latex(cell.text)}}}" if cell.best else latex(cell.text)


def latex(text: str) -> str:
    """A text that LaTeX prints as it is."""
    arrows = {"↑": r"$\uparrow$", "↓": r"$\downarrow$", "\n": " "}
    return "".join(_LATEX.get(char) or arrows.get(char, char) for char in text)
