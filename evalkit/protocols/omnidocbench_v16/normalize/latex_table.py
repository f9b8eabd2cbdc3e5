"""LaTeX tables turned into HTML by the backend that the policy names."""

from __future__ import annotations

from evalkit.protocols.omnidocbench_v16.normalize.latex_backend import latex_table_backend
from evalkit.protocols.omnidocbench_v16.normalize.latex_text import why_bad_table_latex
from evalkit.protocols.omnidocbench_v16.normalize.latexmlc import table_by_latexmlc
from evalkit.protocols.omnidocbench_v16.normalize.tabular import tabular_to_html
from evalkit.protocols.omnidocbench_v16.policy import POLICY, LatexTables
from evalkit.protocols.omnidocbench_v16.rules import rule


@rule(stage="normalize", order=50, example=r"\begin{tabular}{c}a\end{tabular} -> an HTML table of one cell")
def latex_table_to_html(latex: str, choice: LatexTables = POLICY.normalize.latex_tables) -> str:
    """The HTML of a LaTeX table; "" when it is not worth converting or the backend makes no table of it.

    Source: data_preprocess.py, normalized_latex_table.
    Quirk: where latexmlc is missing, the official leaves the table as LaTeX text, as `off` does here.
    """
    backend = latex_table_backend(choice)
    if backend == LatexTables.OFF or why_bad_table_latex(latex) is not None:
        return ""
    if backend == LatexTables.LATEXMLC:
        return table_by_latexmlc(latex)
    return tabular_to_html(latex)
