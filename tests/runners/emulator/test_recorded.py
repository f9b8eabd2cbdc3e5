"""Recorded answers as they are read from their file."""

from __future__ import annotations

import json
from pathlib import Path

from runners.emulator.recorded import load_answers, read_rows


def test_a_row_ends_at_a_newline_and_nowhere_else(tmp_path: Path) -> None:
    text = "one\u2028two\u2029three\x85four\x0bfive\x1csix"
    row = {"page_id": "p", "image_sha256": "ab", "text": text, "tokens": {"input": 1, "output": 2}}
    path = tmp_path / "answers.jsonl"
    path.write_text('{"schema": "x"}\n' + json.dumps(row, ensure_ascii=False) + "\r\n\n", encoding="utf-8")
    assert [number for number, _ in read_rows(path)] == [2]
    assert load_answers(path).find("ab", "").text == text
