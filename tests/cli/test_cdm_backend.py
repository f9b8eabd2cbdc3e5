"""Another CDM by name: it scores, it is part of the signature, and a wrong name says what there is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from evalkit import registry
from evalkit.api import evaluate
from evalkit.cli.main import main
from evalkit.dataset import load_dataset
from evalkit.types import PairScore


class Constant:
    """A backend that gives every pair 0.25."""

    name = "constant"

    def score_many(
        self, pairs: Sequence[tuple[str, str]], *, workers: int = 1, progress: object = None
    ) -> list[PairScore]:
        return [PairScore(0.25, details={"gt_state": "ok", "pred_state": "ok"}) for _ in pairs]


BACKEND = Constant()


@pytest.fixture
def _constant(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setitem(registry.BUILTIN["cdm_backend"], "constant", f"{__name__}:BACKEND")
        registry.targets.cache_clear()
        yield
    registry.targets.cache_clear()


@pytest.mark.usefixtures("_constant")
def test_a_named_backend_scores_and_stands_in_the_signature(tmp_path: Path) -> None:
    dataset = load_dataset("mini").select(["zh_appendix_integrals.png"])
    (tmp_path / "zh_appendix_integrals.md").write_text("$$\na + b\n$$", encoding="utf-8")
    summary = evaluate(tmp_path, dataset, workers=1, options={"cdm_backend": "constant"})
    assert summary.metrics["formula_cdm"].sample_avg == 0.25
    assert "|cdm:constant|" in summary.signature


@pytest.mark.usefixtures("_constant")
def test_pairs_are_scored_by_a_named_backend(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"gt": "a", "pred": "b"}\n', encoding="utf-8")
    assert main(["score", "formula_cdm", str(path), "--cdm-backend", "constant"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == 0.25


@pytest.mark.parametrize(
    ("metric", "backend", "message"),
    [("formula_cdm", "nope", "Known: native, official"), ("text_edit", "official", "is for formula_cdm")],
)
def test_a_wrong_backend_is_named(
    metric: str, backend: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"gt": "a", "pred": "b"}\n', encoding="utf-8")
    assert main(["score", metric, str(path), "--cdm-backend", backend]) == 2
    assert message in capsys.readouterr().err
