"""Images for the two stages: the page as the layout model sees it, and the crops of regions."""

from __future__ import annotations

import io
from collections.abc import Mapping
from math import sqrt
from typing import Any

from PIL import Image

from runners.two_stage.layouts import FULL, Region

MARGIN_PX = 0
DEFAULT_MIN_EDGE_PX = 28
DEFAULT_MAX_ASPECT = 50.0


def layout_image(page: Image.Image, limits: Mapping[str, Any]) -> Image.Image:
    """The page in the size that the system's layout request takes.

    `layout_width_px` and `layout_height_px` give a fixed size; `longest_px` the longest side; `factor` and `min_px`,
    `max_px` the multiples and the area that the model works in. Without any the page stays as it is.
    """
    if "layout_width_px" in limits:
        return page.resize((int(limits["layout_width_px"]), int(limits["layout_height_px"])), Image.Resampling.BICUBIC)
    wide, tall = page.size
    longest = limits.get("longest_px")
    scale = min(1.0, float(longest) / max(wide, tall)) if longest else 1.0
    most = limits.get("max_px")
    if most and wide * tall * scale * scale > float(most):
        scale = sqrt(float(most) / (wide * tall))
    factor = int(limits.get("factor", 1))
    size = tuple(max(factor, int(side * scale) // factor * factor) for side in (wide, tall))
    return page if size == page.size else page.resize((size[0], size[1]), Image.Resampling.BICUBIC)


def crop(page: Image.Image, region: Region, limits: Mapping[str, Any]) -> Image.Image:
    """The region at the page's own resolution, turned upright, with a least edge and a greatest aspect ratio."""
    wide, tall = page.size
    x1, y1, x2, y2 = region.place
    box = (int(x1 * wide / FULL), int(y1 * tall / FULL), -int(-x2 * wide // FULL), -int(-y2 * tall // FULL))
    piece = page.crop((box[0], box[1], max(box[2], box[0] + 1), max(box[3], box[1] + 1)))
    if region.turn:
        piece = piece.rotate(region.turn, expand=True)
    return _padded(_enlarged(piece, int(limits.get("min_edge_px", DEFAULT_MIN_EDGE_PX))), _max_aspect(limits))


def _max_aspect(limits: Mapping[str, Any]) -> float:
    return float(limits.get("max_aspect", DEFAULT_MAX_ASPECT))


def _enlarged(piece: Image.Image, least_px: int) -> Image.Image:
    shortest = min(piece.size)
    if shortest >= least_px:
        return piece
    scale = least_px / shortest
    return piece.resize(
        (max(least_px, round(piece.width * scale)), max(least_px, round(piece.height * scale))),
        Image.Resampling.BICUBIC,
    )


def _padded(piece: Image.Image, most: float) -> Image.Image:
    """White space added to the short side of a piece that is too long for the model."""
    longest, shortest = max(piece.size), min(piece.size)
    if longest <= most * shortest:
        return piece
    wanted = -int(-longest // most)
    size = (piece.width, wanted) if piece.width >= piece.height else (wanted, piece.height)
    canvas = Image.new("RGB", size, "white")
    canvas.paste(piece, ((size[0] - piece.width) // 2, (size[1] - piece.height) // 2))
    return canvas


def png(image: Image.Image) -> bytes:
    """The image as PNG bytes."""
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", compress_level=1)
    return buffer.getvalue()
