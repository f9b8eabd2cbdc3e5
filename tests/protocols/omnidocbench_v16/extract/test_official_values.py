"""The extraction gives what the official one gives, on small made-up inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from evalkit.protocols.omnidocbench_v16.extract.display_formulas import formula_items
from evalkit.protocols.omnidocbench_v16.extract.formula_candidates import is_formula_like, sanitize_formula_candidate
from evalkit.protocols.omnidocbench_v16.extract.html_fragments import html_fragment_to_text
from evalkit.protocols.omnidocbench_v16.extract.markdown_tables import markdown_tables_to_html
from evalkit.protocols.omnidocbench_v16.extract.page import extract
from evalkit.protocols.omnidocbench_v16.policy import LatexTables
from evalkit.protocols.omnidocbench_v16.records import PredItem
from tests.protocols.omnidocbench_v16.official_values import official_rows


def plain(items: Sequence[PredItem]) -> list[list[Any]]:
    return [[item.category, list(item.position), item.content, item.fine_category] for item in items]


def pools(text: str) -> dict[str, list[list[Any]]]:
    """The official scorer had no latexmlc when these values were made."""
    found = extract(text, latex_tables=LatexTables.OFF)
    return {
        category: [[*row, item.details.get("language")] for row, item in zip(plain(items), items, strict=True)]
        for category, items in found.items()
    }


FUNCTIONS: dict[str, Callable[[str], Any]] = {
    "extract": pools,
    "formula_items": lambda text: plain(formula_items(text, (5, 5 + len(text)), None)),
    "html_fragment_to_text": html_fragment_to_text,
    "is_formula_like": is_formula_like,
    "markdown_tables_to_html": markdown_tables_to_html,
    "sanitize_formula_candidate": sanitize_formula_candidate,
}


@pytest.mark.parametrize(("function", "text", "official"), official_rows("extract"))
def test_equals_official(function: str, text: str, official: Any) -> None:
    assert FUNCTIONS[function](text) == official
