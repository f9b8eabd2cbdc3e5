"""The normalisers give what the official ones give, on small made-up inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from evalkit.protocols.omnidocbench_v16.normalize.formula import (
    formula_to_text,
    normalize_formula,
    strip_formula_delimiters,
    strip_formula_tags,
)
from evalkit.protocols.omnidocbench_v16.normalize.latex_text import (
    latex_to_text,
    why_bad_latex,
    why_bad_table_latex,
)
from evalkit.protocols.omnidocbench_v16.normalize.table import normalize_html_table
from evalkit.protocols.omnidocbench_v16.normalize.table_cells import normalize_cell_text
from evalkit.protocols.omnidocbench_v16.normalize.table_lines import (
    cell_formulas_to_text,
    table_to_text_lines,
    table_with_plain_cells,
)
from evalkit.protocols.omnidocbench_v16.normalize.text import (
    clean_string,
    inline_formulas_to_unicode,
    normalize_text,
    text_with_normalized_formulas,
)
from tests.protocols.omnidocbench_v16.official_values import official_rows


def bad_latex(text: str) -> list[bool]:
    return [why_bad_latex(text) is not None, why_bad_table_latex(text) is not None]


FUNCTIONS: Mapping[str, Callable[[str], Any]] = {
    function.__name__: function
    for function in (
        bad_latex,
        cell_formulas_to_text,
        clean_string,
        formula_to_text,
        inline_formulas_to_unicode,
        latex_to_text,
        normalize_cell_text,
        normalize_formula,
        normalize_html_table,
        normalize_text,
        strip_formula_delimiters,
        strip_formula_tags,
        table_to_text_lines,
        table_with_plain_cells,
        text_with_normalized_formulas,
    )
}


@pytest.mark.parametrize(("function", "text", "official"), official_rows("normalize"))
def test_equals_official(function: str, text: str, official: Any) -> None:
    assert FUNCTIONS[function](text) == official
