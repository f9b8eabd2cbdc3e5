"""Answers for the emulated server where none are recorded: block streams made from a data set's truth.

They exercise every stage on real page images. They measure no parser: whatever is scored on them is emulated, and
reports say so.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.dataset import Dataset
from evalkit.store import read_json, sha256_file, write_json, write_jsonl
from evalkit.token_rule import request_tokens, text_tokens
from evalkit.types import Block, BlockKind, GroundTruth, Page

SCHEMA, VERSION = "evalkit.recorded_streams", 1
MISREAD_EVERY = 300  # one letter in so many is read wrong, so that reports have differences to show
DEFAULT_PX = 1000
TYPES = {
    BlockKind.TITLE: "title",
    BlockKind.TEXT_BLOCK: "text",
    BlockKind.REFERENCE: "ref_text",
    BlockKind.LIST_GROUP: "text",
    BlockKind.HEADER: "header",
    BlockKind.FOOTER: "footer",
    BlockKind.PAGE_NUMBER: "page_number",
    BlockKind.PAGE_FOOTNOTE: "page_footnote",
    BlockKind.TABLE: "table",
    BlockKind.TABLE_CAPTION: "table_caption",
    BlockKind.TABLE_FOOTNOTE: "table_footnote",
    BlockKind.FIGURE: "image",
    BlockKind.FIGURE_CAPTION: "image_caption",
    BlockKind.FIGURE_FOOTNOTE: "image_footnote",
    BlockKind.EQUATION_ISOLATED: "equation",
    BlockKind.CODE_TXT: "code",
    BlockKind.CODE_TXT_CAPTION: "code_caption",
}


@dataclass(frozen=True, slots=True)
class _Said:
    header: str
    content: str | None


def write_truth_streams(dataset: Dataset, path: Path) -> Path:
    """Write a stream row for each page with an image; quick when the file is of this data set already."""
    mark = path.with_suffix(".source.json")
    source = {"dataset": dataset.sha256, "pages": len(dataset.pages), "version": VERSION}
    if path.exists() and mark.exists() and read_json(mark) == source:
        return path
    write_jsonl(path, SCHEMA, VERSION, _rows(dataset))
    write_json(mark, source)
    return path


def _rows(dataset: Dataset) -> Iterator[dict[str, Any]]:
    for truth in dataset.pages:
        image = dataset.image_path(truth)
        if image is not None:
            yield stream_row(truth, sha256_file(image))


def stream_row(truth: GroundTruth, image_sha256: str) -> dict[str, Any]:
    """The recorded stream of one page, forked and plain, with token counts by the plain rule."""
    said = list(_said(truth, random.Random(truth.page.page_id)))
    text = "".join(item.header + ("" if item.content is None else f"<CHILD>{item.content}") for item in said)
    page = truth.page
    size = (page.width_px or DEFAULT_PX, page.height_px or DEFAULT_PX)
    return {
        "page_id": page.page_id,
        "image_sha256": image_sha256,
        "fork": {"text": text, **_fork_counts(said, request_tokens(*size, "fork"))},
        "plain": {
            "text": text,
            "tokens": {"input": request_tokens(*size, "plain"), "output": text_tokens(text) + 1},
        },
    }


def _fork_counts(said: list[_Said], tokens_in: int) -> dict[str, Any]:
    layout: list[int] = []
    passed = 0
    for item in said:
        passed += text_tokens(item.header) + (item.content is not None)
        layout.append(passed)
    contents = [None if item.content is None else text_tokens(item.content) + 1 for item in said]
    output = passed + 1 + sum(count or 0 for count in contents)
    return {
        "tokens": {"input": tokens_in, "output": output},
        "layout_tokens": layout,
        "content_tokens": contents,
    }


def _said(truth: GroundTruth, chance: random.Random) -> Iterator[_Said]:
    for block in sorted(truth.blocks, key=_reading_position):
        kind = TYPES.get(BlockKind(block.kind)) if block.kind in set(BlockKind) else None
        if kind is None or block.ignore:
            continue
        content = None if kind == "image" else _misread(_content(block), chance)
        yield _Said(f"<BLOCK>{kind} [{_place(block, truth.page)}]", content)


def _reading_position(block: Block) -> tuple[float, float]:
    top = min(block.poly[1::2]) if block.poly else 0.0
    return (block.order if block.order is not None else float("inf"), top)


def _place(block: Block, page: Page) -> str:
    poly = block.poly or (0.0, 0.0, 1.0, 1.0)
    wide, tall = page.width_px or DEFAULT_PX, page.height_px or DEFAULT_PX
    sides = (min(poly[::2]) / wide, min(poly[1::2]) / tall, max(poly[::2]) / wide, max(poly[1::2]) / tall)
    return ", ".join(str(min(1000, max(0, round(side * 1000)))) for side in sides)


def _content(block: Block) -> str:
    if block.html:
        return _inline(block.html)
    if block.kind == BlockKind.EQUATION_ISOLATED:
        body = (block.latex or block.text or "").strip().removeprefix("$$").removesuffix("$$").strip()
        return f"\\[\n{body}\n\\]"
    if block.kind == BlockKind.CODE_TXT:
        return f"```\n{block.text or ''}\n```"
    return ("# " if block.kind == BlockKind.TITLE else "") + _inline(block.text or "")


def _inline(text: str) -> str:
    return re.sub(r"\$([^$\n]{1,2000})\$", lambda found: f"\\({found[1].strip()}\\)", text)


def _misread(text: str, chance: random.Random) -> str:
    """The text with one letter in MISREAD_EVERY changed; commands and tags are left alone."""

    def change(found: re.Match[str]) -> str:
        word = found[0]
        if chance.random() >= len(word) / MISREAD_EVERY:
            return word
        at = chance.randrange(len(word))
        return word[:at] + chance.choice("aeioucr") + word[at + 1 :]

    return re.sub(r"(?<![\\<&/A-Za-z])[A-Za-z]{4,}(?![A-Za-z]*[>=;])", change, text)
