"""Exact area sums of overlapping rectangles by coordinate compression.

At each point of the page let a, b, c be the numbers of included, accepted and predicted boxes that cover it. All
quantities of PageIoU follow from the integrals held in CoverageAreas. Source: PaDoc paper, appendix B.1, B.2 and B.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metrics.page_iou.boxes import Boxes

_BLOCK_CELLS = 1 << 17
_INT16_BOXES = 32_000


@dataclass(frozen=True, slots=True)
class CoverageAreas:
    """Integrals over the page, each count mode its own.

    gt: a. pred: c. common: min(a, c). pardoned: min(max(c - a, 0), b), predicted beyond the included but accepted.
    loose: c where a = 0 and b > 0, predicted where nothing but accepted regions are.
    """

    gt: float
    pred: float
    common: float
    pardoned: float
    loose: float


def exact_areas(include: Boxes, accept: Boxes, pred: Boxes) -> tuple[CoverageAreas, CoverageAreas]:
    """Countable and binary area sums; the binary ones count a point once however many boxes cover it."""
    boxes = np.concatenate([include, accept, pred])
    xs, ys = np.unique(boxes[:, [0, 2]]), np.unique(boxes[:, [1, 3]])
    if len(boxes) == 0:
        return _areas(np.zeros(9))
    group = np.repeat([0, 1, 2], [len(include), len(accept), len(pred)])
    sums = np.zeros(9)
    widths, heights = np.diff(xs), np.diff(ys)
    for start, (a, b, c) in _count_blocks(boxes, group, xs, ys):
        sums += heights[start : start + len(a)] @ (_integrands(a, b, c) @ widths).T
    return _areas(sums)


def _count_blocks(
    boxes: Boxes, group: NDArray[np.intp], xs: NDArray[np.float64], ys: NDArray[np.float64]
) -> Iterator[tuple[int, NDArray[np.integer]]]:
    """Counts on the grid of all box borders, some rows at a time: first row, and an array (group, row, column).

    A sweep down the page: at its upper border a box adds 1 to its columns, at its lower border it takes 1 away.
    """
    left, right = np.searchsorted(xs, boxes[:, [0, 2]]).T.tolist()
    changes: list[list[tuple[int, int, int, int]]] = [[] for _ in ys]
    for border, sign in ((1, 1), (3, -1)):
        for box, row in enumerate(np.searchsorted(ys, boxes[:, border]).tolist()):
            changes[row].append((int(group[box]), left[box], right[box], sign))
    columns, rows = len(xs) - 1, len(ys) - 1
    dtype = np.int16 if len(boxes) <= _INT16_BOXES else np.int32
    current = np.zeros((3, columns), dtype)
    height = max(1, _BLOCK_CELLS // columns)
    for start in range(0, rows, height):
        block = np.empty((3, min(height, rows - start), columns), dtype)
        for row in range(block.shape[1]):
            for which, first, last, sign in changes[start + row]:
                current[which, first:last] += sign
            block[:, row] = current
        yield start, block


def _integrands(a: NDArray[np.integer], b: NDArray[np.integer], c: NDArray[np.integer]) -> NDArray[np.float64]:
    """The nine functions to integrate, stacked: five of the counts, four of whether they are above 0."""
    stacked = np.empty((9, *a.shape))
    common = np.minimum(a, c)
    in_a, in_c = a > 0, c > 0
    only_accepted = (b > 0) & ~in_a
    stacked[0] = a
    stacked[1] = c
    stacked[2] = common
    stacked[3] = np.minimum(c - common, b)
    stacked[4] = c * only_accepted
    stacked[5] = in_a
    stacked[6] = in_c
    stacked[7] = in_a & in_c
    stacked[8] = in_c & only_accepted
    return stacked


def _areas(sums: NDArray[np.float64]) -> tuple[CoverageAreas, CoverageAreas]:
    countable = CoverageAreas(*(float(value) for value in sums[:5]))
    gt, pred, common, pardoned = (float(value) for value in sums[5:])
    return countable, CoverageAreas(gt, pred, common, pardoned, loose=pardoned)
