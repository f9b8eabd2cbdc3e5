"""Layout scores as an evaluation writes them, with made values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LAYOUT_SIGNATURE = "page_iou|avg:page|protocol:page_iou|data:made@abc|evalkit:0.1.0"
MODES = ("countable-acceptable", "binary-acceptable", "countable-ignore", "binary-ignore")
MEMBERS = {
    "text": {"include": ["text_block", "title"], "accept": ["header", "table_caption"]},
    "table": {"include": ["table"], "accept": ["table_caption"]},
    "formula": {"include": ["equation_isolated"], "accept": []},
    "image": {"include": ["figure"], "accept": []},
    "full_page": {
        "include": ["text_block", "title", "table", "equation_isolated", "figure"],
        "accept": ["header", "table_caption", "abandon"],
    },
}


def layout_file(iou: float, **changes: Any) -> dict[str, Any]:
    """A layout.json in which the classes' IoU are `iou` and less, by mode a little lower; no page has a formula."""

    def average(value: float) -> Mapping[str, float]:
        return {"iou": value, "precision": value + 0.05, "recall": value + 0.1, "f1": value + 0.07, "pages": 9}

    averages = {
        mode: {
            "overall": average(iou - step / 100),
            "text": average(iou - 0.1),
            "image": average(iou - 0.2),
            "table": average(iou - 0.3),
            "formula": None,
            "full_page": average(iou - 0.4),
        }
        for step, mode in enumerate(MODES)
    }
    return {
        "metric": "page_iou",
        "signature": LAYOUT_SIGNATURE,
        "averages": averages,
        "pages": {},
        "labels": {"book": "text"},
        "membership": MEMBERS,
        "unmapped": {},
        "unscored": {},
        **changes,
    }
