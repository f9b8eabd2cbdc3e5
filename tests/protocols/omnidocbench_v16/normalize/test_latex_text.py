"""LaTeX as text: guards, version, depth and work."""

from __future__ import annotations

import sys

import pytest

from evalkit.protocols.omnidocbench_v16.normalize.latex_converter import Failure, convert_latex, convert_with_reason
from evalkit.protocols.omnidocbench_v16.normalize.latex_text import latex_to_text, why_not_converted


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        ("", ""),
        ("  plain  ", "plain"),
        (r"\frac{a}{b}", "a/b"),
        (r"\ensuremath{y} + \alpha", " + α"),
        (r"\today \times", "today×"),
        (r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}", "[ a b; c d ]"),
    ],
)
def test_text(latex: str, expected: str) -> None:
    assert latex_to_text(latex) == expected


@pytest.mark.parametrize(
    ("latex", "reason"),
    [
        (r"\frac{a}{b}", None),
        (r"the area of the region is given by A times B \%", "prose"),
        (r"two words \ ", "weak_latex"),
        (r"\frac{a}{b", "unbalanced_braces"),
        (r"\begin{a}\alpha\end{b}", "unbalanced_environments"),
        (r"\left( \alpha", "unbalanced_left_right"),
        (r"\( \alpha", "unbalanced_delimiters"),
        (r"$\alpha", "unbalanced_delimiters"),
        (r"\alpha" * 2000, "too_long"),
        (r"\sqrt[a", "parser"),
        (r"\hat{" * 30 + "x" + "}" * 30, "out_of_work"),
    ],
)
def test_reason_for_leaving_it_alone(latex: str, reason: str | None) -> None:
    assert why_not_converted(latex) == reason
    if reason is not None:
        assert latex_to_text(latex, fallback="as it was") == "as it was"


@pytest.mark.parametrize(
    ("opening", "closing", "deepest"),
    [("{", "}", 244), (r"\frac{", "}{y}", 139), (r"\sqrt{", "}", 122), (r"\text{$", "$}", 108)],
)
def test_nesting_ends_where_the_official_stack_does(opening: str, closing: str, deepest: int) -> None:
    """Python 3.12 and later spend no frame on a comprehension, and end a few levels deeper."""
    too_deep = deepest + 1 if sys.version_info < (3, 12) else deepest * 5 // 4
    assert convert_latex(opening * deepest + "x" + closing * deepest) is not None
    assert convert_latex(opening * too_deep + "x" + closing * too_deep) is None


def test_depth_of_the_caller_does_not_matter() -> None:
    latex = r"\frac{" * 100 + "x" + "}{y}" * 100

    def at_depth(depth: int) -> str | None:
        return at_depth(depth - 1) if depth else convert_latex(latex)

    assert at_depth(300) == at_depth(0)


@pytest.mark.parametrize(
    ("unit", "times"),
    [(r"\sqrt[", 60), (r"\item[", 60), (r"\frac{ \( }", 60), (r"\begin{array}[x\end{array}", 30)],
)
def test_arguments_that_never_close_are_read_in_polynomial_time(unit: str, times: int) -> None:
    assert convert_with_reason(unit * times).failure in (None, Failure.PARSER)


def test_accents_on_accents_run_out_of_work() -> None:
    assert convert_latex(r"\hat{x}") == "x\u0302"
    assert convert_with_reason(r"\hat{" * 25 + "x" + "}" * 25).failure is Failure.OUT_OF_WORK
