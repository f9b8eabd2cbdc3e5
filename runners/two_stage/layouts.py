"""What layout requests answer, by family, as regions in thousandths of the page sides; lenient and linear.

Sources: mineru_vl_utils (MinerU2.5), utils of ByteDance/Dolphin, parsing code of MonkeyOCRv2.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

FULL = 1000.0
MAX_REGIONS = 500
MINERU_LINE = re.compile(
    r"<\|box_start\|>(\d{1,4})\s(\d{1,4})\s(\d{1,4})\s(\d{1,4})<\|box_end\|>"
    r"<\|ref_start\|>(\w{1,40})<\|ref_end\|>(?:<\|rotate_(up|right|down|left)\|>)?(.{0,60})"
)
DOLPHIN_PAIR = re.compile(
    r"\[\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*\]\s*\[(\w{1,40})\]"
)
TURNS = {"up": 0, "right": 90, "down": 180, "left": 270}


@dataclass(frozen=True, slots=True)
class Region:
    """One region of a layout: its label, x1 y1 x2 y2 in thousandths, and its clockwise turn in degrees.

    `continues` says that it goes on with the text before it.
    """

    label: str
    place: tuple[float, float, float, float]
    turn: int = 0
    continues: bool = False


LayoutReader = Callable[[str, tuple[int, int]], list[Region]]


def read_mineru(text: str, seen_px: tuple[int, int]) -> list[Region]:
    """MinerU2.5: a line a region, 0 to 1000. `seen_px` is not used."""
    regions = []
    for line in text.split("\n"):
        found = MINERU_LINE.match(line.strip())
        if found is not None:
            place = _place([float(number) for number in found.groups()[:4]], FULL, FULL)
            if place is not None:
                turn = TURNS.get(found[6] or "up", 0)
                regions.append(Region(found[5], place, turn, "txt_contd" in found[7]))
    return regions[:MAX_REGIONS]


def read_dolphin(text: str, seen_px: tuple[int, int]) -> list[Region]:
    """Dolphin-v2: `[x1,y1,x2,y2][label]` pairs, in px of the image as the model saw it (`seen_px`)."""
    regions = []
    for found in DOLPHIN_PAIR.finditer(text):
        place = _place([float(number) for number in found.groups()[:4]], *seen_px)
        if place is not None:
            regions.append(Region(found[5], place))
    return regions[:MAX_REGIONS]


def read_labelled_boxes(text: str, seen_px: tuple[int, int]) -> list[Region]:
    """JSON lists of {label, bbox} with 0 to 1000 (MonkeyOCRv2, GLM-OCR's layout); items that are cut are skipped."""
    regions = []
    for item in re.findall(r"\{[^{}]{0,2000}\}", text):
        try:
            row = json.loads(item.replace("'", '"'))
        except ValueError:
            continue
        label, box = row.get("label", row.get("category")), row.get("bbox", row.get("bbox_2d"))
        if isinstance(label, str) and isinstance(box, list) and len(box) == 4 and all(map(_is_number, box)):
            place = _place([float(number) for number in box], FULL, FULL)
            if place is not None:
                regions.append(Region(label, place))
    return regions[:MAX_REGIONS]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _place(numbers: list[float], wide: float, tall: float) -> tuple[float, float, float, float] | None:
    """Corners sorted, in thousandths; None for a box that leaves the page or has no area."""
    if wide <= 0 or tall <= 0 or min(numbers) < 0 or max(numbers[::2]) > wide or max(numbers[1::2]) > tall:
        return None
    x1, x2 = sorted(number / wide * FULL for number in numbers[::2])
    y1, y2 = sorted(number / tall * FULL for number in numbers[1::2])
    return (x1, y1, x2, y2) if x2 > x1 and y2 > y1 else None


LAYOUTS: dict[str, LayoutReader] = {
    "mineru": read_mineru,
    "dolphin": read_dolphin,
    "labelled_boxes": read_labelled_boxes,
}
