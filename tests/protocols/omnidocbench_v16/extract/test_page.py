"""Extraction of whole pages: the LaTeX switch, empty pages and hostile pages."""

from __future__ import annotations

import pytest

from evalkit.protocols.omnidocbench_v16.extract.page import extract
from evalkit.protocols.omnidocbench_v16.policy import LatexTables
from evalkit.protocols.omnidocbench_v16.records import PredItem

LATEX = r"\begin{tabular}{ll} a & b \\ \end{tabular}"


@pytest.mark.parametrize("text", ["", " \n\n \n", "\u3000"])
def test_empty_page(text: str) -> None:
    assert extract(text) == {}


def test_latex_table_as_latex() -> None:
    found = extract(f"x\n\n{LATEX}\n\ny", latex_tables=LatexTables.OFF)
    with_next_character = f"{LATEX}\n"
    position = (3, 3 + len(with_next_character))
    assert found["latex_table"] == [PredItem("latex_table", with_next_character, position, "latex_table")]


def test_latex_table_as_html() -> None:
    found = extract(LATEX, latex_tables=LatexTables.BUILTIN)
    assert [item.fine_category for item in found["html_table"]] == ["latex2html_table"]
    assert "latex_table" not in found


@pytest.mark.parametrize(
    "unit",
    [
        "$", "$$", "\\(", "\\[", "$a$ ", "|\n", "| a | b |\n", "||\n", "<table>", "<table ", "![", "![](", "```",
        "```a\n", "\\begin{tabular}", "\\begin{table}", "\\title{", "\\text {", "\\quad \\text{for all numbers here}",
        "\\quad (ab ", "<div>", "<!--", "The image displays \\( \n\n", "\n \n", "_", " ", "\x00", "\ud800",
    ],
)  # fmt: skip
@pytest.mark.parametrize("frame", ["{}", "$${}$$", "| {} |\n|-|\n", "<div>{}", "<table>{}</table>"])
def test_endless_repetition_ends_soon(unit: str, frame: str) -> None:
    assert isinstance(extract(frame.format(unit * 1000)), dict)
