"""HTML pages (Logics-Parsing-v2): `div` and `p` with a class and `data-bbox`, to blocks and markdown.

Source: the OmniDocBench script and README of Logics-Parsing-v2; boxes are 0 to 1000.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser

from evalkit.converters.boxes import page_box
from evalkit.types import Block, Page, Prediction, RawOutput

FULL = 1000
DROPPED = frozenset({"image", "chart", "figure", "music"})
BLOCK_TAGS = frozenset({"div", "p", "h1", "h2", "h3", "h4", "h5", "h6", "section", "header", "footer"})
VOID = frozenset({"br", "img", "hr", "input", "meta", "link"})
MAX_DEPTH = 100


@dataclass(slots=True)
class _Part:
    kind: str
    box: str | None
    text: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    """Gathers one part for each outermost element that carries a box; tables keep their tags."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.parts: list[_Part] = []
        self._depth = 0  # open block tags inside the current part
        self._table = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = dict(attrs)
        if tag in BLOCK_TAGS and not self._table:
            if "data-bbox" in facts or not self.parts:
                kind = (facts.get("class") or ("title" if tag.startswith("h") and len(tag) == 2 else "text")).split()
                self.parts.append(_Part(kind[0] if kind else "text", facts.get("data-bbox")))
            elif self.parts[-1].text:
                self._write("\n\n")
            if tag.startswith("h") and len(tag) == 2:
                self._write("#" * int(tag[1]) + " ")
            return
        if tag == "table":
            self._table += 1
        if self._table and self._table <= MAX_DEPTH:
            self._write(self.get_starttag_text() or "")
        elif tag == "br":
            self._write("\n")

    def handle_endtag(self, tag: str) -> None:
        if self._table:
            self._write(f"</{tag}>")
            self._table -= tag == "table"

    def handle_data(self, data: str) -> None:
        self._write(data)

    def handle_entityref(self, name: str) -> None:
        self._write(f"&{name};" if self._table else unescape(f"&{name};"))

    def handle_charref(self, name: str) -> None:
        self._write(f"&#{name};" if self._table else unescape(f"&#{name};"))

    def _write(self, text: str) -> None:
        if not self.parts:
            if not text.strip():
                return
            self.parts.append(_Part("text", None))
        self.parts[-1].text.append(text)

    @property
    def open_tables(self) -> int:
        return self._table


class HtmlPage:
    """An HTML page whose elements carry class and box."""

    name = "html_page"
    variants = ("official", "clean")

    def convert(self, raw: RawOutput, page: Page, variant: str = "official") -> Prediction:
        """Blocks and markdown; `clean` also closes a table that a cut answer leaves open."""
        if raw.text is None:
            return Prediction(page.page_id, None, reason=raw.reason or str(raw.state))
        reader = _Reader()
        reader.feed(_without_cut_tag(raw.text))
        reader.close()
        if variant == "clean" and reader.open_tables:
            reader.parts[-1].text.append("</table>")
        blocks = tuple(_block(part, page) for part in reader.parts)
        parts = [_markdown(block) for block in blocks if block.kind not in DROPPED]
        return Prediction(page.page_id, "\n\n".join(part for part in parts if part), blocks)


def _without_cut_tag(text: str) -> str:
    """The text without a tag at its end that a cut answer never closes."""
    start = text.rfind("<")
    return text[:start] if start > text.rfind(">") else text


def _block(part: _Part, page: Page) -> Block:
    content = re.sub(r"\s+</td>", "</td>", "".join(part.text)).strip()
    numbers = [float(number) for number in re.findall(r"-?\d{1,6}(?:\.\d{1,4})?", (part.box or "")[:200])]
    box = page_box(numbers, page, FULL)
    if part.kind == "table":
        return Block(part.kind, html=content, bbox=box)
    if part.kind == "formula":
        return Block(part.kind, latex=content, bbox=box)
    return Block(part.kind, text=content, bbox=box)


def _markdown(block: Block) -> str:
    if block.latex is not None:
        body = block.latex.strip("$ \n")
        return f"$$\n{body}\n$$" if body else ""
    if block.kind in {"code", "pseudocode"} and block.text:
        return f"```code\n{block.text}\n```" if block.kind == "code" else block.text
    return block.html or block.text or ""


CONVERTER = HtmlPage()
