"""The same area sums on a pixel grid, computed another way: a cross-check of the exact ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metrics.page_iou.boxes import Boxes
from metrics.page_iou.coverage import CoverageAreas

GRID_PX = 1000


def raster_areas(
    include: Boxes, accept: Boxes, pred: Boxes, grid_px: int = GRID_PX
) -> tuple[CoverageAreas, CoverageAreas]:
    """Countable and binary area sums with box borders rounded to a grid of grid_px x grid_px."""
    a, b, c = (_painted(boxes, grid_px) for boxes in (include, accept, pred))
    return _sums(a, b, c), _sums(np.minimum(a, 1), np.minimum(b, 1), np.minimum(c, 1))


def _painted(boxes: Boxes, grid_px: int) -> NDArray[np.int64]:
    canvas = np.zeros((grid_px, grid_px), np.int64)
    for x1, y1, x2, y2 in np.rint(boxes * grid_px).astype(int):
        canvas[y1:y2, x1:x2] += 1
    return canvas


def _sums(a: NDArray[np.int64], b: NDArray[np.int64], c: NDArray[np.int64]) -> CoverageAreas:
    pardoned = np.minimum(np.maximum(c - a, 0), b)
    loose = np.where((a == 0) & (b > 0), c, 0)
    return CoverageAreas(*(float(values.mean()) for values in (a, c, np.minimum(a, c), pardoned, loose)))
