"""The metric from end to end: official figures, states, order and workers, cache, progress, SVG, broken toolchains."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import select
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from evalkit.errors import ToolchainError
from evalkit.types import PairScore
from metrics.cdm import doctor, toolchain
from metrics.cdm.contract import compare
from metrics.cdm.doctor import check_tex, examine, require_healthy
from metrics.cdm.draw import next_paper
from metrics.cdm.format import Workshop
from metrics.cdm.match import DrawnToken, Match, Side
from metrics.cdm.pool import crew
from metrics.cdm.rendering import Rendering, SideState
from metrics.cdm.score import FormulaCdm, NativeBackend
from metrics.cdm.svg import MATCHED, MISSED, match_svg
from metrics.cdm.texlog import Overfull
from tests.metrics.cdm.conftest import GoldenFormula, GoldenPair

FIGURES = ("recall", "precision", "f1", "tp", "gt_tokens", "pred_tokens")
MIXED = [
    (r"\frac{a}{b}", r"\frac{a}{b}"),
    (r"\frac{a}{b}", "a"),
    (r"S_{\text{阴影}}=x", "S=x"),
    ("a+b=c", "a+b=d"),
    (r"\begin{tabular}{cc}a&b\end{tabular}", r"\begin{tabular}{cc}a&b\end{tabular}"),
    (r"\frac{a", r"\frac{a}{b}"),
    ("x", r"\gdef\frac{}x"),
    (" + ".join(f"x_{{{i}}}y_{{{i}}}" for i in range(19)), "x"),
]


@pytest.mark.tex
def test_golden_pairs_have_the_official_figures(metric: FormulaCdm, golden_pairs: list[GoldenPair]) -> None:
    scores = metric.score_many([(pair.gt, pair.pred) for pair in golden_pairs], workers=2)
    wrong = [
        (pair, score)
        for pair, score in zip(golden_pairs, scores, strict=True)
        if any(score.details[name] != pair.figures[name] for name in FIGURES) or score.value != pair.figures["f1"]
    ]
    assert wrong == []


@pytest.mark.tex
def test_golden_boxes(metric: FormulaCdm, golden_formulas: dict[str, GoldenFormula]) -> None:
    """At least 99.5 % of the boxes are the official ones in all four edges."""
    backend = metric.backend
    assert isinstance(backend, NativeBackend)
    same = total = 0
    for text, golden in golden_formulas.items():
        drawn = backend.render_pair(text, text)[0].side
        assert (drawn is None) == (golden.side is None)
        if drawn and golden.side:
            assert [one.token for one in drawn.tokens] == [one.token for one in golden.side.tokens]
            same += sum(one == other for one, other in zip(drawn.tokens, golden.side.tokens, strict=True))
            total += len(drawn.tokens)
    assert same / total > 0.995


@pytest.mark.tex
@pytest.mark.shared
def test_research_goldens(metric: FormulaCdm, shared: Path) -> None:
    rows = [json.loads(line) for line in (shared / "golden" / "cdm" / "pairs.jsonl").read_text("utf-8").splitlines()]
    scores = metric.score_many([(row["gt"], row["pred"]) for row in rows], workers=2)
    differing = [row["id"] for row, score in zip(rows, scores, strict=True) if score.value != row["official"]["f1"]]
    counts = ("gt_tokens", "pred_tokens")
    assert differing == []
    assert all(score.details[n] == row["official"][n] for row, score in zip(rows, scores, strict=True) for n in counts)


@pytest.mark.tex
@pytest.mark.shared
@pytest.mark.parametrize("name", ["demo-end2end", "gt-markdown", "rapid-stack"])
def test_formulas_of_the_golden_pages(metric: FormulaCdm, shared: Path, name: str) -> None:
    path = shared / "golden" / "v16" / name / "display_formula_result.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    scores = metric.score_many([(row["gt_cdm"], row["pred_cdm"]) for row in rows], workers=2)
    assert [score.value for score in scores] == [row["metric"]["CDM"] for row in rows]


@pytest.mark.tex
def test_neither_order_nor_workers_nor_company_change_a_score(
    metric: FormulaCdm, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = metric.using(NativeBackend(cache, keep_drawings=False))
    expected = bare.score_many(MIXED)
    monkeypatch.setattr("metrics.cdm.pool.FORMULAS_A_WORKER", 1)
    monkeypatch.setattr("metrics.cdm.pool.MIN_CHUNK", 4)
    shuffled = random.Random(1).sample(range(len(MIXED)), len(MIXED))
    again = bare.score_many([MIXED[index] for index in shuffled], workers=3)
    assert [again[shuffled.index(index)] for index in range(len(MIXED))] == expected
    assert [bare.score(*pair) for pair in MIXED[:3]] == expected[:3]


@pytest.mark.tex
def test_states_and_notes(metric: FormulaCdm) -> None:
    scores = metric.score_many(
        [("x", "x"), ("x", r"\quad"), ("x", ""), ("x", r"\multirow"), (r"\frac{a", "x"), ("x", r"\frac{a")]
    )
    states = [(score.value, score.details["gt_state"], score.details["pred_state"]) for score in scores]
    assert states == [
        (1.0, "ok", "ok"),
        (0.0, "ok", "empty"),
        (0.0, "ok", "empty"),
        (0.0, "ok", "unparsable"),
        (0.0, "tex_error", "ok"),
        (0.0, "ok", "tex_error"),
    ]
    assert "gt_note" not in scores[0].details
    assert scores[4].details["gt_note"]
    assert scores[4].details["pred_tokens"] == 0  # as the official scorer has it when the truth cannot be seen


@pytest.mark.tex
def test_drawings_are_kept_and_progress_reaches_its_total(
    metric: FormulaCdm, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [("a+b", "a+c"), ("a+b", "a+d")]
    told: list[tuple[int, int]] = []
    first = metric.score_many(pairs, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (5, 5)  # three formulas, two pairs
    monkeypatch.setattr("metrics.cdm.typeset.Typesetter.together", None)
    assert metric.score_many(pairs) == first


@pytest.mark.tex
def test_svg_of_a_pair(metric: FormulaCdm, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALKIT_CACHE", str(cache))
    picture = metric.svg("a+b<c", "a+b<d")
    colours = [node.attrib.get("fill") for node in ElementTree.fromstring(picture).iter() if "stroke" in node.attrib]
    assert colours.count(MATCHED) == 8
    assert colours.count(MISSED) == 2


def test_svg_marks_matched_and_missed_tokens() -> None:
    side = Side((DrawnToken("a", (1, 2, 11, 22)), DrawnToken("<", (20, 2, 30, 22))), 40, 30)
    picture = match_svg(side, side, Match(((0, 0), (1, 1)), (True, False)))
    assert picture.count(MATCHED) == 4
    assert picture.count(MISSED) == 4
    assert "&lt;" in picture
    ElementTree.fromstring(picture)


def test_svg_of_a_side_that_cannot_be_seen() -> None:
    assert "nothing to see" in match_svg(None, None, None)


@pytest.mark.parametrize(
    "rendering",
    [
        Rendering(SideState.TEX_ERROR, note="! Undefined"),
        Rendering(SideState.OK, Side((DrawnToken("a", (-1, 2, 3, 4)),), 10, 20)),
    ],
)
def test_renderings_survive_json(rendering: Rendering) -> None:
    assert Rendering.from_json(json.loads(json.dumps(rendering.to_json()))) == rendering


@pytest.mark.parametrize(
    ("paper", "excess", "expected"),
    [(5, None, 4), (5, 1.0, 4), (5, 300.0, 3), (5, 10_000.0, 1), (2, 1.0, 1), (4, 50.0, 3)],
)
def test_next_paper(paper: int, excess: float | None, expected: int) -> None:
    assert next_paper(paper, Overfull(excess)) == expected


@pytest.mark.tex
def test_without_shared_memory_one_process_does_it_all(
    metric: FormulaCdm, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("/dev/shm")

    monkeypatch.setattr("metrics.cdm.pool.FORMULAS_A_WORKER", 1)
    monkeypatch.setattr("metrics.cdm.pool.ProcessPoolExecutor", refuse)
    bare = metric.using(NativeBackend(cache, keep_drawings=False))
    assert [score.value for score in bare.score_many([("a", "a"), ("b", "c")], workers=2)] == [1.0, 0.0]


@pytest.mark.tex
def test_a_worker_that_dies_ends_the_run_with_a_message(workshop: Workshop) -> None:
    jobs = [(0, ["x"]), (1, ["y"])]
    with crew(workshop, 2) as workforce:
        assert sorted(number for number, _ in workforce.render(jobs)) == [0, 1]
        for process in multiprocessing.active_children():
            process.kill()
        with pytest.raises(ToolchainError, match="fewer workers"):
            list(workforce.render(jobs))


INTERRUPTED = """
import sys
from pathlib import Path
from metrics.cdm import pool
from metrics.cdm.score import NativeBackend

