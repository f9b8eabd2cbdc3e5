"""Boxes as systems write them, brought to pixels of the page image."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from evalkit.types import BBox, Page


def page_box(numbers: Sequence[Any] | None, page: Page, full: float | None) -> BBox | None:
    """A box x1 y1 x2 y2 in px, corners sorted and clipped to the page; None when it is no box.

    `full` is the number that stands for the whole side (1000 or 999); None for pixels of the page image.
    """
    if numbers is None or len(numbers) != 4 or not all(_is_finite(number) for number in numbers):
        return None
    x1, y1, x2, y2 = map(float, numbers)
    if full is not None:
        if page.width_px is None or page.height_px is None:
            return None
        wide, tall_px = page.width_px, page.height_px
        x1, y1, x2, y2 = x1 * wide / full, y1 * tall_px / full, x2 * wide / full, y2 * tall_px / full
    width = float("inf") if page.width_px is None else float(page.width_px)
    tall = float("inf") if page.height_px is None else float(page.height_px)

    def clip(value: float, limit: float) -> float:
        return min(max(value, 0.0), limit)

    return BBox(clip(min(x1, x2), width), clip(min(y1, y2), tall), clip(max(x1, x2), width), clip(max(y1, y2), tall))


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(float(value))
