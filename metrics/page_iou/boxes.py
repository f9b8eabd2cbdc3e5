"""Boxes of a page as rectangles in the unit square, by annotated category and by predicted class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalkit.types import BlockKind, GroundTruth, Prediction
from metrics.page_iou.categories import MEMBERSHIP, NOT_COUNTED, PREDICTED_LABELS, LayoutClass

Boxes = NDArray[np.float64]
"""Rectangles x1 y1 x2 y2, shape (n, 4), inside the unit square and of some area; origin top left."""


class BoxError(ValueError):
    """A page's boxes cannot be used; the message names each mistake."""


@dataclass(frozen=True, slots=True)
class PageLayout:
    """Boxes of one page by what they are called. `unmapped` counts predicted labels that the map does not know."""

    gt: Mapping[BlockKind, Boxes]
    pred: Mapping[str, Boxes]
    unmapped: Mapping[str, int]

    def of_class(self, layout_class: LayoutClass) -> tuple[Boxes, Boxes, Boxes]:
        """Included, accepted and predicted boxes of a class. Every predicted box counts for the full page."""
        membership = MEMBERSHIP[layout_class]
        full = layout_class is LayoutClass.FULL_PAGE
        return (
            _joined([boxes for kind, boxes in self.gt.items() if kind in membership.include]),
            _joined([boxes for kind, boxes in self.gt.items() if kind in membership.accept]),
            _joined([boxes for label, boxes in self.pred.items() if full or label == layout_class]),
        )


def layout_from_record(record: Mapping[str, Any]) -> PageLayout:
    """The layout of a line of `evalkit score page_iou`. Raises BoxError with all its mistakes.

    `pred_width` and `pred_height` give the canvas of the predicted boxes where it is another one.
    """
    problems: list[str] = []
    size = _canvas(record, "width", "height", problems)
    pred_size = _canvas(record, "pred_width", "pred_height", problems) if "pred_width" in record else size
    gt = _named_boxes(record, "gt", [str(kind) for kind in BlockKind], problems)
    pred = _named_boxes(record, "pred", list(PREDICTED_LABELS), problems)
    if problems or size is None or pred_size is None:
        raise BoxError("; ".join(problems))
    return PageLayout(
        {BlockKind(name): boxes for name, boxes in _by_name(gt, size).items()}, _by_name(pred, pred_size), {}
    )


def layout_from_blocks(gt: GroundTruth, prediction: Prediction | None, label_map: Mapping[str, str]) -> PageLayout:
    """The layout of a page in records; a missing prediction is an empty layout.

    `label_map` takes a system's own labels to PREDICTED_LABELS or NOT_COUNTED. Blocks without a box are left out.
    Raises BoxError for a page of unknown size, an unknown annotated category and boxes that are no numbers.
    """
    problems: list[str] = []
    page = {"width": gt.page.width_px, "height": gt.page.height_px}
    size = _canvas(page, "width", "height", problems)
    kinds = {str(kind) for kind in BlockKind}
    annotated: list[tuple[str, Sequence[float]]] = []
    for block in gt.blocks:
        corners = block.poly or (block.bbox and (block.bbox.x1, block.bbox.y1, block.bbox.x2, block.bbox.y2))
        if corners and block.kind not in kinds:
            problems.append(f"unknown annotated category {block.kind!r}")
        elif corners:
            annotated.append((block.kind, corners))
    predicted: list[tuple[str, Sequence[float]]] = []
    unmapped: dict[str, int] = {}
    for block in prediction.blocks if prediction else ():
        if block.bbox is None:
            continue
        label = label_map.get(block.kind)
        if label is None:
            unmapped[block.kind] = unmapped.get(block.kind, 0) + 1
        elif label != NOT_COUNTED:
            predicted.append((label, (block.bbox.x1, block.bbox.y1, block.bbox.x2, block.bbox.y2)))
    problems += [f"box with {corners} is not finite" for _, corners in annotated + predicted if not _finite(corners)]
    if problems or size is None:
        raise BoxError("; ".join(problems))
    return PageLayout(
        {BlockKind(name): boxes for name, boxes in _by_name(annotated, size).items()},
        _by_name(predicted, size),
        unmapped,
    )


def check_label_map(label_map: Mapping[str, str]) -> list[str]:
    """What is wrong with a system's label map, one text an entry; [] when it is right."""
    targets = (*PREDICTED_LABELS, NOT_COUNTED)
    known = ", ".join(targets)
    return [
        f"label {label!r} is mapped to {target!r}; known: {known}"
        for label, target in label_map.items()
        if target not in targets
    ]


def hull(corners: Sequence[float], width: float, height: float) -> tuple[float, float, float, float]:
    """Axis-aligned hull of x, y, x, y, … in px, as a rectangle clipped to the unit square; may have no area."""
    xs = [min(max(x / width, 0.0), 1.0) for x in corners[0::2]]
    ys = [min(max(y / height, 0.0), 1.0) for y in corners[1::2]]
    return min(xs), min(ys), max(xs), max(ys)


def _by_name(named: Sequence[tuple[str, Sequence[float]]], size: tuple[float, float]) -> dict[str, Boxes]:
    found: dict[str, list[tuple[float, float, float, float]]] = {}
    for name, corners in named:
        x1, y1, x2, y2 = hull(corners, *size)
        if x2 > x1 and y2 > y1:
            found.setdefault(name, []).append((x1, y1, x2, y2))
    return {name: np.array(boxes, np.float64) for name, boxes in found.items()}


def _joined(parts: Sequence[Boxes]) -> Boxes:
    return np.concatenate(parts) if parts else np.empty((0, 4))


def _canvas(
    record: Mapping[str, Any], width_key: str, height_key: str, problems: list[str]
) -> tuple[float, float] | None:
    size = []
    for key in (width_key, height_key):
        value: Any = record.get(key)
        if _is_number(value) and value > 0:
            size.append(float(value))
        else:
            problems.append(f"{key} must be a number above 0, not {_shown(value)}")
    return (size[0], size[1]) if len(size) == 2 else None


def _named_boxes(
    record: Mapping[str, Any], side: str, known: Sequence[str], problems: list[str]
) -> list[tuple[str, Sequence[float]]]:
    items = record.get(side)
    if items is None:
        items = []
    if not isinstance(items, list):
        problems.append(f"{side} must be a list of boxes, not {_shown(items)}")
        return []
    named = []
    for place, item in enumerate(items):
        where = f"{side}[{place}]"
        if not isinstance(item, dict):
            problems.append(f"{where} must be an object, not {_shown(item)}")
            continue
        category = item.get("category", item.get("category_type"))
        if category not in known:
            problems.append(f"{where}: unknown category {_shown(category)}; known: {', '.join(known)}")
        corners: Any = item.get("bbox", item.get("poly"))
        if not _is_box(corners):
            problems.append(f"{where}: bbox must be x1 y1 x2 y2 and poly x1 y1 … x4 y4, not {_shown(corners)}")
        named.append((str(category), corners))
    return named


def _is_box(corners: Any) -> bool:
    return isinstance(corners, list) and len(corners) in (4, 8) and _finite(corners)


def _finite(corners: Sequence[Any]) -> bool:
    return all(_is_number(value) for value in corners)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
