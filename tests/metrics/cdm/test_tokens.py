"""Reading formulas: tokens, normal form and colours, without TeX."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.cdm.braces import BracketMatcher, UnreadableError
from metrics.cdm.colour import MAX_COLOURS, colour, colour_of
from metrics.cdm.formula import MAX_INPUT_CHARS, Kind, prepare
from metrics.cdm.guard import MAX_CHARS, parseable
from metrics.cdm.normalize import normalize
from metrics.cdm.tokenize import tokenize
from tests.metrics.cdm.conftest import GoldenFormula, load_formulas

TOKENS = [
    ("characters", "a+b", "a + b"),
    ("scripts, sub first", "x^2_i", "x _ { i } ^ { 2 }"),
    ("primes", "f''", r"f ^ { \prime \prime }"),
    ("prime and script", "f'^2", "f ^ { 2 }"),
    ("prime and prime", r"f'^{\prime}", r"f ^ { \prime }"),
    ("script without base", "^2", "^ 2"),
    ("empty script", "x^", "x ^"),
    ("fraction without braces", r"\frac12", r"\frac 1 2"),
    ("display fraction", r"\dfrac{a}{b}", r"\frac { a } { b }"),
    ("binomial of one word", r"\binom nk", r"\binom { } { } n k"),
    ("binomial of words", r"\binom n k", r"\binom n k"),
    ("root with index", r"\sqrt[3]{x}", r"\sqrt [ 3 ] { x }"),
    ("accent over a font", r"\hat\mathbf{x}", r"\hat { \mathbf { x } }"),
    ("wide accent", r"\widehat{ab}", r"\widehat { a b }"),
    ("overline keeps its group", r"\overline{ab}", r"\overline { { a b } }"),
    ("operator name", r"\operatorname{sin}x", r"\sin x"),
    ("unknown operator name", r"\operatorname{foo}x", r"\operatorname { f o o } x"),
    ("limits are dropped", r"\sum\limits_a", r"\sum _ { a }"),
    ("spelt operator", r"\max_x", r"\operatorname* { m a x } _ { x }"),
    ("left and right", r"\left( x \right.", r"\left( x \right."),
    ("text", r"\text{a b}", r"\mathrm { a ~ b }"),
    ("old roman", r"{\rm ab}", r"\mathrm { a b }"),
    ("dashes", "a--b", "a -- b"),
    ("dashes in roman", r"\mathrm{a--b}", r"\mathrm { a - - b }"),
    ("comment", "a % b", "a"),
    ("leading percent", "%a", "a"),
    ("line break outside an environment", r"a\\b", r"a \, b"),
    ("label", r"\label{x}a", "a"),
    (
        "matrix",
        r"\begin{pmatrix}a&b\\c\end{pmatrix}",
        r"\left( \begin{array} { l l } { a } & { b } \\ { c } \end{array} \right)",
    ),
    ("cases", r"\begin{cases}a&b\end{cases}", r"\left\{ \begin{array} { l l } { a } & { b } \end{array} \right."),
    ("aligned columns", r"\begin{align}a&=b\end{align}", r"\begin{array} { r l } { a } & { { } = b } \end{array}"),
    (
        "column rules are dropped",
        r"\begin{array}{c|c}a&b\end{array}",
        r"\begin{array} { c c } { a } & { b } \end{array}",
    ),
    ("empty rows are dropped", r"\begin{array}{c}a\\\\\end{array}", r"\begin{array} { c } { a } \end{array}"),
    ("rule", r"\rule{1.50cm}{2pt}", r"\rule { 1.5 cm } { 2 pt }"),
    ("dollars are dropped", "$a$", "a"),
    ("trailing backslash", "a\\", "a \\"),
    ("table", r"\begin{tabular}{c}a%b\end{tabular}", r"\begin {tabular} { c } a \end {tabular}"),
]


@pytest.mark.parametrize(
    ("text", "expected"), [row[1:] for row in TOKENS if row[2]], ids=[r[0] for r in TOKENS if r[2]]
)
def test_tokens(text: str, expected: str) -> None:
    assert tokenize(text) == expected


@pytest.mark.parametrize(
    ("text", "tabular", "expected"),
    [
        ("{a}", False, True),
        ("{a", False, False),
        ("a}{", False, False),
        (r"\{a", False, True),
        (r"\begin{a}\end{a}", False, True),
        (r"\begin{a}\end{b}", False, False),
        (r"\left( x", False, False),
        (r"\left( x", True, True),
        (r"\leftarrow x", False, True),
        ("$a", False, False),
        (r"\$a", False, True),
        (r"\(a", False, False),
        ("", False, True),
        ("x" * MAX_CHARS, False, True),
        ("x" * (MAX_CHARS + 1), False, False),
    ],
)
def test_parseable(text: str, tabular: bool, expected: bool) -> None:
    assert parseable(text, tabular=tabular) is expected


NORMAL = [
    ("function names", r"\sin x", r"\mathrm { s i n } x"),
    ("dots", r"a \cdots b", "a . . . b"),
    ("big delimiters", r"\big ( x", r"\big( x"),
    ("big macros", r"\Bigl \{ x", r"\Bigl\{ x"),
    ("missing braces", r"\hat x y", r"\hat { x } y"),
    ("chains", r"\hat \mathbf x", r"\hat { \mathbf { x } }"),
    ("chain over a group", r"\hat \mathbf { x y }", r"\hat { \mathbf { x y } }"),
    ("fraction", r"\frac 1 2", r"\frac { 1 } { 2 }"),
    ("half a fraction", r"\frac { 1 } 2", r"\frac { 1 } { 2 }"),
    ("root", r"\sqrt [ 3 ] x", r"\sqrt [ 3 ] { x }"),
    ("array columns", r"\begin{array} { l r }", r"\begin{array} {lr}"),
    ("colours are dropped", r"\color { red } x", "x"),
    ("coloured text", r"\textcolor [ R G B ] { 1 , 2 , 3 } x", "x"),
    ("spaces", r"\hspace { 1 c m } x", r"\hspace{1cm} x"),
    ("matrix without braces", r"\matrix x", r"\mymatrix x"),
]


@pytest.mark.parametrize(("text", "expected"), [row[1:] for row in NORMAL], ids=[row[0] for row in NORMAL])
def test_normal_form(text: str, expected: str) -> None:
    assert normalize(text).strip() == expected


@pytest.mark.parametrize("text", [r"\hat { x", r"\sqrt [ x", r"\frac { a"])
def test_unclosed_arguments_are_unreadable(text: str) -> None:
    with pytest.raises(UnreadableError):
        normalize(text)


COLOURED = [
    ("token", "x", r"\mathcolor[RGB]{0,0,15}{x}", ["x"]),
    ("subscript is isolated", "a _ b", r"\mathcolor[RGB]{0,0,15}{a} _ {\mathcolor[RGB]{0,0,30}{b}}", ["a", "b"]),
    (
        "fraction",
        r"\frac { a } { b }",
        r"\mathcolor[RGB]{0,0,15}{\frac { \mathcolor[RGB]{0,0,30}{a} } { \mathcolor[RGB]{0,0,45}{b} } }",
        [r"\frac", "a", "b"],
    ),
    ("style of one token", r"\mathbf { x }", r"\mathbf { \mathcolor[RGB]{0,0,15}{x} }", ["x"]),
    ("phantom", r"\phantom { x } y", r"\phantom { x } \mathcolor[RGB]{0,0,15}{y}", ["y"]),
    ("undrawn", r"a \quad & \\", r"\mathcolor[RGB]{0,0,15}{a} \quad & \\", ["a"]),
    ("bracket", "[ x", r"\mathcolor[RGB]{0,0,15}{[} \mathcolor[RGB]{0,0,30}{x}", ["[", "x"]),
    (
        "quirk: the token at the old end of a style argument has no colour",
        r"\mathrm { \hat { x } y }",
        r"\mathrm { \mathcolor[RGB]{0,0,15}{\hat { \mathcolor[RGB]{0,0,30}{x} } } y }",
        [r"\hat", "x"],
    ),
]


@pytest.mark.parametrize(("text", "latex", "tokens"), [row[1:] for row in COLOURED], ids=[row[0] for row in COLOURED])
def test_coloured(text: str, latex: str, tokens: list[str]) -> None:
    found = colour(text)
    assert (found.latex, list(found.tokens)) == (latex, tokens)


@pytest.mark.parametrize("text", [r"\multirow", r"\ref", r"x \phantom"])
def test_a_macro_without_its_argument_cannot_be_coloured(text: str) -> None:
    with pytest.raises(UnreadableError):
        colour(text)


def test_colours_are_distinct_and_neither_black_nor_white() -> None:
    colours = {colour_of(number) for number in range(MAX_COLOURS)}
    assert len(colours) == MAX_COLOURS
    assert not colours & {(0, 0, 0), (255, 255, 255)}


@pytest.mark.parametrize(
    ("text", "kind"),
    [("x", Kind.PLAIN), ("中", Kind.CHINESE), (r"\begin{tabular}中\end{tabular}", Kind.TABULAR), ("é", Kind.PLAIN)],
)
def test_kind(text: str, kind: Kind) -> None:
    assert prepare(text).kind is kind


def test_chinese_is_one_token_a_character() -> None:
    assert prepare("高温x").coloured.tokens == ("高", "温", "x")


def test_percent_sign_survives() -> None:
    assert prepare(r"50\%").coloured.tokens == ("5", "0", r"\%")


@pytest.mark.parametrize(("count", "paper"), [(600, 5), (601, 4), (1300, 4), (1301, 3)])
def test_first_paper(count: int, paper: int) -> None:
    assert prepare("x" * count).first_paper == paper


def test_too_long_is_unreadable() -> None:
    with pytest.raises(UnreadableError):
        prepare("x" * (MAX_INPUT_CHARS + 1))


@pytest.mark.parametrize(("text", "golden"), load_formulas().items())
def test_tokens_of_golden_formulas(text: str, golden: GoldenFormula) -> None:
    assert prepare(text).coloured.tokens == golden.tokens


def test_deep_nesting_is_within_a_budget() -> None:
    with pytest.raises(UnreadableError, match="nesting"):
        BracketMatcher(budget=10).closing(["{"] * 6 + ["}"] * 6, 0)


@pytest.mark.parametrize("text", [r"\sqrt\multirow", r"\sqrt[\multirow]{a}", r"\multirow"])
def test_an_argument_that_ends_before_it_begins_is_unreadable(text: str) -> None:
    with pytest.raises(UnreadableError):
        prepare(text)


MACROS = (
    r"\\ \frac \sqrt \hat \mathrm \text \left \right \binom \begin{array}{c} \end{array} \begin{tabular} \multirow"
    r" \operatorname \rule"
)
FRAGMENTS = st.sampled_from([*"ab12+-^_'{}[]()&%$~ \n中é\x00", *MACROS.split()])


@given(st.lists(FRAGMENTS, max_size=25).map("".join))
@settings(max_examples=200, deadline=None)
def test_anything_is_prepared_or_unreadable(text: str) -> None:
    try:
        prepared = prepare(text)
    except UnreadableError:
        return
    assert len(prepared.coloured.tokens) <= 4 * len(text) + 4
