"""Formulas as images: single expressions through matplotlib's mathtext, stacked ones built from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import matplotlib
import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser
from PIL import Image, ImageDraw


@dataclass(frozen=True, slots=True)
class Drawn:
    """Ink of a formula (255 = ink); `ascent` is the height above the baseline in px."""

    ink: Image.Image
    ascent: int

    @property
    def width(self) -> int:
        """Width in px."""
        return self.ink.width

    @property
    def descent(self) -> int:
        """Depth below the baseline in px."""
        return self.ink.height - self.ascent


@cache
def expression(latex: str, px: int) -> Drawn:
    """One expression that mathtext can set; empty input gives one empty pixel."""
    if not latex:
        return Drawn(Image.new("L", (1, 1)), 1)
    with matplotlib.rc_context({"mathtext.fontset": "stix"}):
        parsed = MathTextParser("agg").parse(f"${latex}$", dpi=72, prop=FontProperties(size=px))
    pixels = np.asarray(parsed.image, dtype=np.uint8)
    rows, columns = np.nonzero(pixels)
    top, bottom = int(rows.min()), int(rows.max()) + 1
    left, right = int(columns.min()), int(columns.max()) + 1
    ink = Image.fromarray(np.ascontiguousarray(pixels[top:bottom, left:right]))
    baseline = pixels.shape[0] - round(parsed.depth)
    return Drawn(ink, baseline - top)


def display(latex: str, px: int) -> Drawn:
    r"""A display formula: one expression, an `aligned` stack, or a `bmatrix` between two expressions."""
    body = latex.strip().replace(r"\frac", r"\dfrac")
    if body.startswith(r"\begin{aligned}"):
        return _aligned(body.removeprefix(r"\begin{aligned}").removesuffix(r"\end{aligned}"), px)
    if r"\begin{bmatrix}" not in body:
        return expression(body, px)
    parts: list[Drawn] = []
    rest = body
    while r"\begin{bmatrix}" in rest:
        before, _, rest = rest.partition(r"\begin{bmatrix}")
        inside, _, rest = rest.partition(r"\end{bmatrix}")
        parts += [expression(before.strip(), px)] if before.strip() else []
        parts.append(_matrix(inside, px))
    parts += [expression(rest.strip(), px)] if rest.strip() else []
    return _row(parts, gap=px // 3)


def _cells(body: str) -> list[list[str]]:
    return [[cell.strip() for cell in row.split("&")] for row in body.split(r"\\") if row.strip()]


def _aligned(body: str, px: int) -> Drawn:
    rows = [[expression(cell, px) for cell in row] for row in _cells(body)]
    left = max(row[0].width for row in rows)
    heights = [(max(cell.ascent for cell in row), max(cell.descent for cell in row)) for row in rows]
    gap, space = px // 2, px // 4
    width = left + space + max(row[1].width for row in rows)
    ink = Image.new("L", (width, sum(up + down for up, down in heights) + gap * (len(rows) - 1)))
    y = 0
    for row, (up, down) in zip(rows, heights, strict=True):
        baseline = y + up
        ink.paste(row[0].ink, (left - row[0].width, baseline - row[0].ascent))
        ink.paste(row[1].ink, (left + space, baseline - row[1].ascent))
        y = baseline + down + gap
    return Drawn(ink, ink.height // 2 + px // 4)


def _matrix(body: str, px: int) -> Drawn:
    rows = [[expression(cell, px) for cell in row] for row in _cells(body)]
    widths = [max(row[column].width for row in rows) for column in range(len(rows[0]))]
    gap, pad, step = px * 3 // 4, px // 2, px * 3 // 2
    width = sum(widths) + gap * (len(widths) - 1) + 2 * pad
    height = step * len(rows)
    ink = Image.new("L", (width, height))
    for number, row in enumerate(rows):
        x = pad
        for column, cell in enumerate(row):
            ink.paste(cell.ink, (x + (widths[column] - cell.width) // 2, number * step + px * 11 // 10 - cell.ascent))
            x += widths[column] + gap
    pen = ImageDraw.Draw(ink)
    for x, inward in ((1, px // 4), (width - 2, -px // 4)):
        pen.line([(x + inward, 1), (x, 1), (x, height - 2), (x + inward, height - 2)], fill=255, width=2)
    return Drawn(ink, height // 2 + px // 4)


def _row(parts: list[Drawn], gap: int) -> Drawn:
    up, down = max(part.ascent for part in parts), max(part.descent for part in parts)
    ink = Image.new("L", (sum(part.width for part in parts) + gap * (len(parts) - 1), up + down))
    x = 0
    for part in parts:
        ink.paste(part.ink, (x, up - part.ascent))
        x += part.width + gap
    return Drawn(ink, up)
