"""JSON element lists: dots.ocr, MonkeyOCRv2 end to end, Youtu-Parsing-Omni, and OmniDocBench-style elements.

Sources: dots_ocr/utils of rednote-hilab/dots.ocr; parsing tests of MonkeyOCRv2; model card of Youtu-Parsing-Omni.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, sqrt
from typing import Any

from evalkit.converters.boxes import page_box
from evalkit.converters.json_objects import objects_in
from evalkit.converters.otsl import is_otsl, otsl_to_html
from evalkit.types import BBox, Block, Page, Prediction, RawOutput

LABEL_KEYS = ("category", "label", "category_type", "type")
BOX_KEYS = ("bbox", "box", "bbox_2d", "poly")
CONTENT_KEYS = ("text", "content", "html", "latex")
PICTURES = frozenset(["picture", "figure", "image", "chart", "flowchart", "geometric", "seal"])
FORMULAS = frozenset(["formula", "equation", "equation_isolated", "isolate_formula"])
OMNI_NUMBER = re.compile(r"<[xy]_(\d{1,6})>")


@dataclass(frozen=True, slots=True)
class Resize:
    """How a system resizes an image before it sees it: sides in multiples of `factor`, area within limits in px²."""

    factor: int
    min_px: int
    max_px: int

    def sides(self, width_px: int, height_px: int) -> tuple[int, int]:
        """Width and height in px that the system sees. Source: smart_resize of Qwen2-VL's image processor."""
        wide = max(self.factor, round(width_px / self.factor) * self.factor)
        tall = max(self.factor, round(height_px / self.factor) * self.factor)
        if wide * tall > self.max_px:
            scale = sqrt(width_px * height_px / self.max_px)
            return self._floor(width_px / scale), self._floor(height_px / scale)
        if wide * tall < self.min_px:
            scale = sqrt(self.min_px / (width_px * height_px))
            return self._ceil(width_px * scale), self._ceil(height_px * scale)
        return wide, tall

    def _floor(self, side: float) -> int:
        return max(self.factor, floor(side / self.factor) * self.factor)

    def _ceil(self, side: float) -> int:
        return ceil(side / self.factor) * self.factor


@dataclass(frozen=True, slots=True)
class ElementJson:
    """One JSON element format. Boxes are in 0 to `full`, or in px of the `resize`d image, or in px of the page.

    `left_out` are labels that stay out of the markdown, as the system's authors score it.
    """

    name: str
    about: str
    full: float | None = None
    resize: Resize | None = None
    left_out: frozenset[str] = frozenset()
    variants: tuple[str, ...] = ("official", "clean")

    def convert(self, raw: RawOutput, page: Page, variant: str = "official") -> Prediction:
        """Blocks in reading order and markdown; complete elements of a cut answer are kept."""
        if raw.text is None:
            return Prediction(page.page_id, None, reason=raw.reason or str(raw.state))
        blocks = tuple(block for row in _elements(raw.text) if (block := self._block(row, page)) is not None)
        if not blocks:
            return Prediction(page.page_id, "", reason="the answer holds no element")
        left_out = self.left_out if variant == "official" else frozenset()
        parts = [_markdown(block) for block in blocks if block.kind.lower() not in left_out]
        return Prediction(page.page_id, "\n\n".join(part for part in parts if part), blocks)

    def _block(self, row: Mapping[str, Any], page: Page) -> Block | None:
        label = next((row[key] for key in LABEL_KEYS if isinstance(row.get(key), str)), None)
        if label is None:
            return None
        box = self._box(_numbers(next((row[key] for key in BOX_KEYS if key in row), None)), page)
        content = _content_of(row)
        if label.lower() == "table":
            return Block(label, html=otsl_to_html(content) if is_otsl(content) else content, bbox=box)
        if label.lower() in FORMULAS:
            return Block(label, latex=_without_delimiters(content), bbox=box)
        return Block(label, text=content, bbox=box)

    def _box(self, numbers: Sequence[float] | None, page: Page) -> BBox | None:
        if numbers is None:
            return None
        if self.resize is None or page.width_px is None or page.height_px is None:
            return page_box(numbers, page, self.full)
        wide, tall = self.resize.sides(page.width_px, page.height_px)
        across, down = page.width_px / wide, page.height_px / tall
        x1, y1, x2, y2 = numbers
        return page_box((x1 * across, y1 * down, x2 * across, y2 * down), page, None)


def _elements(text: str) -> list[Mapping[str, Any]]:
    """Element rows of an answer; a wrapping object gives its `elements` in its `reading_order`."""
    rows: list[Mapping[str, Any]] = []
    for row in objects_in(text):
        elements = row.get("elements", row.get("layout_dets"))
        if isinstance(elements, list):
            rows += _ordered([item for item in elements if isinstance(item, dict)], row.get("reading_order"))
        else:
            rows.append(row)
    return rows


def _ordered(elements: list[Mapping[str, Any]], order: Any) -> list[Mapping[str, Any]]:
    """Elements by the ids of a reading order; those that it leaves out come last, as they stand."""
    if not isinstance(order, list):
        return elements
    place = {str(element_id): index for index, element_id in enumerate(order)}
    return sorted(elements, key=lambda element: place.get(str(element.get("id")), len(place)))


def _numbers(value: Any) -> list[float] | None:
    """Four numbers of a box in any of its spellings; None when it is no box."""
    if isinstance(value, str):
        value = [float(number) for number in OMNI_NUMBER.findall(value[:200])]
    if not isinstance(value, list) or not all(isinstance(item, int | float) for item in value):
        return None
    if len(value) == 8:
        return [min(value[::2]), min(value[1::2]), max(value[::2]), max(value[1::2])]
    return [float(item) for item in value] if len(value) == 4 else None


def _content_of(row: Mapping[str, Any]) -> str:
    content = next((row[key] for key in CONTENT_KEYS if row.get(key) is not None), "")
    if isinstance(content, dict):
        content = next((content[key] for key in ("html", "latex", "otsl", "markdown", "text") if content.get(key)), "")
    return content.strip() if isinstance(content, str) else ""


def _without_delimiters(text: str) -> str:
    for opening, closing in (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$")):
        if text.startswith(opening) and text.endswith(closing) and len(text) > len(opening) + len(closing):
            return text[len(opening) : -len(closing)].strip()
    return text


def _markdown(block: Block) -> str:
    if block.kind.lower() in PICTURES:
        return ""
    if block.latex is not None:
        return f"$$\n{block.latex}\n$$" if block.latex else ""
    return block.html or block.text or ""


DOTS = ElementJson(
    "dots_json",
    "JSON elements of dots.ocr; boxes in px of the image as the model sees it.",
    resize=Resize(factor=28, min_px=3136, max_px=11_289_600),
    left_out=frozenset({"page-header", "page-footer"}),
)
MONKEY = ElementJson("monkey_json", "JSON elements of MonkeyOCRv2; boxes in 0 to 1000.", full=1000)
YOUTU_OMNI = ElementJson("youtu_omni_json", "JSON elements of Youtu-Parsing-Omni; boxes in px of the page.")
OMNIDOCBENCH = ElementJson("element_json", "JSON elements in the style of OmniDocBench; boxes in px of the page.")
