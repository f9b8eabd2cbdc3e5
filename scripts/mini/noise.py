"""A page as a bad scan: skewed, soft, grainy and unevenly lit; the truth is turned with it."""

from __future__ import annotations

import math

import numpy as np
from PIL import Image, ImageFilter

from .sheet import Sheet


def scan(sheet: Sheet, degrees: float, seed: int, grain: float = 14.0) -> None:
    """Turn a page and its polygons by some degrees to the left, then spoil the image."""
    turned = sheet.image.convert("L").rotate(degrees, resample=Image.Resampling.BICUBIC, fillcolor=244)
    soft = turned.filter(ImageFilter.GaussianBlur(0.9))
    pixels = np.asarray(soft, dtype=np.float64)
    random = np.random.Generator(np.random.PCG64(seed))
    rows, columns = np.mgrid[0 : sheet.height, 0 : sheet.width]
    light = 1.0 - 0.16 * ((columns / sheet.width - 0.35) ** 2 + (rows / sheet.height - 0.4) ** 2)
    light -= 0.25 * np.exp(-columns / 26.0)
    uniform = random.random((4, sheet.height, sheet.width)).sum(axis=0) - 2.0
    specks = random.random((sheet.height, sheet.width)) > 0.9996
    spoiled = (pixels * 0.86 + 22) * light + grain * uniform * 1.7
    spoiled[specks] -= 120
    sheet.image = Image.fromarray(np.clip(np.rint(spoiled), 0, 255).astype(np.uint8))
    for block in sheet.blocks:
        for part in [block, *block.get("line_with_spans", [])]:
            part["poly"] = _rotated(part["poly"], degrees, sheet.width, sheet.height)


def _rotated(corners: list[float], degrees: float, width: int, height: int) -> list[float]:
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    points: list[float] = []
    for x, y in zip(corners[0::2], corners[1::2], strict=True):
        dx, dy = x - width / 2, y - height / 2
        points += [round(width / 2 + dx * cos + dy * sin, 1), round(height / 2 - dx * sin + dy * cos, 1)]
    return points