if __name__ == "__main__":
    pool.FORMULAS_A_WORKER, pool.MIN_CHUNK = 1, 2
    many = [(r"\\frac{a_{%d}}{b}+c^{%d}" % (index, index), "x") for index in range(4000)]
    NativeBackend(Path(sys.argv[1]), False).score_many(many, workers=int(sys.argv[2]))
"""


@pytest.mark.tex
@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_leaves_nothing_behind(workshop: Workshop, cache: Path, tmp_path: Path, workers: int) -> None:
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED, encoding="utf-8")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    require_healthy(workshop)
    environment = os.environ | {"TMPDIR": str(scratch), "PYTHONPATH": str(Path(__file__).parents[3])}
    child = subprocess.Popen([sys.executable, str(script), str(cache), str(workers)], env=environment, stderr=-1)
    try:
        while child.poll() is None and not list(scratch.glob("evalkit-cdm-*/run-*/*.log")):
            select.select([], [], [], 0.05)
        child.send_signal(signal.SIGINT)
        said = child.communicate(timeout=60)[1]
        assert b"KeyboardInterrupt" in said, (child.returncode, said)
    finally:
        child.kill()
    assert list(scratch.iterdir()) == []
    processes = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(workshop.folder) not in processes


# --- never silent ---


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("EVALKIT_CACHE", str(tmp_path))
    toolchain.find_toolchain.cache_clear()
    yield
    toolchain.find_toolchain.cache_clear()


@pytest.mark.usefixtures("nothing_installed")
def test_without_tex_nothing_is_scored() -> None:
    with pytest.raises(ToolchainError, match=r"apt-get install -y --no-install-recommends texlive-latex-recommended"):
        FormulaCdm(NativeBackend()).score("x", "x")


@pytest.mark.usefixtures("nothing_installed")
def test_doctor_names_the_cure() -> None:
    (finding,) = check_tex()
    assert finding.state == "missing"
    assert finding.remedy == toolchain.APT_LINE


@pytest.mark.tex
def test_canaries_are_drawn_as_stored(workshop: Workshop) -> None:
    reports = examine(workshop)
    assert {report.name for report in reports} >= {"latin", "chinese", "tabular", "overfull", "circled"}
    assert [(report.name, report.problem) for report in reports if not report.healthy] == []


@pytest.mark.tex
@pytest.mark.parametrize(
    ("rendering", "problem"),
    [
        (Rendering(SideState.TEX_ERROR, note="! no"), "tex_error"),
        (Rendering(SideState.OK, Side((DrawnToken("x", (0, 0, 1, 1)),), 9, 9)), "1 tokens"),
    ],
)
def test_a_sick_canary_stops_the_run(
    workshop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rendering: Rendering, problem: str
) -> None:
    monkeypatch.setattr(doctor, "render", lambda _, formulas: [rendering] * len(formulas))
    fresh = Workshop(workshop.toolchain, tmp_path)
    fresh.folder.mkdir()
    monkeypatch.setattr(Workshop, "prepare", lambda _: None)
    with pytest.raises(ToolchainError, match=problem):
        require_healthy(fresh)
    assert not list(fresh.folder.iterdir())


@pytest.mark.tex
def test_a_broken_pdflatex_stops_the_run(workshop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Workshop(toolchain.Toolchain("/bin/false", "/bin/false", "broken"), tmp_path)
    with pytest.raises(ToolchainError, match="does not compile"):
        require_healthy(broken)


def test_comparison_of_two_backends() -> None:
    def scored(value: float, count: int) -> PairScore:
        return PairScore(value, details={"gt_tokens": count, "pred_tokens": 1})

    found = compare([scored(1.0, 2), scored(0.5, 3), scored(0.0, 1)], [scored(1.0, 2), scored(0.25, 3), scored(0.5, 2)])
    assert found.equal_values == 1
    assert found.equal_counts == 2
    assert (found.mean_difference, found.largest_difference) == (0.25, 0.5)
    assert found.differing == (2, 1)
