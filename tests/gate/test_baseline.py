"""Baseline files: nothing is lost, damage is one clear message, the right one is found in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.baseline import (
    find_baseline,
    list_baselines,
    load_baseline_side,
    load_side,
    read_baseline,
    save_baseline,
)
from evalkit.errors import EvalkitError, InvalidFileError, NotComparableError, UserError
from evalkit.store import write_jsonl
from tests.gate.runs import figure, made_scores, write_run

ROWS = made_scores(20)
FIGURES = {"pps": figure(3.5, provenance="emulated"), "tps": figure(None, "tokens/s", reason="no usage")}


def saved(tmp_path: Path, **more: Any) -> Path:
    run = write_run(tmp_path / "run", ROWS, figures=FIGURES, **more)
    return save_baseline("main", [run], tmp_path / "baselines")


def test_a_baseline_is_the_run_again(tmp_path: Path) -> None:
    groups = {"content": [{"name": "table", "pages": 4, "latency_p50_s": 2.0, "provenance": "emulated"}]}
    path = saved(tmp_path, bench={"checks": [{"name": "c", "passed": None}], "states": {"ok": 20}, "groups": groups})
    run, read = load_side([tmp_path / "run"]), read_baseline(path)
    for name in run.__slots__:
        if name != "origin":
            assert getattr(read, name) == getattr(run, name), name


def test_lengths_and_latencies_come_from_the_requests(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", ROWS, figures=FIGURES)
    row = {"page_id": "p0003.png", "text": "x", "state": "ok", "send_s": 1.0, "last_s": 3.5, "tokens": {"output": 77}}
    write_jsonl(run / "infer" / "requests.jsonl", "evalkit.requests", 1, [row])
    read = read_baseline(save_baseline("main", [run], tmp_path / "baselines"))
    assert (read.pages[3].output_tokens, read.pages[3].latency_s) == (77, 2.5)
    assert (read.pages[4].output_tokens, read.pages[4].latency_s) == (None, None)


def test_the_file_has_a_line_a_page_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    path = saved(tmp_path)
    before = path.read_bytes()
    assert sum(line.startswith(b"    [") for line in before.splitlines()) == 20
    save_baseline("main", [tmp_path / "run"], tmp_path / "baselines", replace=True)
    assert path.read_bytes() == before
    assert len(before) < 300 * 20 + 3000


def test_repeats_are_kept(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / f"run{n}", ROWS if n == 0 else None, figures={"pps": figure(3.0 + n)}) for n in range(3)
    ]
    read = read_baseline(save_baseline("main", runs, tmp_path / "baselines"))
    assert [run.figures["pps"].value for run in read.speed] == [3.0, 4.0, 5.0]
    assert len(read.pages) == 20


def test_a_baseline_is_not_written_over_unasked(tmp_path: Path) -> None:
    saved(tmp_path)
    with pytest.raises(UserError, match="exists already; give --replace"):
        save_baseline("main", [tmp_path / "run"], tmp_path / "baselines")


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "x" * 200])
def test_names_that_are_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="is no name for a baseline"):
        save_baseline(name, [tmp_path], tmp_path)


DAMAGE: list[tuple[str, Any, str]] = [
    ("cut short", lambda text: text[: len(text) // 2], "a whole one is written by `evalkit baseline save`"),
    ("no baseline", lambda text: '{"a": 1}', "not a baseline; write one with `evalkit baseline save NAME RUN`"),
    ("a list", lambda text: "[]", "not a baseline"),
    (
        "of another version",
        lambda text: text.replace('"version": 1', '"version": 7', 1),
        "baseline of version 7, this evalkit reads version 1; run `evalkit baseline save --replace`",
    ),
    ("without a key", lambda text: text.replace('"emulated"', '"emu"', 1), "KeyError"),
    ("page of odd length", lambda text: text.replace('["p0000.png", ', "[", 1), "ValueError"),
    ("speed is text", lambda text: text.replace('"speed": [', '"speed": ["x", ', 1), "TypeError"),
]


@pytest.mark.parametrize(("damage", "message"), [row[1:] for row in DAMAGE], ids=[row[0] for row in DAMAGE])
def test_damaged_files_are_one_clear_message(tmp_path: Path, damage: Any, message: str) -> None:
    path = saved(tmp_path)
    path.write_text(damage(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(InvalidFileError) as raised:
        read_baseline(path)
    assert message in str(raised.value)


def test_a_missing_baseline(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        read_baseline(tmp_path / "none.json")


@pytest.mark.parametrize("value", ["0.5", float("nan"), True])
def test_a_score_that_is_no_number_is_named(tmp_path: Path, value: Any) -> None:
    path = saved(tmp_path)
    plain = json.loads(path.read_text(encoding="utf-8"))
    plain["pages"][2][plain["columns"].index("value:text_edit")] = value
    path.write_text(json.dumps(plain), encoding="utf-8")
    with pytest.raises(InvalidFileError, match=r"p0002.png: text_edit is no finite number"):
        read_baseline(path)


def test_listing_names_what_cannot_be_read(tmp_path: Path) -> None:
    path = saved(tmp_path)
    (path.parent / "broken.json").write_text("{", encoding="utf-8")
    found = dict(list_baselines(path.parent))
    assert list(found) == ["broken", "main"]
    assert isinstance(found["broken"], str)


def test_finding_by_name_or_path(tmp_path: Path) -> None:
    path = saved(tmp_path)
    assert find_baseline("main", path.parent) == path
    assert find_baseline(str(path)) == path
    with pytest.raises(UserError, match="Did you mean 'main'"):
        find_baseline("mian", path.parent)


def test_the_baseline_of_a_folder_with_the_candidates_data_and_system(tmp_path: Path) -> None:
    folder = tmp_path / "baselines"
    runs = {name: write_run(tmp_path / name, ROWS, system=name) for name in ("one", "two")}
    for name, run in runs.items():
        save_baseline(name, [run], folder)
    candidate = load_side([runs["two"]])
    assert load_baseline_side([folder], candidate).run_id == "two"
    stranger = load_side([write_run(tmp_path / "three", ROWS, system="three")])
    with pytest.raises(NotComparableError, match="0 baselines are of three"):
        load_baseline_side([folder], stranger)
    save_baseline("again", [runs["two"]], folder)
    with pytest.raises(NotComparableError, match="2 baselines are of two"):
        load_baseline_side([folder], candidate)


def test_a_run_folder_is_a_baseline_too(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", ROWS)
    assert load_baseline_side([run], load_side([run])).run_id == "run"


def test_a_file_holds_its_repeats_alone(tmp_path: Path) -> None:
    path = saved(tmp_path)
    with pytest.raises(EvalkitError, match="give it alone"):
        load_side([path, tmp_path / "run"])
