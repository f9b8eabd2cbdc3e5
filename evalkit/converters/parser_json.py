"""Answers of parsers on this machine: a JSON object {markdown, blocks: [{kind, bbox, text, html, latex}]}."""

from __future__ import annotations

import json
from typing import Any

from evalkit.types import BBox, Block, Page, Prediction, RawOutput


class ParserJson:
    """Takes markdown and blocks as the parser gives them."""

    name = "parser_json"
    variants = ("official",)

    def convert(self, raw: RawOutput, page: Page, variant: str = "official") -> Prediction:
        """The prediction in the answer; without a usable answer a reason instead of markdown."""
        if raw.text is None:
            return Prediction(page.page_id, None, reason=raw.reason or str(raw.state))
        try:
            row = json.loads(raw.text)
        except (ValueError, RecursionError) as error:
            return Prediction(page.page_id, None, reason=f"the answer is not JSON: {error}")
        if not isinstance(row, dict) or not isinstance(row.get("markdown"), str):
            return Prediction(page.page_id, None, reason="the answer has no markdown")
        rows = row.get("blocks")
        blocks = tuple(_block(item) for item in rows if isinstance(item, dict)) if isinstance(rows, list) else ()
        return Prediction(page.page_id, row["markdown"], blocks)


def _block(row: dict[str, Any]) -> Block:
    kind = row.get("kind")
    return Block(
        kind if isinstance(kind, str) else "unknown",
        text=_text(row, "text"),
        html=_text(row, "html"),
        latex=_text(row, "latex"),
        bbox=_bbox(row.get("bbox")),
    )


def _text(row: dict[str, Any], key: str) -> str | None:
    value = row.get(key)
    return value if isinstance(value, str) else None


def _bbox(value: Any) -> BBox | None:
    if not isinstance(value, list) or len(value) != 4 or not all(_is_number(item) for item in value):
        return None
    x1, y1, x2, y2 = map(float, value)
    return BBox(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


CONVERTER = ParserJson()
