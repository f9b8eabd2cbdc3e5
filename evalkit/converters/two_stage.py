"""Merged regions of two-stage parsers (MinerU2.5, Dolphin-v2, GLM-OCR, MonkeyOCRv2) to markdown and blocks."""

from __future__ import annotations

import json
from typing import Any

from evalkit.converters.boxes import page_box
from evalkit.converters.otsl import is_otsl, otsl_to_html
from evalkit.types import Block, Page, Prediction, RawOutput

FULL = 1000
NON_TEXT = "[Non-Text]"
HEADINGS = {"title": "# ", "doc_title": "# ", "paragraph_title": "## ", "sec_0": "# ", "sec_1": "## ", "sec_2": "### "}


class TwoStage:
    """Regions with raw content: tables to HTML, formulas to display formulas, continued texts joined."""

    name = "two_stage"
    variants = ("official", "clean")

    def convert(self, raw: RawOutput, page: Page, variant: str = "official") -> Prediction:
        """Blocks in the order of the layout, and markdown; `clean` adds no heading marks of its own."""
        if raw.text is None:
            return Prediction(page.page_id, None, reason=raw.reason or str(raw.state))
        try:
            rows = json.loads(raw.text)["regions"]
        except (ValueError, RecursionError, KeyError, TypeError):
            return Prediction(page.page_id, None, reason="the raw output is not a list of regions")
        regions = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        blocks = tuple(_block(row, page) for row in regions)
        parts: list[str] = []
        for row, block in zip(regions, blocks, strict=True):
            text = _markdown(block, variant)
            if text and row.get("continues") and parts:
                parts[-1] = _joined(parts[-1], text)
            elif text:
                parts.append(text)
        return Prediction(page.page_id, "\n\n".join(parts), blocks)


def _block(row: dict[str, Any], page: Page) -> Block:
    label = row.get("label") if isinstance(row.get("label"), str) else "unknown"
    content = row.get("content")
    text = content.strip().replace(NON_TEXT, "") if isinstance(content, str) else ""
    box = page_box(row.get("bbox") if isinstance(row.get("bbox"), list) else None, page, FULL)
    kind = row.get("kind")
    if kind == "table":
        return Block(label or "table", html=otsl_to_html(text) if is_otsl(text) else text, bbox=box)
    if kind == "formula":
        return Block(label or "equation", latex=_bare(text), bbox=box)
    return Block(label or "text", text=text, bbox=box)


def _bare(text: str) -> str:
    for opening, closing in (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$")):
        if text.startswith(opening) and text.endswith(closing) and len(text) > len(opening) + len(closing):
            return text[len(opening) : -len(closing)].strip()
    return text


def _markdown(block: Block, variant: str) -> str:
    if block.latex is not None:
        return f"\\[\n{block.latex}\n\\]" if block.latex else ""
    text = block.html or block.text or ""
    heading = HEADINGS.get(block.kind, "") if variant == "official" else ""
    return heading + text if text and heading and not text.startswith("#") else text


def _joined(left: str, right: str) -> str:
    """A text and its continuation: a blank between words, none before Chinese."""
    return left + right if "\u2e80" <= right[0] <= "\u9fff" else f"{left} {right}"


CONVERTER = TwoStage()
