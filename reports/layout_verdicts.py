"""Hit, miss or excess: what a page view says of each box. A display aid; the metric measures areas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from reports.layout_scores import LayoutScores
from reports.truth import Box

COVERED_SHARE = 0.5
"""Share of a box's area from which on it counts as found: the lesser half may be missing."""

MOST_JUDGED = 1000
"""Boxes of one side up to which a page is judged, so that memory stays bounded (a grid of squared size)."""

FULL_PAGE = "full_page"
OTHER_LABEL = "other"
CLASSES = ("text", "table", "formula", "image")

Corners = NDArray[np.float64]
"""Rectangles x1 y1 x2 y2, shape (n, 4)."""


class Verdict(StrEnum):
    """What is said of a box; NEUTRAL ones count for neither side."""

    HIT = "hit"
    MISS = "miss"
    EXCESS = "excess"
    NEUTRAL = "neutral"


def judged(
    gt: Sequence[Box], pred: Sequence[Box], layout: LayoutScores | None
) -> tuple[tuple[Box, ...], tuple[Box, ...]] | None:
    """Truth and predicted boxes with their verdicts; None when they cannot be judged.

    A truth box is a hit if predictions of its class cover COVERED_SHARE of it, else a miss; those that no class
    includes are neutral. A predicted box is a hit if COVERED_SHARE of it lies on truth boxes that its class includes
    or accepts, else excess; those whose label has no class are neutral, and so are boxes without area.
    """
    if layout is None or not layout.members or max(len(gt), len(pred)) > MOST_JUDGED:
        return None
    members = layout.members
    labels = [layout.labels.get(box.kind) for box in pred]
    gt_verdicts, pred_verdicts = [Verdict.NEUTRAL] * len(gt), [Verdict.NEUTRAL] * len(pred)
    for name in (*CLASSES, FULL_PAGE):
        if name not in members:
            continue
        include, accept = members[name].include, members[name].accept
        label = OTHER_LABEL if name == FULL_PAGE else name
        own = [place for place, found in enumerate(labels) if found == label]
        allowed = [box for box in gt if box.kind in include or box.kind in accept]
        _judge(pred_verdicts, pred, own, allowed, Verdict.EXCESS)
        if name != FULL_PAGE:
            wanted = [place for place, box in enumerate(gt) if box.kind in include]
            _judge(gt_verdicts, gt, wanted, [pred[place] for place in own], Verdict.MISS)
    return _with(gt, gt_verdicts), _with(pred, pred_verdicts)


def covered_areas(targets: Corners, covers: Corners) -> NDArray[np.float64]:
    """How much of each target the union of the covers takes up, exactly; shape (n,).

    The area of the union left of and above a point is bilinear between the covers' own coordinates, so that
    reading it off at a target's four corners needs only a grid of those.
    """
    covers = covers[(covers[:, 2] > covers[:, 0]) & (covers[:, 3] > covers[:, 1])]
    if not len(covers) or not len(targets):
        return np.zeros(len(targets))
    xs, ys = np.unique(covers[:, 0::2]), np.unique(covers[:, 1::2])
    left, right = np.searchsorted(xs, covers[:, 0]), np.searchsorted(xs, covers[:, 2])
    top, bottom = np.searchsorted(ys, covers[:, 1]), np.searchsorted(ys, covers[:, 3])
    counts = np.zeros((len(ys), len(xs)), np.int32)
    for rows, columns, sign in ((top, left, 1), (top, right, -1), (bottom, left, -1), (bottom, right, 1)):
        np.add.at(counts, (rows, columns), sign)
    covered = counts.cumsum(0).cumsum(1)[:-1, :-1] > 0
    below = np.zeros(counts.shape)
    below[1:, 1:] = (covered * np.diff(ys)[:, None] * np.diff(xs)).cumsum(0).cumsum(1)

    def area_before(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        column, along = _between(xs, x)
        row, down = _between(ys, y)
        upper = below[row, column] * (1 - along) + below[row, column + 1] * along
        lower = below[row + 1, column] * (1 - along) + below[row + 1, column + 1] * along
        return upper * (1 - down) + lower * down

    x1, y1, x2, y2 = targets.T
    found = area_before(x2, y2) - area_before(x1, y2) - area_before(x2, y1) + area_before(x1, y1)
    return np.maximum(found, 0.0)


def _between(grid: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The grid line before each value, and how far it is to the next one, 0 to 1."""
    before = np.clip(np.searchsorted(grid, values, "right") - 1, 0, len(grid) - 2)
    share = (values - grid[before]) / (grid[before + 1] - grid[before])
    return before, np.clip(share, 0.0, 1.0)


def _judge(
    verdicts: list[Verdict], boxes: Sequence[Box], places: Sequence[int], covers: Sequence[Box], otherwise: Verdict
) -> None:
    """Set the verdict of some boxes by how far others cover them."""
    targets = _corners([boxes[place] for place in places])
    areas = (targets[:, 2] - targets[:, 0]) * (targets[:, 3] - targets[:, 1])
    covered = covered_areas(targets, _corners(covers))
    for place, area, part in zip(places, areas, covered, strict=True):
        if area > 0:
            verdicts[place] = Verdict.HIT if part >= area * (COVERED_SHARE - 1e-9) else otherwise


def _corners(boxes: Sequence[Box]) -> Corners:
    return np.array([(box.x1, box.y1, box.x2, box.y2) for box in boxes], np.float64).reshape(-1, 4)


def _with(boxes: Sequence[Box], verdicts: Sequence[Verdict]) -> tuple[Box, ...]:
    return tuple(replace(box, verdict=str(verdict)) for box, verdict in zip(boxes, verdicts, strict=True))
