"""The parser `rapid-stack`: RapidOCR lines, rapid-layout regions and rapid-table structure, offline on CPU."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from evalkit.types import BBox, Block
from runners.parsers.lines import TextLine, paragraphs
from runners.parsers.regions import Region, assemble

MARGIN_PX = 6  # white space kept around a table that is cut out for the table model


class RapidStack:
    """Loads the models once, then turns page images into markdown and blocks."""

    name = "rapid-stack"

    def __init__(self, threads: int = 1) -> None:
        logging.disable(logging.WARNING)
        from rapid_layout import RapidLayout
        from rapidocr import RapidOCR

        self._ocr: Any = RapidOCR(
            params={"EngineConfig.onnxruntime.intra_op_num_threads": threads, "Global.log_level": "error"}
        )
        self._layout: Any = RapidLayout()
        self._table = _table_model()

    def parse(self, image: Path) -> tuple[str, tuple[Block, ...]]:
        """Markdown and blocks (labels of the layout model, boxes in px) of one page image."""
        pixels = np.asarray(Image.open(image).convert("RGB"))[:, :, ::-1]
        lines = self._lines(pixels)
        page = BBox(0, 0, pixels.shape[1], pixels.shape[0])
        regions = assemble(self._regions(pixels), lines, page)
        blocks = tuple(block for region in regions if (block := self._block(region, pixels)) is not None)
        return "\n\n".join(filter(None, (markdown(block) for block in blocks))), blocks

    def _lines(self, pixels: np.ndarray[Any, Any]) -> list[TextLine]:
        found = self._ocr(pixels)
        if found.boxes is None:
            return []
        return [TextLine(text, _bbox(box)) for text, box in zip(found.txts, found.boxes, strict=True) if text.strip()]

    def _regions(self, pixels: np.ndarray[Any, Any]) -> list[Region]:
        found = self._layout(pixels)
        if found.boxes is None:
            return []
        rows = zip(found.class_names, found.boxes, found.scores, strict=True)
        return [Region(kind, BBox(*map(float, box)), float(score)) for kind, box, score in rows]

    def _block(self, region: Region, pixels: np.ndarray[Any, Any]) -> Block | None:
        if region.kind == "table":
            html = _better_table(self._table_html(region, pixels), region)
            return Block("table", html=html, bbox=region.bbox) if html else _text_block(region)
        if region.kind == "figure":
            return Block("figure", bbox=region.bbox)
        return _text_block(region)

    def _table_html(self, region: Region, pixels: np.ndarray[Any, Any]) -> str | None:
        if self._table is None or not region.lines:
            return None
        x, y = max(int(region.bbox.x1) - MARGIN_PX, 0), max(int(region.bbox.y1) - MARGIN_PX, 0)
        cut = pixels[y : int(region.bbox.y2) + MARGIN_PX, x : int(region.bbox.x2) + MARGIN_PX]
        if 0 in cut.shape:
            return None
        cells = [[_corners(line.bbox, x, y), line.text, 1.0] for line in region.lines]
        html, *_ = self._table(np.ascontiguousarray(cut), cells)
        return _table_only(html)


def _table_model() -> Any:
    """The table model, or None where its package is not available (Python 3.13)."""
    try:
        from rapid_table import RapidTable
    except ModuleNotFoundError:
        return None
    return RapidTable()


def _better_table(html: str | None, region: Region) -> str | None:
    """The model's table, unless it sees fewer columns than the lines on the page form."""
    if region.grid is None or (html is not None and _column_count(html) >= region.grid.columns):
        return html
    return region.grid.html()


def _column_count(html: str) -> int:
    return max((row.count("<td") for row in html.split("<tr")), default=0)


def _text_block(region: Region) -> Block | None:
    kind = "text" if region.kind in {"table", "figure"} else region.kind
    text = "\n\n".join(paragraphs(region.lines))
    return Block(kind, text=text, bbox=region.bbox) if text else None


def markdown(block: Block) -> str:
    """Markdown of one block; figures give nothing."""
    if block.html:
        return block.html
    text = block.text or ""
    if block.kind == "title":
        return "# " + " ".join(text.split())
    if block.kind == "equation":
        return f"$$\n{text}\n$$"
    return text


def _table_only(html: str) -> str | None:
    start, end = html.find("<table"), html.rfind("</table>")
    return html[start : end + len("</table>")] if 0 <= start < end else None


def _bbox(corners: Sequence[Sequence[float]]) -> BBox:
    xs, ys = [float(point[0]) for point in corners], [float(point[1]) for point in corners]
    return BBox(min(xs), min(ys), max(xs), max(ys))


def _corners(box: BBox, x: int, y: int) -> list[list[float]]:
    left, top, right, bottom = box.x1 - x, box.y1 - y, box.x2 - x, box.y2 - y
    return [[left, top], [right, top], [right, bottom], [left, bottom]]
