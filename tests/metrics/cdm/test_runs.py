"""Around TeX: which formulas must be alone, what logs say, what the sandbox allows, fonts that are made."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from metrics.cdm.boxes import measure
from metrics.cdm.cache import ResultCache
from metrics.cdm.format import Workshop
from metrics.cdm.formula import Kind, prepare
from metrics.cdm.pool import chunk_size, useful_workers
from metrics.cdm.preamble import is_far_reaching, text_size
from metrics.cdm.sandbox import Limits, Outcome, run
from metrics.cdm.texlog import find_overfull, missing_font, stretches
from metrics.cdm.typeset import CANARY_EVERY, TexState, Typesetter


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"\frac{a}{b} \iff \infty \orange", False),
        (r"\boxed{x} \Box \mathbf{x} \overline{\text{if}} \mod", False),
        (r"\begin{array}{c} a \\ \hline \end{array}", False),
        (r"\left\{ x \middle| y \right\}", False),
        (r"\def\x{y}", True),
        (r"\gdef \x{y}", True),
        (r"\begin{gdef}", True),
        (r"\begin {input}", True),
        (r"\input{x}", True),
        (r"\ifx a", True),
        (r"\^^69nput", True),
        (r"\csname x\endcsname", True),
        (r"\pdfliteral{}", True),
        (r"\end{document}", True),
        (r"\global\let\x\y", True),
    ],
)
def test_far_reaching(latex: str, expected: bool) -> None:
    assert is_far_reaching(latex) is expected


def test_text_sizes_are_landscape_and_grow() -> None:
    sizes = [text_size(paper) for paper in (5, 4, 3, 2, 1)]
    assert sizes == sorted(sizes)
    assert sizes[0] == pytest.approx((585.6, 412.7), abs=0.3)


LOG = """preamble
evalkit-open c0 0 0
evalkit-set c0 0 0
[1] evalkit
evalkit-close c0 0 1
evalkit-open f0 0 1
Overfull \\hbox (12.5pt too wide) detected at line 9
Overfull \\hbox (3pt too wide) detected at line 9
evalkit-set f0 0 1
evalkit-close f0 0 2
evalkit-open f1 0 2
! LaTeX Error: \\begin{displaymath} on input line 12 ended by \\end{array}.
evalkit-set f1 1 2
evalkit-close f1 1 3
evalkit-open f2 0 3
evalkit-set f2 0 5
evalkit-close f2 0 6
evalkit-open f3 0 6
! Emergency stop.
"""


def test_stretches_of_a_log() -> None:
    found = {stretch.name: stretch for stretch in stretches(LOG)}
    assert [(name, one.closed, one.page) for name, one in found.items()] == [
        ("c0", True, 0),
        ("f0", True, 1),
        ("f1", False, None),
        ("f2", True, None),
        ("f3", False, None),
    ]
    assert found["f3"].strayed
    overfull = found["f0"].overfull
    assert overfull is not None
    assert overfull.width_pt == 12.5


def test_too_high_is_overfull_without_a_width() -> None:
    overfull = find_overfull("Overfull \\vbox (1.0pt too high) has occurred while \\output is active []")
    assert overfull is not None
    assert overfull.width_pt is None
    assert find_overfull("Underfull \\hbox") is None


def test_missing_font() -> None:
    assert missing_font("(file tcrm0900): Font tcrm0900 at 600 not found") == "tcrm0900"
    assert missing_font("fine") is None


@pytest.mark.parametrize(
    ("count", "workers", "size"), [(10, 2, 30), (400, 2, 100), (5000, 2, 200), (0, 1, 30), (170, 1, 170)]
)
def test_chunk_size(count: int, workers: int, size: int) -> None:
    assert chunk_size(count, workers) == size


@pytest.mark.parametrize(
    ("wanted", "formulas", "pairs", "used"),
    [(2, 10, 5, 1), (8, 150, 0, 2), (8, 5000, 2500, 8), (1, 5000, 0, 1), (4, 0, 0, 1), (2, 0, 600, 2)],
)
def test_useful_workers(wanted: int, formulas: int, pairs: int, used: int) -> None:
    assert useful_workers(wanted, formulas, pairs) == used


# --- sandbox ---


def python(code: str, folder: Path, limits: Limits) -> Outcome:
    return run([sys.executable, "-S", "-c", code], folder, {"PATH": os.environ["PATH"]}, limits)


def test_a_program_ends_normally(tmp_path: Path) -> None:
    assert python("open('x', 'w').write('y')", tmp_path, Limits()) == Outcome(0, timed_out=False)
    assert (tmp_path / "x").read_text() == "y"


@pytest.mark.parametrize(
    ("code", "limits", "timed_out"),
    [
        ("while True: pass", Limits(cpu_s=1), True),
        ("import time; time.sleep(60)", Limits(wall_s=0.2), True),
        ("x = bytearray(1 << 30)", Limits(memory_bytes=400 << 20), False),
        ("open('x', 'wb').write(b'x' * (2 << 20))", Limits(file_bytes=1 << 20), False),
    ],
    ids=["cpu", "wall", "memory", "disk"],
)
def test_limits(tmp_path: Path, code: str, limits: Limits, timed_out: bool) -> None:
    outcome = python(code, tmp_path, limits)
    assert outcome.exit_code != 0
    assert outcome.timed_out is timed_out
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= limits.file_bytes


# --- cache ---


def test_cache_keeps_by_content(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path, "scope")
    cache.put({"a": 1}, "x", "y")
    assert cache.get("x", "y") == {"a": 1}
    assert cache.get("xy", "") is None
    assert ResultCache(tmp_path, "other").get("x", "y") is None


def test_a_damaged_entry_is_no_entry(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path, "scope")
    cache.put({"a": 1}, "\ud800")
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    path.write_text("{", encoding="ascii")
    assert cache.get("\ud800") is None


# --- typesetting ---


@pytest.mark.tex
def test_shared_runs_draw_as_runs_alone_do(typesetter: Typesetter) -> None:
    formulas = [f"x^{{{i}}} + \\frac{{{i}}}{{y}}" for i in range(2 * CANARY_EVERY + 3)]
    prepared = [prepare(formula) for formula in formulas]
    shared = typesetter.together(Kind.PLAIN, 5, [one.coloured.latex for one in prepared])
    for index in (0, CANARY_EVERY - 1, CANARY_EVERY, len(formulas) - 1):
        alone = typesetter.alone(Kind.PLAIN, 5, prepared[index].coloured.latex)
        together = shared[index]
        count = len(prepared[index].coloured.tokens)
        assert together is not None
        assert measure(together.pages, count) == measure(alone.pages, count)


@pytest.mark.tex
@pytest.mark.parametrize("kind", list(Kind))
def test_every_preamble_compiles(typesetter: Typesetter, kind: Kind) -> None:
    typeset = typesetter.alone(kind, 5, "x")
    assert typeset.state is TexState.OK
    assert len(typeset.pages) == 1


@pytest.mark.tex
def test_a_bitmap_font_is_made_when_it_is_needed(workshop: Workshop, tmp_path: Path) -> None:
    fresh = Workshop(workshop.toolchain, tmp_path / "cache")
    typeset = Typesetter(fresh, tmp_path).alone(Kind.PLAIN, 5, r"\text{\textcircled{x}}")
    assert typeset.state is TexState.OK
    assert [path.name for path in (fresh.folder / "fonts").rglob("*pk")]


@pytest.mark.tex
@pytest.mark.parametrize("name", ["tcrm1200; touch x", "../tcrm1200", "nosuchfont1200"])
def test_no_other_font_is_made(workshop: Workshop, name: str) -> None:
    assert not workshop.make_font(name)
