"""Files of a run: atomic, versioned, and whole after a kill at any byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evalkit.errors import InvalidFileError, UserError
from evalkit.store import (
    JsonlAppender,
    dumps,
    is_current,
    locked,
    read_json,
    read_jsonl,
    to_plain,
    write_json,
    write_jsonl,
    write_stamp,
    write_text,
)
from evalkit.types import BBox, Block

SCHEMA = ("evalkit.test", 3)


def rows(path: Path) -> list[dict[str, object]]:
    return list(read_jsonl(path, *SCHEMA))


def test_records_become_plain_values() -> None:
    block = Block("title", text="T", bbox=BBox(1, 2, 3, 4), source=(0, 5))
    plain = to_plain(block)
    assert plain["bbox"] == {"x1": 1, "y1": 2, "x2": 3, "y2": 4}
    assert plain["source"] == [0, 5]
    assert plain["html"] is None


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps({"value": float("nan")})


@pytest.mark.parametrize("text", ["中文 ½", "\ud800 alone", "\u2028", "\x00"])
def test_any_text_survives_a_round_trip(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    write_jsonl(path, *SCHEMA, [{"text": text}])
    assert rows(path) == [{"text": text}]


def test_appended_rows_survive_a_cut_at_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with JsonlAppender(path, *SCHEMA) as log:
        for number in range(3):
            log.append({"number": number})
    whole = path.read_bytes()
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        kept = whole[:size].count(b"\n") - 1
        with JsonlAppender(path, *SCHEMA) as log:
            log.append({"number": "new"})
        assert [row["number"] for row in rows(path)] == [*range(max(kept, 0)), "new"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no header"),
        (b"no header line", "no header"),
        (
            b'{"schema": "evalkit.test", "version": 2}\n',
            "expected evalkit.test version 3, found evalkit.test version 2",
        ),
        (b"[]\n", "expected evalkit.test"),
        (b"not json\n", "not a JSON header"),
        (b'{"schema": "evalkit.test", "version": 3}\nnot json\n', "line 2: not valid JSON"),
        (b'{"schema": "evalkit.test", "version": 3}\n{}\n[1]\n', "line 3: expected an object"),
    ],
)
def test_broken_jsonl_is_named(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(InvalidFileError, match=message):
        rows(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        (b"{", "line 1, column 2: not valid JSON"),
        (b"\xff", "not UTF-8"),
        (b"[" * 100_000, "nested too deeply|not valid JSON"),
    ],
)
def test_broken_json_is_named(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "value.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_json(path)


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    path = tmp_path / "value.json"
    path.write_bytes(b"\xef\xbb\xbf[1]")
    assert read_json(path) == [1]


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "value.json"
    write_json(path, {"old": True})

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(UserError, match="No space left on device"):
        write_json(path, {"new": True})
    assert read_json(path) == {"old": True}
    assert [item.name for item in tmp_path.iterdir()] == ["value.json"]


def test_a_folder_that_cannot_be_made_is_a_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="cannot write"):
        write_text(tmp_path / "file" / "below.txt", "text")


def test_stamp_is_current_only_for_the_same_version_inputs_and_parameters(tmp_path: Path) -> None:
    write_stamp(tmp_path, 1, {"a": "00"}, {"workers": 2, "sizes": (1, 2)})
    assert is_current(tmp_path, 1, {"a": "00"}, {"workers": 2, "sizes": (1, 2)})
    assert not is_current(tmp_path, 2, {"a": "00"}, {"workers": 2, "sizes": (1, 2)})
    assert not is_current(tmp_path, 1, {"a": "01"}, {"workers": 2, "sizes": (1, 2)})
    assert not is_current(tmp_path, 1, {"a": "00"}, {"workers": 3, "sizes": (1, 2)})
    (tmp_path / "_done.json").write_text('{"cut')
    assert not is_current(tmp_path, 1, {"a": "00"}, {"workers": 2, "sizes": (1, 2)})


def test_two_processes_cannot_hold_one_run(tmp_path: Path) -> None:
    other = (
        "import sys, pathlib\n"
        "from evalkit.errors import UserError\n"
        "from evalkit.store import locked\n"
        "try:\n"
        "    with locked(pathlib.Path(sys.argv[1])): print('held')\n"
        "except UserError as error: print(error)\n"
    )

    def attempt() -> str:
        command = [sys.executable, "-c", other, str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    with locked(tmp_path):
        assert "another evalkit process" in attempt()
    assert attempt() == "held\n"


def test_stored_json_is_read_by_any_json_reader(tmp_path: Path) -> None:
    path = tmp_path / "value.json"
    write_json(path, {"text": "é", "list": (1, 2)})
    assert json.loads(path.read_text(encoding="utf-8")) == {"text": "é", "list": [1, 2]}
