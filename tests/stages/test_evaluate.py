"""The evaluate stage: files, states of pages, counts, determinism, and repeats."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evalkit import executor
from evalkit.api import evaluate
from evalkit.dataset import load_dataset
from evalkit.errors import NotComparableError, UserError
from evalkit.stages import evaluate as stage
from evalkit.stages.evaluate import evaluate as evaluate_stage
from evalkit.stages.evaluate import read_summary
from evalkit.store import read_json, read_jsonl, write_json, write_jsonl
from evalkit.types import Prediction, Summary
from tests.protocols.official import page

TEXT = "The quick brown fox jumps over the lazy dog near the river bank."
TABLE = "<table><tr><td>year</td><td>sales</td></tr></table>"
FORMULA = "$$a^{2}+b^{2}=c^{2}$$"


def blocks() -> list[dict[str, Any]]:
    return [
        {"category_type": "text_block", "order": 1, "text": TEXT},
        {"category_type": "table", "order": 2, "html": TABLE},
        {"category_type": "equation_isolated", "order": 3, "latex": FORMULA},
    ]


def make(folder: Path, predictions: Mapping[str, str | bytes], names: list[str] | None = None) -> Path:
    """A data set of pages with one text, table and formula each, and a folder of predictions."""
    pages = [page(name, blocks()) for name in names or [f"p{number}.jpg" for number in range(len(predictions))]]
    write_json(folder / "gt.json", pages)
    (folder / "pred").mkdir(exist_ok=True)
    for name, text in predictions.items():
        data = text.encode() if isinstance(text, str) else text
        (folder / "pred" / name).write_bytes(data)
    return folder


def score(folder: Path, **options: Any) -> Summary:
    return evaluate(folder / "pred", folder / "gt.json", out=folder / "run", cdm=False, **options)


GOOD = f"{TEXT}\n\n{TABLE}\n\n{FORMULA}\n"


def test_summary_file_holds_every_metric_by_average(tmp_path: Path) -> None:
    score(make(tmp_path, {"p0.md": GOOD}))
    row = read_json(tmp_path / "run" / "evaluate" / "summary.json")
    assert row["pages"] == 1
    assert row["protocol"] == "omnidocbench-1.6"
    assert row["overall"] is None, "without CDM there is no overall figure"
    assert f"data:gt@{load_dataset(tmp_path / 'gt.json').sha256[:12]}" in row["signature"]
    metrics = row["metrics"]
    assert list(metrics) == [
        *("text_edit", "formula_edit", "formula_cdm", "table_teds", "table_teds_s", "table_edit", "read_order_edit")
    ]
    for name in ("text_edit", "formula_edit", "table_edit"):
        assert (metrics[name]["page_avg"], metrics[name]["sample_avg"], metrics[name]["whole"]) == (0.0, 0.0, 0.0)
    for name in ("table_teds", "table_teds_s"):
        assert (metrics[name]["page_avg"], metrics[name]["sample_avg"], metrics[name]["whole"]) == (1.0, 1.0, None)
    assert metrics["formula_cdm"]["page_avg"] is None
    assert metrics["formula_cdm"]["reason"] == "not_scored"


def test_pairs_and_scores_have_one_row_each(tmp_path: Path) -> None:
    score(make(tmp_path, {"p0.md": GOOD, "p1.md": ""}))
    folder = tmp_path / "run" / "evaluate"
    pairs = list(read_jsonl(folder / "pairs.jsonl", "evalkit.pairs", 1))
    scores = list(read_jsonl(folder / "pair_scores.jsonl", "evalkit.pair_scores", 1))
    pages = list(read_jsonl(folder / "page_scores.jsonl", "evalkit.page_scores", 1))
    assert [row["pair"] for row in scores] == list(range(len(pairs)))
    assert [row["element"] for row in scores] == [row["element"] for row in pairs]
    assert [(row["page_id"], row["prediction_state"]) for row in pages] == [("p0.jpg", "ok"), ("p1.jpg", "empty")]
    assert pages[1]["values"]["table_teds"] == 0.0


@pytest.mark.parametrize(
    ("prediction", "state"),
    [
        pytest.param(None, "missing", id="missing"),
        pytest.param(b"", "empty", id="empty"),
        pytest.param(b"\xff\xfe", "unreadable", id="not-utf8"),
        pytest.param(b"x" * 5_000_000, "oversized", id="oversized"),
    ],
)
def test_a_page_without_a_usable_prediction_is_scored_as_empty_and_counted(
    prediction: bytes | None, state: str, tmp_path: Path
) -> None:
    files: dict[str, str | bytes] = {"p0.md": GOOD}
    if prediction is not None:
        files["p1.md"] = prediction
    summary = score(make(tmp_path, files, ["p0.jpg", "p1.jpg"]))
    assert summary.counts["ok_pages"] == 1
    assert summary.counts[f"{state}_pages"] == 1
    assert summary.details["pages_by_state"] == {state: ["p1.jpg"]}
    assert summary.metrics["text_edit"].page_avg == 0.5
    assert summary.metrics["table_teds"].page_avg == 0.5


def test_what_is_predicted_in_vain_is_counted(tmp_path: Path) -> None:
    extra = "Invented closing words about rocket exports.\n\n$$x=1$$\n\n<table><tr><td>no</td></tr></table>"
    summary = score(make(tmp_path, {"p0.md": f"{GOOD}\n{extra}\n", "p1.md": f"{GOOD}\n" + "over and over " * 40}))
    assert summary.metrics["text_edit"].page_avg == 0.0
    assert summary.counts["extra_formulas"] == 1
    assert summary.counts["extra_tables"] == 1
    assert summary.counts["unmatched_pred_chars"] > 30
    assert summary.details["flagged_pages"] == {"loop_pages": ["p1.jpg"]}


def test_a_finished_stage_is_read_and_not_repeated(tmp_path: Path) -> None:
    first = score(make(tmp_path, {"p0.md": GOOD}))
    summary = tmp_path / "run" / "evaluate" / "summary.json"
    before = summary.stat().st_mtime_ns
    assert score(tmp_path) == first == read_summary(summary)
    assert summary.stat().st_mtime_ns == before
    (tmp_path / "pred" / "p0.md").write_text("other")
    assert score(tmp_path) != first


def test_unused_files_do_not_make_a_stage_stale(tmp_path: Path) -> None:
    score(make(tmp_path, {"p0.md": GOOD}))
    stamp = tmp_path / "run" / "evaluate" / "_done.json"
    before = stamp.stat().st_mtime_ns
    (tmp_path / "pred" / "notes.md").write_text("not a page")
    score(tmp_path)
    assert stamp.stat().st_mtime_ns == before


def many_pages(folder: Path) -> dict[str, str]:
    files = {f"p{number}.md": GOOD.replace("fox", f"fox {number}") * (1 + number % 3) for number in range(20)}
    make(folder, files)
    return files


def written(run: Path) -> dict[str, bytes]:
    found = {file.name: file.read_bytes() for file in sorted((run / "evaluate").rglob("*.json*"))}
    assert len(found) == 10
    return found


def test_bytes_do_not_depend_on_workers_nor_on_file_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = many_pages(tmp_path)
    monkeypatch.setattr(executor, "WORTH_A_WORKER_S", 1e-9)
    (tmp_path / "turned").mkdir()
    for name in reversed(files):
        (tmp_path / "turned" / name).write_text(files[name])
    evaluate(tmp_path / "pred", tmp_path / "gt.json", out=tmp_path / "one", cdm=False, workers=1)
    evaluate(tmp_path / "turned", tmp_path / "gt.json", out=tmp_path / "two", cdm=False, workers=2)
    assert written(tmp_path / "one") == written(tmp_path / "two")


def test_bytes_do_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    many_pages(tmp_path)
    places = ["--predictions", str(tmp_path / "pred"), "--dataset", str(tmp_path / "gt.json"), "--no-cdm"]
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "evalkit.cli.main", "evaluate", *places, "--out", str(tmp_path / seed)]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed})
    assert written(tmp_path / "1") == written(tmp_path / "2")


def test_pages_with_one_base_name_are_kept_apart(tmp_path: Path) -> None:
    make(tmp_path, {}, ["a/p.jpg", "b/p.jpg"])
    for folder, text in (("a", GOOD), ("b", "")):
        (tmp_path / "pred" / folder).mkdir()
        (tmp_path / "pred" / folder / "p.md").write_text(text)
    assert score(tmp_path).metrics["text_edit"].page_avg == 0.5
    rows = read_json(tmp_path / "run" / "evaluate" / "official" / "text_block_result.json")
    assert [row["img_id"] for row in rows] == ["a/p.jpg", "b/p.jpg"]


def test_a_run_is_scored_from_its_convert_stage_with_its_reasons(tmp_path: Path) -> None:
    make(tmp_path, {}, ["p0.jpg", "p1.jpg", "p2.jpg"])
    convert = tmp_path / "run" / "convert"
    (convert / "markdown").mkdir(parents=True)
    (convert / "markdown" / "p0.md").write_text(GOOD)
    rows = [
        Prediction("p0.jpg", GOOD),
        Prediction("p1.jpg", None, reason="no output (timeout)"),
        Prediction("p2.jpg", None, reason="missing: no prediction file"),
    ]
    write_jsonl(convert / "predictions.jsonl", "evalkit.predictions", 1, rows)
    summary = evaluate(tmp_path / "run", tmp_path / "gt.json", out=tmp_path / "run", cdm=False)
    assert summary.details["pages_by_state"] == {"failed": ["p1.jpg"], "missing": ["p2.jpg"]}
    assert summary.details["reasons"]["p1.jpg"] == "no output (timeout)"


class Crashing:
    """A protocol that cannot score one page with a prediction."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def configured(self, _: Mapping[str, str]) -> Crashing:
        return self

    def score_page(self, prepared: Any, page_id: str, markdown: str) -> Any:
        if page_id == "p1.jpg" and markdown:
            raise RuntimeError("cannot")
        return self._inner.score_page(prepared, page_id, markdown)


