"""The built-in conversion of LaTeX tables to HTML."""

from __future__ import annotations

import pytest

from evalkit.protocols.omnidocbench_v16.normalize.tabular import tabular_to_html

TABLES = [
    ("plain", r"\begin{tabular}{ll} a & b \\ c & d \end{tabular}", "a|b\nc|d"),
    (
        "rules",
        r"\begin{tabular}{l}\toprule a \\[2pt] \midrule\cmidrule(lr){1-1} b \\* \bottomrule\end{tabular}",
        "a\nb",
    ),
    ("comment", "\\begin{tabular}{ll} a % x & y\n & b \\\\\n\\end{tabular}", "a|b"),
    ("escapes", r"\begin{tabular}{ll} a\&b & 5\% \_ \$ \end{tabular}", "a&amp;b|5% _ $"),
    ("formulas", r"\begin{tabular}{ll} $a < b & c$ & \(x\) \end{tabular}", "$a &lt; b|c$|$x$"),
    ("fonts", r"\begin{tabular}{ll} \textbf{a \emph{b}} & {\bf c} \end{tabular}", "a b|c"),
    ("colours", r"\begin{tabular}{ll} \cellcolor[gray]{.8}a & \textcolor{red}{b} \end{tabular}", "a|b"),
    ("stacked", r"\begin{tabular}{ll} \makecell[l]{a\\b} & \shortstack{c \\ d} \end{tabular}", "a b|c d"),
    ("nested", r"\begin{tabular}{ll} \begin{tabular}{c} a & b \\ c \end{tabular} & d \end{tabular}", "a b c|d"),
    ("width", r"\begin{tabularx}{\textwidth}{lX} a & b \\ \end{tabularx}", "a|b"),
    ("column arguments", r"\begin{tabular}[t]{>{\bfseries}l p{2cm}} a & b \end{tabular}", "a|b"),
    ("short row", r"\begin{tabular}{lll} a \\ b & c & \\ & \\ d & e \end{tabular}", "a|\nb|c\nd|e"),
    ("accents", r"\begin{tabular}{l} caf\'e ``q'' 1--2 \end{tabular}", "café “q” 1–2"),
]


def plain(text: str) -> str:
    """Rows of cells as lines with bars, as the HTML that has no spans."""
    rows = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in row.split("|")) + "</tr>" for row in text.split("\n")
    )
    return f"<table>{rows}</table>"


@pytest.mark.parametrize(("latex", "expected"), [row[1:] for row in TABLES], ids=[row[0] for row in TABLES])
def test_tables(latex: str, expected: str) -> None:
    assert tabular_to_html(latex) == plain(expected)


def test_spans() -> None:
    latex = r"""\begin{tabular}{lll}
    \multirow{2}{*}{a} & \multicolumn{2}{c|}{b} \\ \cline{2-3}
    & c & d \\
    \multicolumn{1}{l}{\multirow{2}{2cm}{e}} & f & g \\
    & \multicolumn{2}{c}{} \\
    \end{tabular}"""
    assert tabular_to_html(latex) == (
        '<table><tr><td rowspan="2">a</td><td colspan="2">b</td></tr>'
        "<tr><td>c</td><td>d</td></tr>"
        '<tr><td rowspan="2">e</td><td>f</td><td>g</td></tr>'
        '<tr><td colspan="2"></td></tr></table>'
    )


def test_several_tables_and_none() -> None:
    latex = r"\begin{tabular}{l}a\end{tabular} and \begin{tabular}{l}b\end{tabular}"
    assert tabular_to_html(latex) == plain("a") + "\n" + plain("b")
    assert tabular_to_html("no table") == ""


@pytest.mark.parametrize(
    "unit", [r"\begin{tabular}", r"\begin{tabular}{l}a&", "&", r"\\", r"\multicolumn{2}{c}{", r"\makecell{"]
)
def test_endless_repetition_ends_soon(unit: str) -> None:
    assert isinstance(tabular_to_html(r"\begin{tabular}{l}" + unit * 400), str)
