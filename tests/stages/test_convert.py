"""The convert stage: outputs and folders to predictions, stale files, stamps, and the verb."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalkit.cli import main
from evalkit.errors import UserError
from evalkit.requests_log import SCHEMA, VERSION
from evalkit.stages.convert import convert_folder, convert_outputs, read_predictions
from evalkit.store import write_jsonl
from evalkit.types import FinishState, Page, RawOutput

PAGES = [Page("a/p1.jpg", "a/p1", 100, 200), Page("b/p1.jpg", "b/p1", 100, 200), Page("q.PNG", "q", 100, 200)]
BLOCK = "<BLOCK>text [0, 0, 500, 500]<CHILD>"


def log(run: Path, *outputs: RawOutput) -> None:
    (run / "infer").mkdir(parents=True, exist_ok=True)
    write_jsonl(run / "infer" / "requests.jsonl", SCHEMA, VERSION, outputs)


def markdown(run: Path) -> dict[str, str]:
    folder = run / "convert" / "markdown"
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in folder.rglob("*.md")}


def test_outputs_become_markdown_and_blocks(tmp_path: Path) -> None:
    log(
        tmp_path,
        RawOutput("q.PNG", BLOCK + "third", FinishState.OK),
        RawOutput("a/p1.jpg", BLOCK + "first", FinishState.TRUNCATED),
        RawOutput("b/p1.jpg", BLOCK + "half an answ", FinishState.TIMEOUT),
    )
    report = convert_outputs(tmp_path, PAGES, "hpd")
    assert report.outcomes == {"converted": 2, "failed": 1}
    assert report.reasons == {"b/p1.jpg": "no output (timeout)"}
    assert markdown(tmp_path) == {"a/p1.md": "first", "q.md": "third"}
    predictions = read_predictions(tmp_path)
    assert [item.page_id for item in predictions] == [page.page_id for page in PAGES]
    assert predictions[0].blocks[0].bbox is not None
    assert predictions[0].blocks[0].bbox.y2 == 100
    assert predictions[0].blocks[0].source == (0, len(BLOCK) + 5)


def test_a_page_without_a_row_has_a_reason(tmp_path: Path) -> None:
    log(tmp_path)
    report = convert_outputs(tmp_path, PAGES[:1], "markdown")
    assert report.outcomes == {"failed": 1}
    assert "no row" in report.reasons["a/p1.jpg"]


def test_stale_markdown_is_never_left(tmp_path: Path) -> None:
    log(tmp_path, *(RawOutput(page.page_id, "old", FinishState.OK) for page in PAGES))
    convert_outputs(tmp_path, PAGES, "markdown")
    log(tmp_path, RawOutput("q.PNG", "new", FinishState.OK))
    convert_outputs(tmp_path, PAGES, "markdown")
    assert markdown(tmp_path) == {"q.md": "new"}


def test_current_stage_is_not_repeated_and_reruns_are_equal(tmp_path: Path) -> None:
    outputs = [RawOutput(page.page_id, BLOCK + "3 + 5 = 8", FinishState.OK) for page in PAGES]
    log(tmp_path, *outputs)
    first = convert_outputs(tmp_path, PAGES, "hpd")
    file = tmp_path / "convert" / "predictions.jsonl"
    before = (file.stat().st_mtime_ns, file.read_bytes())
    assert convert_outputs(tmp_path, PAGES, "hpd") == first
    assert (file.stat().st_mtime_ns, file.read_bytes()) == before
    convert_outputs(tmp_path, PAGES, "hpd", "clean")
    assert markdown(tmp_path)["q.md"] == "3 + 5 = 8"
    log(tmp_path, *reversed(outputs))
    convert_outputs(tmp_path, PAGES, "hpd")
    assert file.read_bytes() == before[1]


def test_lone_surrogates_do_not_stop_the_stage(tmp_path: Path) -> None:
    log(tmp_path, RawOutput("q.PNG", "a\ud800b", FinishState.OK))
    convert_outputs(tmp_path, PAGES[2:], "markdown")
    assert markdown(tmp_path) == {"q.md": "a?b"}


@pytest.mark.parametrize(
    ("converter", "variant", "message"),
    [("hdp", None, "Did you mean 'hpd'"), ("hpd", "clear", "Did you mean 'clean'")],
)
def test_unknown_names(tmp_path: Path, converter: str, variant: str | None, message: str) -> None:
    log(tmp_path)
    with pytest.raises(UserError, match=message):
        convert_outputs(tmp_path, PAGES, converter, variant)


def test_without_outputs(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        convert_outputs(tmp_path, PAGES, "hpd")


def test_folder_of_markdown(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "p1.md").write_text("text", encoding="utf-8")
    (folder / "q.PNG.md").write_bytes(b"\xff\xfe\x00binary")
    report = convert_folder(tmp_path / "run", PAGES, folder)
    assert report.outcomes == {"converted": 1, "failed": 2}
    assert report.reasons["b/p1.jpg"].startswith("missing")
    assert report.reasons["q.PNG"].startswith("unreadable: not UTF-8")
    assert markdown(tmp_path / "run") == {"a/p1.md": "text"}


def test_large_and_empty_files(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    with open(folder / "q.md", "wb") as file:
        file.truncate(50_000_000)
    (folder / "p1.md").write_text(" \n", encoding="utf-8")
    report = convert_folder(tmp_path / "run", [Page("p1.jpg", "p1"), PAGES[2]], folder)
    assert report.outcomes == {"empty": 1, "failed": 1}
    assert "50000000 bytes" in report.reasons["q.PNG"]


def test_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    log(run, RawOutput("en_blank_leaf.png", BLOCK + "leaf", FinishState.OK))
    code = main.main(["convert", str(run), "--dataset", "mini", "--converter", "hpd", "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert code == 3
    assert printed["outcomes"] == {"converted": 1, "failed": 27}
