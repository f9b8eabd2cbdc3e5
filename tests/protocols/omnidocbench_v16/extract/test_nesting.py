"""Outermost pairs of tags: against a scan written out step by step, and on hostile text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.protocols.omnidocbench_v16.extract.nesting import Nesting, outermost_pairs
from evalkit.protocols.omnidocbench_v16.extract.tables import html_table_spans, latex_table_spans

TAGS = Nesting(re.compile("<t"), "</t", closing_step=3, restart_step=5)


def scan(text: str, begin: int) -> list[tuple[int, int]]:
    """The scan without any jump: all tags from `begin` on, then again behind the first one left open."""
    pairs: list[tuple[int, int]] = []
    open_at: list[int] = []
    position = begin
    while (found := re.compile("</?t").search(text, position)) is not None:
        position = found.start() + 3
        if found.group() == "<t":
            open_at.append(found.start())
        elif open_at:
            start = open_at.pop()
            if not open_at:
                pairs.append((start, position))
    return pairs + (scan(text, open_at[0] + 5) if open_at else [])


@given(st.lists(st.sampled_from(["<t", "</t", "<t ", "</t ", " ", "   "]), max_size=30))
def test_equals_the_plain_scan(pieces: list[str]) -> None:
    text = "".join(pieces) + "   "
    assert outermost_pairs(text, TAGS) == scan(text, 0)


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("<table><tr></table>", [(0, 19)]),
        ("<table></table> x", []),
        ("<table><tr><td><table>x</table></td></tr></table>", [(0, 49)]),
        ("<table> never closed <table>x </table>", [(21, 38)]),
        ("<table", []),
    ],
)
def test_html_tables(text: str, spans: list[tuple[int, int]]) -> None:
    assert html_table_spans(text) == spans


def test_latex_tables() -> None:
    text = r"\begin{tabular}a\end{tabular}!\begin{table}\begin{tabular}b\end{tabular}\end{table}"
    assert latex_table_spans(text) == [
        (0, r"\begin{tabular}a\end{tabular}!"),
        (30, r"\begin{table}\begin{tabular}b\end{tabular}\end{table}"),
    ]


@pytest.mark.parametrize("unit", ["<table>", "</table>", "<table ", "<table>x</table>", "<table><tr><td>"])
def test_many_tags_end_soon(unit: str) -> None:
    assert isinstance(html_table_spans(unit * 20_000), list)
    assert isinstance(latex_table_spans(unit.replace("table", r"\begin{tabular}") * 20_000), list)
