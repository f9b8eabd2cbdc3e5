"""Which program turns LaTeX tables into HTML."""

from __future__ import annotations

import shutil

from evalkit.protocols.omnidocbench_v16.policy import POLICY, LatexTables


def latex_table_backend(choice: LatexTables = POLICY.normalize.latex_tables) -> str:
    """`latexmlc`, `builtin` or `off`, for the signature."""
    if choice is not LatexTables.AUTO:
        return choice.value
    return LatexTables.LATEXMLC.value if shutil.which("latexmlc") else LatexTables.BUILTIN.value
