"""What a parser would have answered for each page: block streams with token counts, some of them faulty."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from evalkit.token_rule import request_tokens, text_tokens

from .sheet import Sheet, box_of
from .table import html_of

HEADER = {"schema": "evalkit.recorded_streams", "version": 1}
TYPES = {
    "title": "title",
    "text_block": "text",
    "reference": "ref_text",
    "header": "header",
    "footer": "footer",
    "page_number": "page_number",
    "page_footnote": "page_footnote",
    "table": "table",
    "table_caption": "table_caption",
    "table_footnote": "table_footnote",
    "figure": "image",
    "figure_caption": "image_caption",
    "equation_isolated": "equation",
    "code_txt": "code",
    "code_txt_caption": "code_caption",
}
BOTTOM = ("page_footnote", "footer", "page_number")


@dataclass(frozen=True, slots=True)
class Said:
    """One block of a stream. `content` is None for a block without a branch; `place` is the box as written."""

    kind: str
    place: str
    content: str | None
    lost: bool = False

    @property
    def header(self) -> str:
        """The layout part: marker, type and box."""
        return f"<BLOCK>{self.kind} [{self.place}]"


Fault = Callable[[list[Said]], list[Said]]


def stream_row(sheet: Sheet, image_sha256: str) -> dict[str, Any]:
    """The row of a page in streams.jsonl."""
    said = _blocks(sheet)
    fork = FAULTS.get((sheet.name, "fork"), _none)(_misread(said, f"{sheet.name} fork", 400))
    plain = FAULTS.get((sheet.name, "plain"), _none)(_misread(said, f"{sheet.name} plain", 300))
    size = sheet.width, sheet.height
    return {
        "page_id": sheet.name,
        "image_sha256": image_sha256,
        "fork": _fork(fork, request_tokens(*size, "fork")),
        "plain": _plain(plain, request_tokens(*size, "plain")),
    }


def _fork(said: list[Said], tokens_in: int) -> dict[str, Any]:
    layout: list[int] = []
    contents: list[int | None] = []
    passed = 0
    for block in said:
        has_branch = block.content is not None or block.lost
        passed += text_tokens(block.header) + (1 if has_branch else 0)
        layout.append(passed)
        contents.append(None if block.content is None else text_tokens(block.content) + 1)
    total = passed + 1 + sum(count or 0 for count in contents)
    return {
        "text": _text(said),
        "tokens": {"input": tokens_in, "output": total},
        "layout_tokens": layout,
        "content_tokens": contents,
    }


def _plain(said: list[Said], tokens_in: int) -> dict[str, Any]:
    text = _text(said)
    return {"text": text, "tokens": {"input": tokens_in, "output": text_tokens(text) + 1}}


def _text(said: list[Said]) -> str:
    parts = []
    for block in said:
        ending = "<FORK>" if block.lost else "" if block.content is None else f"<CHILD>{block.content}"
        parts.append(block.header + ending)
    return "".join(parts)


def _blocks(sheet: Sheet) -> list[Said]:
    top = [block for block in sheet.blocks if block["category_type"] == "header"]
    body = sorted((block for block in sheet.blocks if block["order"] is not None), key=lambda block: block["order"])
    bottom = [block for kind in BOTTOM for block in sheet.blocks if block["category_type"] == kind]
    said: list[Said] = []
    for block in [*top, *body, *bottom]:
        if block["category_type"] == "equation_caption":
            said[-1] = replace(said[-1], content=_tagged(said[-1].content or "", block["text"]))
            continue
        place = _place(block, sheet)
        if "merge_list" in block:
            said.append(Said("list", place, None))
            said += [Said("text", _place(part, sheet), _inline(part["text"])) for part in block["merge_list"]]
        else:
            said.append(Said(TYPES[block["category_type"]], place, _content(block)))
    return said


def _place(block: dict[str, Any], sheet: Sheet) -> str:
    x1, y1, x2, y2 = box_of(block["poly"])
    scaled = (x1 / sheet.width, y1 / sheet.height, x2 / sheet.width, y2 / sheet.height)
    return ", ".join(str(min(1000, max(0, round(value * 1000)))) for value in scaled)


def _content(block: dict[str, Any]) -> str | None:
    kind = block["category_type"]
    if kind == "figure":
        return None
    if kind == "table":
        return _inline(html_of(block["_grid"], quoted=False))
    if kind == "equation_isolated":
        latex: str = block["latex"]
        return latex.replace("$$\n", "\\[\n").replace("\n$$", "\n\\]")
    if kind == "code_txt":
        return f"```\n{block['text']}\n```"
    return ("# " if kind == "title" else "") + _inline(block["text"])


def _inline(text: str) -> str:
    return re.sub(r"\$([^$]*)\$", lambda found: f"\\({found[1].strip()}\\)", text)


def _tagged(content: str, number: str) -> str:
    return content.replace("\n\\]", f" \\tag{{{number.strip('()')}}}\n\\]")


_CONFUSED = {
    "rn": "m",
    "l": "1",
    "cl": "d",
    "e": "c",
    "未": "末",
    "日": "曰",
    "已": "己",
    "人": "入",
    "土": "士",
    "。": "．",
}


def _misread(said: list[Said], seed: str, one_in: int) -> list[Said]:
    """Confuse a letter here and there in prose, as recognition does; the choice depends on the seed alone."""
    seen = 0

    def confuse(found: re.Match[str]) -> str:
        nonlocal seen
        seen += 1
        digest = hashlib.sha256(f"{seed} {seen}".encode()).digest()
        return _CONFUSED[found[0]] if int.from_bytes(digest[:4], "big") % one_in == 0 else found[0]

    pattern = re.compile("|".join(_CONFUSED))
    prose = ("text", "ref_text", "header", "footer", "image_caption", "table_caption")
    return [
        replace(block, content=pattern.sub(confuse, block.content))
        if block.content is not None and block.kind in prose and "\\(" not in block.content
        else block
        for block in said
    ]


def _none(said: list[Said]) -> list[Said]:
    return said


def _at(said: list[Said], kind: str, number: int = 0) -> int:
    return [place for place, block in enumerate(said) if block.kind == kind][number]


def _changed(said: list[Said], at: int, **changes: Any) -> list[Said]:
    return [*said[:at], replace(said[at], **changes), *said[at + 1 :]]


def _cut(kind: str, share: float, number: int = 0) -> Fault:
    """The branch of one block ends early."""

    def fault(said: list[Said]) -> list[Said]:
        place = _at(said, kind, number)
        content = said[place].content or ""
        return _changed(said, place, content=content[: round(len(content) * share)])

    return fault


def _stop(kind: str, share: float) -> Fault:
    """The whole answer ends within one block, as at the token limit."""

    def fault(said: list[Said]) -> list[Said]:
        return _cut(kind, share)(said)[: _at(said, kind) + 1]

    return fault


def _dropped(kind: str, number: int) -> Fault:
    """A block is missing."""

    def fault(said: list[Said]) -> list[Said]:
        place = _at(said, kind, number)
        return [*said[:place], *said[place + 1 :]]

    return fault


def _swapped(kind: str, number: int) -> Fault:
    """Two neighbours are in the wrong order."""

    def fault(said: list[Said]) -> list[Said]:
        place = _at(said, kind, number)
        return [*said[:place], said[place + 1], said[place], *said[place + 2 :]]

    return fault


def _lost(kind: str, number: int) -> Fault:
    """A branch never came back: the fork marker stays in the stream."""

    def fault(said: list[Said]) -> list[Said]:
        return _changed(said, _at(said, kind, number), content=None, lost=True)

    return fault


def _boxed(kind: str, number: int, place: str) -> Fault:
    """A box is malformed."""

    def fault(said: list[Said]) -> list[Said]:
        return _changed(said, _at(said, kind, number), place=place)

    return fault


def _said(kind: str, number: int, edit: Callable[[str], str]) -> Fault:
    """A block says something else."""

    def fault(said: list[Said]) -> list[Said]:
        place = _at(said, kind, number)
        return _changed(said, place, content=edit(said[place].content or ""))

    return fault


def _both(first: Fault, second: Fault) -> Fault:
    return lambda said: second(first(said))


_BLURRED = "The image is too blurry to recognize any text content."

FAULTS: dict[tuple[str, str], Fault] = {
    ("en_report_sales.png", "fork"): _cut("table", 0.6),
    ("en_report_sales.png", "plain"): _stop("table", 0.8),
    ("en_newspaper_messenger.png", "fork"): _dropped("text", 4),
    ("en_newspaper_messenger.png", "plain"): _swapped("text", 6),
    ("en_magazine_branch_line.jpg", "fork"): _lost("text", 2),
    ("en_index_dense.png", "fork"): _said("text", 40, lambda text: text + "; in winter, 88-89" * 160),
    ("en_index_dense.png", "plain"): _both(
        _said("text", 30, lambda text: text + "; see also tide, 12-13" * 220),
        lambda said: said[: _at(said, "text", 30) + 1],
    ),
    ("zh_newspaper_daily.png", "fork"): _boxed("text", 3, "36, 404, 331"),
    ("zh_newspaper_daily.png", "plain"): _boxed("title", 1, "left, 404, 331, 420"),
    ("en_textbook_spring.png", "fork"): _cut("equation", 0.7, 1),
    ("zh_article_bridge.png", "plain"): _cut("equation", 0.5, 1),
    ("zh_manual_mixed.png", "fork"): _said("text", 2, lambda text: f"{text}<FORK>text [110, 300, 890, 320]<CHILD>"),
    ("en_blank_leaf.png", "plain"): _said("text", 0, lambda _: _BLURRED),
    ("en_scan_letter.jpg", "plain"): _said("footer", 0, lambda _: "[Non-Text]"),
    ("zh_form_volunteer.png", "fork"): _said("table", 0, lambda text: text.replace("<table>", "<table border=1>")[:-8]),
    ("en_article_references.png", "fork"): _swapped("ref_text", 8),
    ("zh_textbook_water.png", "plain"): lambda said: [*said[:3], *said[3:4], *said[3:]],
    ("zh_scan_notice.jpg", "fork"): lambda said: _misread(_misread(said, "worse", 6), "worst", 9),
    ("en_scan_letter.jpg", "fork"): lambda said: _misread(said, "worse", 25),
}
