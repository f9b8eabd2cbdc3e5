"""Grounding tags (DeepSeek-OCR, Unlimited-OCR): a label and a box before each part.

    <|ref|>title<|/ref|><|det|>[[x1, y1, x2, y2]]<|/det|>

Source: post-processing of the DeepSeek-OCR repository as described in its README; coordinates are 0 to 999.
"""

from __future__ import annotations

import re

from evalkit.converters.boxes import page_box
from evalkit.types import Block, Page, Prediction, RawOutput

FULL = 999
LABELS = frozenset(
    [
        "title",
        "sub_title",
        "text",
        "image",
        "image_caption",
        "image_footnote",
        "table",
        "table_caption",
        "table_footnote",
        "equation",
        "formula",
        "code",
        "list",
        "header",
        "footer",
        "page_number",
        "reference",
        "footnote",
    ]
)
IMAGES = frozenset({"image", "figure", "chart"})
TAG = re.compile(r"<\|ref\|>(?P<ref>[^<]{0,200}?)<\|/ref\|>\s{0,8}<\|det\|>(?P<det>[^<]{0,2000}?)<\|/det\|>")
STRAY = re.compile(r"<\|/?(?:ref|det|grounding)\|>?")
NUMBER = re.compile(r"-?\d{1,6}(?:\.\d{1,6})?")
EQUATION_NUMBER = re.compile(r"\\quad\s{0,8}\([^()\\]{0,40}\)")
END_OF_TEXT = "<｜end▁of▁sentence｜>"


class Grounding:
    """Parts with a label and a box each; content runs to the next tag."""

    name = "grounding"
    variants = ("official", "clean")

    def convert(self, raw: RawOutput, page: Page, variant: str = "official") -> Prediction:
        """Blocks and markdown; text without any tag is one block without a box."""
        if raw.text is None:
            return Prediction(page.page_id, None, reason=raw.reason or str(raw.state))
        text = raw.text.replace(END_OF_TEXT, "")
        blocks = _blocks(text, page)
        parts = [_content(block, variant) for block in blocks if block.kind not in IMAGES]
        markdown = "\n\n".join(part for part in parts if part)
        return Prediction(page.page_id, re.sub(r"\n{3,}", "\n\n", markdown), tuple(blocks))


def _blocks(text: str, page: Page) -> list[Block]:
    tags = list(TAG.finditer(text))
    blocks = []
    before = text[: tags[0].start()] if tags else text
    if before.strip():
        blocks.append(Block("text", text=_without_tags(before), source=(0, len(before))))
    for index, tag in enumerate(tags):
        end = tags[index + 1].start() if index + 1 < len(tags) else len(text)
        blocks.append(_block(tag, text[tag.end() : end], (tag.start(), end), page))
    return blocks


def _block(tag: re.Match[str], content: str, source: tuple[int, int], page: Page) -> Block:
    label = tag["ref"].strip()
    numbers = [float(number) for number in NUMBER.findall(tag["det"])[:4]]
    box = page_box(numbers, page, FULL)
    content = _without_tags(content)
    if label not in LABELS and label not in IMAGES:  # the tag wraps words of the page
        return Block("text", text=f"{label}{content}", bbox=box, source=source)
    if label == "table" and "<table" in content:
        return Block(label, html=content, bbox=box, source=source)
    return Block(label, text=content, bbox=box, source=source)


def _without_tags(text: str) -> str:
    return STRAY.sub("", text).strip()


def _content(block: Block, variant: str) -> str:
    text = block.html or block.text or ""
    text = _without_equation_numbers(text)
    if variant == "clean" and block.html and text.count("<table") > text.count("</table>"):
        text += "</table>"
    return text


def _without_equation_numbers(text: str) -> str:
    """The text without `\\quad (n)` inside display formulas."""
    parts, at = [], 0
    while (start := text.find("\\[", at)) >= 0 and (end := text.find("\\]", start)) >= 0:
        parts += [text[at:start], EQUATION_NUMBER.sub("", text[start:end])]
        at = end
    return "".join(parts) + text[at:]


CONVERTER = Grounding()
