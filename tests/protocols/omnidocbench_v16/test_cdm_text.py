"""What CDM renders: wrappers off, matrices cleaned. The expected texts of matrices are the official ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.protocols.omnidocbench_v16.cdm_matrix import has_matrix, sanitize_for_cdm, without_outer_braces
from evalkit.protocols.omnidocbench_v16.cdm_score import better
from evalkit.protocols.omnidocbench_v16.cdm_text import as_rendered, cdm_texts, rendered_pred, without_math_wrappers
from evalkit.protocols.omnidocbench_v16.match.pair import PairRecord
from evalkit.types import PairScore


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$$x$$", "x"),
        ("$ $x$ $", "x"),
        ("$$x$", "x"),
        (r"\[ x \]", "x"),
        (r"\( \[x\] \)", r"\[x\]"),
        (r"\[x\tag{1}\]", "x"),
        (r"x \notag", "x"),
        ("", ""),
    ],
)
def test_wrappers(text: str, expected: str) -> None:
    assert without_math_wrappers(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("```latex\nx\n```", "x"), ("a ```latex x``` b", "x"), ("x``` y", "x"), ("$x$", "x")],
)
def test_fences(text: str, expected: str) -> None:
    assert rendered_pred(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{a}", "a"),
        ("{{ a }}", "a"),
        ("{a}{b}", "{a}{b}"),
        ("{a", "{a"),
        ("{}", "{}"),
        ("{ { } }", "{ }"),
        (" a ", "a"),
        ("{a}}", "{a}}"),
    ],
)
def test_outer_braces(text: str, expected: str) -> None:
    assert without_outer_braces(text) == expected


def test_deep_braces_are_no_trouble() -> None:
    assert without_outer_braces("{" * 100_000 + "x" + "}" * 100_000) == "x"


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (r"\begin{bmatrix} 1 \end{bmatrix}", True),
        (r"\begin{array}{c} a & b \end{array}", True),
        (r"\begin{array}{c} a \end{array}", False),
        (r"\left[ \begin{array}{c} a \end{array} \right]", True),
        ("a & b", False),
    ],
)
def test_has_matrix(formula: str, expected: bool) -> None:
    assert has_matrix(formula) is expected


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        pytest.param("x", "x", id="no-matrix"),
        pytest.param(
            r"\begin{bmatrix} {\mathbf{a}} & {b} \\ {c} & d \\ \end{bmatrix}",
            r"\begin{bmatrix}a&b\\c&d\end{bmatrix}",
            id="cells-without-braces-and-styles",
        ),
        pytest.param(
            r"\begin{array} {ll} a & {b} \end{array}", r"\begin{array}{ll}a&b\end{array}", id="blank-before-columns"
        ),
        pytest.param(r"\begin{array}{} a & b \end{array}", r"\begin{array}{l}a&b\end{array}", id="columns-missing"),
        pytest.param(
            r"\begin{aligned} & \begin{pmatrix} a \\ b \end{pmatrix} \\ \end{aligned}",
            r"\begin{pmatrix}a\\b\end{pmatrix}",
            id="aligned-around-a-matrix",
        ),
        pytest.param(
            r"\begin{array}{l} {\begin{matrix} a & b \end{matrix}} \\ {c} \end{array}",
            r"\begin{matrix}a&b\end{matrix} \qquad c",
            id="column-of-matrices-in-one-line",
        ),
        pytest.param(
            r"\operatorname{det} \begin{vmatrix} \dfrac{1}{2} & x_{_{i}} \end{vmatrix}",
            r"\det \begin{vmatrix}\frac{1}{2}&x_{i}\end{vmatrix}",
            id="determinant",
        ),
        pytest.param(r"\begin{matrix} a & b", r"\begin{matrix} a & b", id="never-closed"),
    ],
)
def test_sanitize(formula: str, expected: str) -> None:
    assert sanitize_for_cdm(formula, "") == expected


def test_texts_of_a_plain_row_are_its_own() -> None:
    found = as_rendered(cdm_texts(PairRecord(gt="$$x$$", pred=r"\[ y \tag{2} \]")))
    assert (found.gt, found.pred, found.pred_alternative) == ("x", "y", None)


def test_a_matrix_brings_a_cleaned_alternative() -> None:
    row = PairRecord(gt=r"$$\begin{matrix} a & b \end{matrix}$$", pred=r"$$\begin{matrix} {a} & b \end{matrix}$$")
    found = as_rendered(cdm_texts(row))
    assert found.gt == r"\begin{matrix} a & b \end{matrix}"
    assert found.pred == r"\begin{matrix} {a} & b \end{matrix}"
    assert found.pred_alternative == r"\begin{matrix}a&b\end{matrix}"


def test_only_an_unsettable_truth_is_changed() -> None:
    row = PairRecord(gt=r"$$\begin{array}{} {a} & b \end{array}$$", pred="$$a$$")
    assert cdm_texts(row).gt == r"\begin{array}{l}a&b\end{array}"


@pytest.mark.parametrize(
    ("first", "alternative", "expected"),
    [(0.7, 0.9, 0.9), (0.9, 0.7, 0.9), (0.7, 0.7, 0.7), (0.7, None, 0.7), (None, 0.2, 0.2)],
)
def test_the_better_prediction_counts(first: float | None, alternative: float | None, expected: float) -> None:
    second = None if alternative is None else PairScore(alternative)
    found = better(PairScore(first), second)
    assert found.value == expected
    assert bool(found.details.get("alternative")) == (alternative is not None and alternative > (first or 0.0))


PIECES = [
    r"\begin{array}",
    "{l}",
    r"\end{array}",
    r"\begin{bmatrix}",
    r"\end{bmatrix}",
    r"\\",
    "&",
    "{",
    "}",
    "a",
    "$",
    " ",
]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_any_formula_is_cleaned_without_harm(text: str) -> None:
    once = sanitize_for_cdm(text, "")
    assert once == once.strip()
