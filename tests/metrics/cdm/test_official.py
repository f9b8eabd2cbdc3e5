"""The official scorer as a backend, against a small stand-in of its checkout."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from evalkit import registry
from evalkit.errors import ToolchainError, UserError
from metrics.cdm import official
from metrics.cdm.official import OfficialBackend

STAND_IN = """
from pathlib import Path

def cdm_metrics(gt, pred, save_vis, tmp_dir):
    print("noise on standard output")
    log = Path(__file__).with_name("calls.log")
    log.write_text((log.read_text() if log.exists() else "") + "x")
    same = float(gt == pred)
    figures = {"recall": same, "precision": same, "F1_score": same, "tp": 1}
    return {**figures, "gt_tokens": len(gt), "pred_tokens": len(pred)}
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "checkout" / "src" / "metrics" / "cdm"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "cdm.py").write_text(STAND_IN, encoding="utf-8")
    monkeypatch.setattr(official, "_TOOLS", ())
    return tmp_path / "checkout"


def calls(checkout: Path) -> int:
    return len((checkout / "src" / "metrics" / "cdm" / "calls.log").read_text())


def test_answers_are_read_and_kept(checkout: Path, tmp_path: Path) -> None:
    backend = OfficialBackend(checkout, sys.executable, tmp_path / "cache")
    told: list[tuple[int, int]] = []
    pairs = [("ab", "ab"), ("é\n", "x"), ("ab", "ab")]
    scores = backend.score_many(pairs, progress=lambda *step: told.append(step))
    assert [score.value for score in scores] == [1.0, 0.0, 1.0]
    assert scores[1].details["gt_tokens"] == 2
    assert scores[1].details["gt_state"] == "ok"
    assert calls(checkout) == 2
    assert told[-1] == (3, 3)
    assert backend.score_many(pairs) == scores
    assert calls(checkout) == 2


def test_it_can_stand_behind_the_metric(checkout: Path, tmp_path: Path) -> None:
    metric = registry.load("metric", "formula_cdm").using(OfficialBackend(checkout, sys.executable, tmp_path / "cache"))
    assert metric.score("a", "a").value == 1.0
    assert registry.load("cdm_backend", "official").name == "official"
    assert registry.load("cdm_backend", "native").name == "native"


def test_without_a_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(official.CHECKOUT_VARIABLE, raising=False)
    with pytest.raises(UserError, match=official.CHECKOUT_VARIABLE):
        OfficialBackend().score_many([("a", "a")])
    with pytest.raises(UserError, match="no checkout"):
        OfficialBackend(tmp_path).score_many([("a", "a")])


def test_without_its_tools(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(official, "_TOOLS", ("no-such-program",))
    with pytest.raises(ToolchainError, match="no-such-program"):
        OfficialBackend(checkout, sys.executable, tmp_path / "cache").score_many([("a", "a")])


def test_a_python_that_cannot_run_it(checkout: Path, tmp_path: Path) -> None:
    (checkout / "src" / "metrics" / "cdm" / "cdm.py").write_text("import no_such_module", encoding="utf-8")
    with pytest.raises(ToolchainError, match=official.PYTHON_VARIABLE):
        OfficialBackend(checkout, sys.executable, tmp_path / "cache").score_many([("a", "a")])