def test_a_page_that_cannot_be_scored_costs_that_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from evalkit.protocols.omnidocbench_v16 import protocol

    monkeypatch.setattr(protocol, "PROTOCOL", Crashing(protocol.PROTOCOL))
    make(tmp_path, {"p0.md": GOOD, "p1.md": GOOD})
    summary = evaluate_stage(
        tmp_path / "pred", load_dataset(tmp_path / "gt.json"), tmp_path / "run", cdm=False, workers=1
    )
    assert summary.details["pages_by_state"] == {"crashed": ["p1.jpg"]}
    assert summary.details["reasons"] == {"p1.jpg": "RuntimeError: cannot"}
    assert summary.metrics["text_edit"].page_avg == 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"protocol": "omnidocbench"}, "unknown protocol 'omnidocbench'", id="protocol"),
        pytest.param({"options": {"latex_tables": "pandoc"}}, "unknown value of latex_tables", id="converter"),
        pytest.param({"options": {"match": "simple"}}, "unknown option of the protocol", id="option"),
        pytest.param({"workers": 0}, "--workers must be 1 or more", id="workers"),
    ],
)
def test_unknown_settings_are_refused(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    make(tmp_path, {"p0.md": GOOD})
    with pytest.raises(UserError, match=message):
        score(tmp_path, **options)
    assert not (tmp_path / "run" / "evaluate").exists()


def test_a_new_run_is_recorded_under_the_name_of_its_predictions(tmp_path: Path) -> None:
    make(tmp_path, {"p0.md": GOOD})
    score(tmp_path)
    record = read_json(tmp_path / "run" / "run.json")
    assert (record["title"], record["system"], record["dataset"]["name"]) == ("pred", None, "gt")


def test_a_run_is_not_scored_against_another_data_set(tmp_path: Path) -> None:
    make(tmp_path, {"p0.md": GOOD})
    before = score(tmp_path)
    (tmp_path / "gt.json").write_text((tmp_path / "gt.json").read_text() + " ")
    with pytest.raises(NotComparableError, match=r"run of the data set gt .*Choose another --out"):
        score(tmp_path)
    assert read_summary(tmp_path / "run" / "evaluate" / "summary.json") == before


def test_nothing_is_kept_without_a_folder(tmp_path: Path) -> None:
    make(tmp_path, {"p0.md": GOOD})
    summary = evaluate(tmp_path / "pred", tmp_path / "gt.json", cdm=False)
    assert summary.metrics["text_edit"].page_avg == 0.0
    assert json.dumps(sorted(item.name for item in tmp_path.iterdir())) == '["gt.json", "pred"]'


def test_a_stage_cut_short_is_never_current(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make(tmp_path, {"p0.md": GOOD})
    score(folder)

    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    (folder / "pred" / "p0.md").write_text("something else")
    with monkeypatch.context() as patched:
        patched.setattr(stage, "write_json", cut)  # after the first files of the second scoring
        with pytest.raises(KeyboardInterrupt):
            score(folder)
    (folder / "pred" / "p0.md").write_text(GOOD)
    score(folder)
    rows = list(read_jsonl(folder / "run" / "evaluate" / "page_scores.jsonl", "evalkit.page_scores", 1))
    assert [row["values"]["text_edit"] for row in rows] == [0.0]


@pytest.mark.parametrize("left", ["infer", "convert/markdown"])
def test_a_run_that_is_not_converted_is_not_scored_as_empty(left: str, tmp_path: Path) -> None:
    folder = make(tmp_path, {"p0.md": GOOD})
    (folder / "run" / left).mkdir(parents=True)
    with pytest.raises(NotComparableError, match="go on with: evalkit convert RUN"):
        evaluate(folder / "run", folder / "gt.json", out=folder / "run", cdm=False)


@pytest.mark.parametrize("spoilt", [None, "[]", "{}", '{"metrics": 5}', '{"metrics": {"text_edit": {"x": 1}}}', "{"])
def test_a_summary_removed_or_spoilt_is_made_again(spoilt: str | None, tmp_path: Path) -> None:
    folder = make(tmp_path, {"p0.md": GOOD})
    before = score(folder)
    path = folder / "run" / "evaluate" / "summary.json"
    path.unlink() if spoilt is None else path.write_text(spoilt)
    assert score(folder) == before
    assert read_summary(path) == before
