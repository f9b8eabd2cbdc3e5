"""Answers of local parsers become predictions; a broken answer costs its page, with a reason."""

from __future__ import annotations

import json

import pytest

from evalkit.converters.parser_json import CONVERTER
from evalkit.types import BBox, FinishState, Page, RawOutput

PAGE = Page("a.png", "a")


def raw(text: str | None, reason: str | None = None) -> RawOutput:
    return RawOutput("a.png", text, FinishState.OK if text is not None else FinishState.ERROR, reason)


def test_markdown_and_blocks() -> None:
    answer = {"markdown": "# T", "blocks": [{"kind": "title", "bbox": [5, 2, 1, 4], "text": "T"}, {"bbox": [1, 2]}, 7]}
    found = CONVERTER.convert(raw(json.dumps(answer)), PAGE)
    assert found.markdown == "# T"
    assert [(block.kind, block.bbox) for block in found.blocks] == [("title", BBox(1, 2, 5, 4)), ("unknown", None)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "no answer"),
        ("", "not JSON"),
        ("{" * 100_000, "not JSON"),
        ("[1]", "no markdown"),
        ('{"markdown": null}', "no markdown"),
    ],
)
def test_a_broken_answer_has_a_reason(text: str | None, reason: str) -> None:
    found = CONVERTER.convert(raw(text, "no answer"), PAGE)
    assert found.markdown is None
    assert found.reason is not None
    assert reason in found.reason


@pytest.mark.parametrize("end", range(60))
def test_an_answer_cut_anywhere_never_raises(end: int) -> None:
    text = json.dumps({"markdown": "# T", "blocks": [{"kind": "title", "bbox": [1, 2, 3, 4]}]})
    assert CONVERTER.convert(raw(text[:end]), PAGE).page_id == "a.png"
