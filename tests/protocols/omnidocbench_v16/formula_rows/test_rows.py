"""Rows, environments and end labels of multi-line formulas; expected values are those of the official scorer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.protocols.omnidocbench_v16.formula_rows.end_labels import strip_end_labels
from evalkit.protocols.omnidocbench_v16.formula_rows.environments import closings, opening_at
from evalkit.protocols.omnidocbench_v16.formula_rows.latex_rows import first_cell, is_escaped, split_rows
from evalkit.protocols.omnidocbench_v16.formula_rows.logic_braces import normalize_logic_braces
from evalkit.protocols.omnidocbench_v16.formula_rows.split import formula_rows


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        pytest.param(r"a \\ b", ["a", "b"], id="two rows"),
        pytest.param(r"a \\[2pt] b \\* c", ["a", "b", "c"], id="length and star belong to the break"),
        pytest.param(r"a \\ [x", ["a", "[x"], id="bracket that is not closed"),
        pytest.param(r"{a \\ b} \\ c", [r"{a \\ b}", "c"], id="not in braces"),
        pytest.param(r"\{a \\ b\}", [r"\{a", r"b\}"], id="escaped braces do not group"),
        pytest.param(
            r"\begin{matrix} a \\ b \end{matrix} \\ c",
            [r"\begin{matrix} a \\ b \end{matrix}", "c"],
            id="not in environments",
        ),
        pytest.param(r"} a \\ b", ["} a", "b"], id="a closing brace too many"),
        pytest.param(r"\\ \\", [], id="empty rows"),
    ],
)
def test_split_rows(latex: str, expected: list[str]) -> None:
    assert split_rows(latex) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("a & b", "a"),
        ("& b", ""),
        (r"a \& b", None),
        (r"\begin{matrix} a & b \end{matrix}", None),
        (r"\begin{matrix} a & b \end{matrix} & c", r"\begin{matrix} a & b \end{matrix}"),
        ("a", None),
    ],
)
def test_first_cell(row: str, expected: str | None) -> None:
    assert first_cell(row) == expected


@pytest.mark.parametrize(("latex", "index", "expected"), [("a", 0, False), (r"\a", 1, True), (r"\\a", 2, False)])
def test_is_escaped(latex: str, index: int, expected: bool) -> None:
    assert is_escaped(latex, index) is expected


def test_an_opening_takes_all_brace_groups_behind_it() -> None:
    opening = opening_at(r"\begin{array}{l} {x} y")
    assert opening is not None
    assert (opening.name, opening.column_spec, opening.body_start) == ("array", "l", 21)
    assert opening_at(r"\begin{matrix} x") is None
    assert opening_at(r" \begin{array} x") is None


def test_environments_of_one_name_nest() -> None:
    latex = r"\begin{cases}\begin{cases}\end{cases}\end{cases}\begin{split}"
    assert closings(latex) == {0: 37, 13: 26}


@pytest.mark.parametrize(
    ("trailing", "expected"),
    [
        ("", ""),
        (r" \label{eq:1} ", ""),
        (r"\tag{1}", ""),
        (r"\qquad (2.1)", ""),
        (" (12) [3]", ""),
        ("x(1)", "x(1)"),
        (" (ab)", " (ab)"),
        (" (abcd)", ""),
        (" (x+y)", " (x+y)"),
        (r" (\ast)", ""),
        (r"\tag{1} \tag{2}", r"\tag{1} \tag{2}"),
        (r" where x \quad (1)", " where x"),
    ],
)
def test_strip_end_labels(trailing: str, expected: str) -> None:
    assert strip_end_labels(trailing) == expected


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        pytest.param("x + y", [], id="single formula"),
        pytest.param(r"\[\begin{aligned} a &= b \\ c &= d \end{aligned}\]", ["a &= b", "c &= d"], id="aligned"),
        pytest.param(r"$$a \\ b$$", ["a", "b"], id="bare breaks"),
        pytest.param(r"\begin{split} a \tag{1} \\ b \notag \end{split}", ["a", "b"], id="tags are dropped"),
        pytest.param(r"\begin{gather} a \\ b \end{gather} , c", ["a", "b , c"], id="what follows goes to the last row"),
        pytest.param(r"\begin{gather} a \\ b \end{gather} \qquad (1)", ["a", "b"], id="number behind"),
        pytest.param(
            r"\begin{gather} a \\ b \end{gather} c \\ d",
            [r"\begin{gather} a \\ b \end{gather} c", "d"],
            id="rows behind",
        ),
        pytest.param(r"\begin{cases} a & x \\ b & y \end{cases}", [], id="cases with conditions"),
        pytest.param(r"\begin{cases} a \\ b \end{cases}", [], id="cases without a logic mark"),
        pytest.param(
            r"\begin{cases} a \\ \Rightarrow b \end{cases}", ["a", r"\Rightarrow b"], id="cases of statements"
        ),
        pytest.param(r"\left\{ \begin{aligned} x &= 1 \\ y &= 2 \end{aligned} \right.", [], id="braced system"),
        pytest.param(
            r"\left\{ \begin{aligned} & x \\ & y \end{aligned} \right.", ["& x", "& y"], id="braced without left sides"
        ),
        pytest.param(
            r"\left. \begin{aligned} & x \\ & \text{if } y \end{aligned} \right\}", [], id="braced with words"
        ),
        pytest.param(r"\begin{array}{l} a \\ b \end{array}", ["a", "b"], id="array of one column"),
        pytest.param(r"\begin{array}{r@{}l} a \\ b \end{array}", [], id="array with nested spec"),
        pytest.param(
            r"\begin{array}{r | l} a & c \\ b & d \end{array}", ["a & c", "b & d"], id="two columns, one flush"
        ),
        pytest.param(r"\begin{array}{cc} a & c \\ b & d \end{array}", [], id="two centred columns"),
        pytest.param(r"\begin{array}{lll} a \\ b \end{array}", [], id="three columns"),
        pytest.param(r"\left\{ \begin{array}{l} a \\ b \end{array} \right.", [], id="braced list"),
        pytest.param(r"\left\{ \begin{array}{c} a \\ b \end{array} \right.", ["a", "b"], id="braced, centred"),
        pytest.param(
            r"\begin{aligned} a \\ \begin{cases} x \\ y \end{cases} \\ (1) b \end{aligned}", [], id="numbered cases"
        ),
    ],
)
def test_formula_rows(latex: str, expected: list[str]) -> None:
    assert [row.latex for row in formula_rows(latex)] == expected


@pytest.mark.parametrize(
    ("latex", "spans"),
    [
        (r"\[a \\ bc\]", [(2, 2), (7, 8)]),
        (r"\begin{gather} a \\ b \end{gather} , c", [(15, 15), (20, 37)]),
    ],
)
def test_spans_of_rows(latex: str, spans: list[tuple[int, int]]) -> None:
    assert [(row.start, row.last) for row in formula_rows(latex)] == spans


BRACED = r"\left\{ \begin{array}{l} "


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        pytest.param("x", "x", id="nothing"),
        pytest.param(r"\begin{cases} a \\ b \end{cases}", r"\begin{cases} a \\ b \end{cases}", id="no logic mark"),
        pytest.param(
            r"\begin{cases} a \\ \implies b \end{cases}",
            BRACED + r"a \\ \implies b \end{array} \right.",
            id="statements",
        ),
        pytest.param(
            r"\begin{cases} a \\ b \end{cases} \Rightarrow c",
            BRACED + r"a \\ b \end{array} \right. \Rightarrow c",
            id="mark behind",
        ),
        pytest.param(
            r"\begin{cases} a & b \\ \Rightarrow c & d \end{cases}",
            r"\begin{cases} a & b \\ \Rightarrow c & d \end{cases}",
            id="condition column",
        ),
        pytest.param(
            r"\begin{aligned} \begin{cases} a \\ \forall b \end{cases} \end{aligned}",
            r"\begin{aligned} " + BRACED + r"a \\ \forall b \end{array} \right. \end{aligned}",
            id="inside another environment",
        ),
        pytest.param(
            r"\begin{split} x \begin{cases} a \\ \forall b \end{cases}",
            r"\begin{split} x \begin{cases} a \\ \forall b \end{cases}",
            id="behind an environment that is never closed",
        ),
    ],
)
def test_normalize_logic_braces(latex: str, expected: str) -> None:
    assert normalize_logic_braces(latex) == expected


def test_deep_nesting_is_no_recursion() -> None:
    depth = 2000
    latex = r"\begin{cases} a " * depth + r"\end{cases}" * depth
    assert normalize_logic_braces(latex) == latex


TOKENS = st.lists(
    st.sampled_from(["\\\\", "\\", "{", "}", "&", "a", " ", "\\begin{cases}", "\\end{cases}", "\\begin{", "["])
)


@settings(deadline=None)
@given(TOKENS)
def test_any_latex_is_taken(tokens: list[str]) -> None:
    latex = "".join(tokens)
    rows = split_rows(latex)
    assert all(row == row.strip() != "" for row in rows)
    assert len(formula_rows(latex)) != 1
    normalize_logic_braces(latex)
