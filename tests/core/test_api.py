"""The command line's work as calls: values come back, nothing heavy is loaded by the import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import evalkit
from evalkit.errors import UserError
from evalkit.store import write_jsonl


def test_import_loads_nothing_heavy() -> None:
    code = "import evalkit, sys; print(sorted({'numpy', 'lxml', 'pandas', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_call_is_there_and_documented() -> None:
    for name in evalkit.api.__all__:
        call = getattr(evalkit, name)
        assert callable(call)
        assert call.__doc__
        assert name in dir(evalkit)


def test_an_unknown_call_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        _ = evalkit.evalute


def test_evaluate_returns_a_summary_and_keeps_nothing(tmp_path: Path) -> None:
    dataset = evalkit.load_dataset("mini").select(["en_blank_leaf.png"])
    (tmp_path / "en_blank_leaf.md").write_text("something else", encoding="utf-8")
    summary = evalkit.evaluate(tmp_path, dataset, cdm=False, workers=1)
    assert summary.pages == 1
    assert summary.overall is None
    assert summary.metrics["text_edit"].page_avg is not None
    assert [path.name for path in tmp_path.iterdir()] == ["en_blank_leaf.md"]


def test_score_gives_a_value_a_pair() -> None:
    assert [found.value for found in evalkit.score("text_edit", [("ab", "ab"), ("ab", "ax")])] == [0.0, 0.5]
    with pytest.raises(UserError, match="scores records"):
        evalkit.score("page_iou", [("a", "b")])


def test_rows_load_into_pandas(tmp_path: Path) -> None:
    path = tmp_path / "page_scores.jsonl"
    write_jsonl(
        path, "evalkit.page_scores", 1, [{"page_id": "a", "values": {"text_edit": 0.25}}, {"page_id": "b\u2028"}]
    )
    table = pd.json_normalize(evalkit.rows(path))
    assert list(table["page_id"]) == ["a", "b\u2028"]
    assert table["values.text_edit"][0] == 0.25


def test_names_and_doctor() -> None:
    assert "mini" in {row["name"] for row in evalkit.names("datasets")}
    assert {check.name for check in evalkit.doctor("python")} >= {"python", "lxml"}


def test_no_submodule_has_the_name_of_a_call() -> None:
    folder = Path(evalkit.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} | {path.name for path in folder.iterdir() if path.is_dir()}
    assert not modules & set(evalkit.api.__all__)


@pytest.mark.parametrize("kind", ["metrics", "converters", "runners", "protocols"])
def test_every_listed_name_has_a_line_of_its_own(kind: str) -> None:
    lines = [row["about"] for row in evalkit.names(kind)]
    assert all(lines)
    assert len(set(lines)) == len(lines)


def test_want_of_a_gpu_is_said_and_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    (found,) = evalkit.doctor("gpu")
    assert (found.name, found.state) == ("gpu", "absent")


def test_bench_takes_its_folder_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    plans = []
    monkeypatch.setattr("evalkit.stages.bench.bench", plans.append)
    evalkit.bench("mini", ["tesseract"], out="runs/mine")
    assert plans[0].out == Path("runs/mine")
