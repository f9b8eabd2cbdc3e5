"""`evalkit evaluate` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalkit.cli.main import main
from evalkit.store import write_json
from tests.protocols.official import page


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    blocks = [{"category_type": "text_block", "order": 1, "text": "A text of some words."}]
    write_json(tmp_path / "gt.json", [page("p.jpg", blocks)])
    (tmp_path / "pred").mkdir()
    (tmp_path / "pred" / "p.md").write_text("A text of some words.")
    return tmp_path


def test_table_and_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = ["--predictions", str(folder / "pred"), "--dataset", str(folder / "gt.json"), "--out", str(folder / "run")]
    assert main(["evaluate", *places, "--no-cdm"]) == 0
    shown = capsys.readouterr().out
    assert "TextEdit" in shown
    assert "0.000000" in shown
    assert main(["evaluate", *places, "--no-cdm", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["text_edit"]["page_avg"] == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param("", "give a RUN", id="nothing"),
        pytest.param("run", "give --dataset", id="run-without-record"),
        pytest.param("--predictions none --out run --dataset gt.json", "no such folder", id="no-folder"),
        pytest.param("--predictions pred --out run --dataset none.json", "none.json", id="no-data"),
        pytest.param(
            "--predictions pred --out run --dataset gt.json --protocol x", "Known: omnidocbench-1.6", id="protocol"
        ),
    ],
)
def test_user_errors(
    arguments: str,
    message: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    assert main(["evaluate", *arguments.split(), "--no-cdm"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "note"),
    [("p.md", None), ("q.md", "1 belong to no page and are not scored: q.md"), ("q.md", "expected names such as p.md")],
)
def test_files_of_no_page_are_named(
    name: str, note: str | None, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "pred" / "p.md").rename(folder / "pred" / name)
    places = ["--predictions", str(folder / "pred"), "--dataset", str(folder / "gt.json"), "--out", str(folder / "run")]
    assert main(["evaluate", *places, "--no-cdm"]) == (0 if name == "p.md" else 3)
    told = capsys.readouterr().err
    assert note in told if note else "note:" not in told


def test_a_wrong_folder_leaves_no_run_behind(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = ["--dataset", str(folder / "gt.json"), "--out", str(folder / "run")]
    assert main(["evaluate", "--predictions", str(folder / "none"), *places, "--no-cdm"]) == 2
    assert not (folder / "run").exists()


def test_a_folder_of_runs_names_its_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = ["--predictions", str(folder / "pred"), "--dataset", str(folder / "gt.json")]
    assert main(["evaluate", *places, "--out", str(folder / "runs" / "mine"), "--no-cdm"]) == 0
    assert main(["evaluate", str(folder / "runs")]) == 2
    assert "folder of runs (mine)" in capsys.readouterr().err


def test_a_metric_of_one_run_alone_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = ["--predictions", str(folder / "pred"), "--dataset", str(folder / "gt.json")]
    for name in ("one", "two"):
        assert main(["evaluate", *places, "--out", str(folder / name), "--no-cdm"]) == 0
    summary = json.loads((folder / "one" / "evaluate" / "summary.json").read_text())
    summary["metrics"]["formula_cdm"] = {"page_avg": 0.5}
    write_json(folder / "one" / "evaluate" / "summary.json", summary)
    capsys.readouterr()
    assert main(["compare", str(folder / "one"), str(folder / "two")]) == 0
    assert "scored on one side only, so not compared: formula_cdm" in capsys.readouterr().out
    assert main(["compare", str(folder / "one"), str(folder / "two"), "--html", str(folder / "html")]) == 0
    assert "so not compared: FormulaCDM." in (folder / "html" / "index.html").read_text()


def test_a_run_is_shown_without_its_long_tables(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = {
        "pps": {"value": 1.23456789, "unit": "pages/s", "provenance": "emulated"},
        "tps": {"value": None, "unit": "tokens/s", "provenance": "emulated", "reason": "no usage"},
    }
    checks = [{"name": "coverage", "passed": True}, {"name": "client_lag", "passed": None}]
    bench = {"figures": figures, "checks": checks, "buckets": {"hpd": {"edges": [0, 1000]}}, "groups": {}}
    write_json(folder / "run" / "bench" / "summary.json", bench)
    assert main(["show", str(folder / "run")]) == 0
    shown = capsys.readouterr().out
    assert "edges" not in shown
    assert "pps: 1.2346 pages/s (emulated)" in shown
    assert "tps: none: no usage" in shown
    assert "coverage: kept" in shown
    assert "client_lag: not checked" in shown
    assert "left out: buckets: see bench/summary.json" in shown
    assert main(["show", str(folder / "run"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bench"] == bench


def test_a_scored_folder_can_be_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = ["--predictions", str(folder / "pred"), "--dataset", str(folder / "gt.json"), "--out", str(folder / "run")]
    assert main(["evaluate", *places, "--no-cdm"]) == 0
    capsys.readouterr()
    assert main(["show", str(folder / "run"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["evaluate"]["pages"] == 1
