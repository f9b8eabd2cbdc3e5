"""Hostile formulas among good ones: nothing is read, written or run, nothing hangs, no neighbour's score moves."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from metrics.cdm.format import Workshop
from metrics.cdm.formula import Kind, prepare
from metrics.cdm.pdfstream import Glyph
from metrics.cdm.rendering import Rendering, SideState, render
from metrics.cdm.typeset import TexState, Typeset, Typesetter

pytestmark = pytest.mark.tex

GOOD = (
    r"\frac{a+b}{c}",
    r"\sum_{i=1}^{n} x_i^2",
    r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}",
    r"\sqrt{\alpha} \leq \mathbf{x}",
    r"\left( \frac{dx}{dt} \right)_{t=0}",
    r"f(x) = \int_0^1 \hat{y} \, dx",
)
PASSWORDS = "/etc/passwd"

HOSTILE = {
    "input": rf"\input{{{PASSWORDS}}}",
    "primitive input": rf"\csname @@input\endcsname {PASSWORDS} x",
    "include": r"\include{../../secret}",
    "openin": rf"\newread\r\openin\r={PASSWORDS} \read\r to\x \x",
    "openout": r"\newwrite\w\immediate\openout\w=/tmp/evalkit-hostile \immediate\write\w{x}\immediate\closeout\w",
    "openout parent": r"\newwrite\w\immediate\openout\w=../evalkit-hostile \immediate\write\w{x}\immediate\closeout\w",
    "write18": r"\immediate\write18{touch /tmp/evalkit-hostile} x",
    "piped input": r"\input{|touch /tmp/evalkit-hostile} x",
    "csname": r"\expandafter\def\csname mathcolor\endcsname{x} y",
    "endless loop": r"\def\x{\x}\x",
    "endless expansion": r"\def\x{y\x}\edef\z{\x}",
    "endless input loop": r"\loop\iftrue\repeat",
    "memory": r"\def\x#1{\x{#1#1}}\x{aaaaaaaaaa}",
    "end document": r"a \end{document} b",
    "stop": r"a \stop b",
    "endinput": r"a \endinput b",
    "redefine frac": r"\gdef\frac#1#2{X}",
    "redefine colour": r"\gdef\mathcolor[#1]#2#3{Y}",
    "redefine by let": r"\global\let\sqrt\relax x",
    "redefine by environment": r"\begin{gdef}\frac{}\end{gdef}",
    "hidden by carets": r"\^^67def\frac#1#2{X}",
    "catcode": r"\global\catcode`\^=12 x^2",
    "mathcode": r"\global\mathcode`x=`y x",
    "everypar": r"\global\everypar{boo}\global\everymath{z}",
    "two hundred errors": r"\nosuch " * 200,
    "long": "x+" * 50_000,
    "long and dense": r"\hat{" * 8_000,
    "deep": "{" * 3_000 + "x" + "}" * 3_000,
    "deep scripts": "x" + "^{x" * 400 + "}" * 400,
    "deep styles": r"\mathrm{" * 1_500 + "x" + "}" * 1_500,
    "many braces open": "{" * 300 + "x",
    "many braces closed": "x" + "}" * 300,
    "shipout": r"\shipout\hbox{X} y",
    "special": r"\special{pdf: put @catalog << /OpenAction 1 >>} x",
    "literal": r"\pdfliteral direct{1 0 0 rg 0 0 1000 1000 re f} x",
    "compressed": r"\global\pdfcompresslevel=9 \global\pdfobjcompresslevel=3 x",
    "page size": r"\global\pdfpagewidth=10pt \global\pdfpageheight=10pt x",
    "page size huge": r"\global\pdfpagewidth=16000pt \rule{15000pt}{15000pt}",
    "endgroup": r"x \endgroup \endgroup \endgroup y",
    "iffalse": r"\iffalse x",
    "error stop mode": r"\errorstopmode \nosuch x",
    "runaway": r"\frac{a}{b \par c}",
    "output routine": r"\global\output{\shipout\box255} x",
    "dump": r"\dump x",
    "aftergroup": r"\aftergroup\end x",
    "group of groups": r"\begingroup\begingroup x",
    "unicode": "α\u202e\x00\ud800β",
    "controls": "a\x07\x1b[31m\r\nb",
    "percent": "a % b\n c",
    "multirow without braces": r"\multirow",
    "cmidrule without braces": r"\begin{tabular}{c}\cmidrule",
}


TRACE = Path("/tmp/evalkit-hostile")


@pytest.fixture(scope="module")
def strict(workshop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> Typesetter:
    """A typesetter that gives up soon, so that endless formulas do not take the time of the suite."""
    return Typesetter(workshop, tmp_path_factory.mktemp("cdm-hostile"), cpu_s=2)


@pytest.fixture(scope="module")
def good_pages(strict: Typesetter) -> list[list[object]]:
    return [_drawn(strict.alone(Kind.PLAIN, 5, prepare(text).coloured.latex)) for text in GOOD]


@pytest.fixture(scope="module")
def mixed(strict: Typesetter) -> dict[str, Rendering]:
    """All hostile formulas in one call, good ones before and after each."""
    names = [name for hostile in HOSTILE for name in (*GOOD, hostile)] + list(GOOD)
    drawn = render(strict, [HOSTILE.get(name, name) for name in names])
    by_name: dict[str, Rendering] = {}
    for name, rendering in zip(names, drawn, strict=True):
        assert by_name.setdefault(name, rendering) == rendering, f"{name} is not drawn the same each time"
    return by_name


def test_neighbours_keep_their_boxes(strict: Typesetter, mixed: dict[str, Rendering]) -> None:
    assert [mixed[text] for text in GOOD] == render(strict, GOOD)
    assert not TRACE.exists()


@pytest.mark.parametrize("formula", HOSTILE.values(), ids=HOSTILE)
def test_neighbours_keep_their_pages_in_a_shared_run(
    strict: Typesetter, good_pages: list[list[object]], formula: str
) -> None:
    """The guard that keeps far-reaching formulas out of shared runs is left out here."""
    good = [prepare(text).coloured.latex for text in GOOD]
    shared = strict.together(Kind.PLAIN, 5, [*good[:3], formula, *good[3:]])
    neighbours = [*shared[:3], *shared[4:]]
    assert [_drawn(one) for one in neighbours if one] == [
        pages for pages, one in zip(good_pages, neighbours, strict=True) if one
    ]
    assert not TRACE.exists()


def _drawn(typeset: Typeset) -> list[object]:
    """What the pages hold, without the font objects of one PDF."""
    marks = [mark for page in typeset.pages for mark in page.marks]
    return [(one.font.name, one.code, one.matrix, one.colour) if isinstance(one, Glyph) else one for one in marks]


@pytest.mark.parametrize("name", ["input", "primitive input", "openin"])
def test_no_file_is_read(strict: Typesetter, name: str) -> None:
    """The passwords would be hundreds of characters on the page."""
    outcome = strict.alone(Kind.PLAIN, 5, HOSTILE[name])
    assert outcome.state is TexState.TEX_ERROR or len(_drawn(outcome)) < 5


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("two hundred errors", SideState.TEX_ERROR),
        ("multirow without braces", SideState.UNPARSABLE),
        ("cmidrule without braces", SideState.UNPARSABLE),
        ("percent", SideState.OK),
    ],
)
def test_state_of_a_hostile_formula(mixed: dict[str, Rendering], name: str, state: SideState) -> None:
    assert mixed[name].state is state


@pytest.mark.parametrize(
    ("name", "state"),
    [("endless loop", TexState.TIMEOUT), ("memory", TexState.TEX_ERROR), ("error stop mode", TexState.TEX_ERROR)],
)
def test_state_of_hostile_tex(strict: Typesetter, name: str, state: TexState) -> None:
    """As TeX gets it when colouring does not already take the sting out."""
    assert strict.alone(Kind.PLAIN, 5, HOSTILE[name]).state is state


def test_nothing_is_left_running_or_lying_about(workshop: Workshop, tmp_path: Path) -> None:
    strict = Typesetter(workshop, tmp_path, cpu_s=1)
    strict.alone(Kind.PLAIN, 5, HOSTILE["endless loop"])
    listing = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert list(tmp_path.iterdir()) == []
    assert str(workshop.folder) not in listing
