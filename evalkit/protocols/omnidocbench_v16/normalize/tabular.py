"""Built-in conversion of LaTeX tables to HTML, for machines without latexmlc."""

from __future__ import annotations


def tabular_to_html(latex: str) -> str:
    """The tabular environments of a LaTeX table as HTML tables."""
    return ""
