"""The box rule: which pixels of a 200 dpi picture each token covers, computed without drawing the picture.

The official scorer lets Ghostscript draw the page and searches each token's colour. What Ghostscript does is
simple enough to compute: it puts every glyph's origin on a whole pixel, draws the unhinted outline on a grid
four times finer, and every pixel that gets any ink keeps the pure colour. See docs/cdm.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from metrics.cdm.colour import LEVELS, STEP
from metrics.cdm.glyph_table import measured_difference
from metrics.cdm.glyphs import Bounds
from metrics.cdm.pdfstream import Area, Colour, Glyph, PageMarks

RULE_VERSION = 1  # part of the cache key: raise it when a box can change

DPI = 200
SUBPIXELS = 4  # the finer grid on which outlines are drawn
SLACK = 0.02  # sub-pixels: an outline that only grazes a sub-pixel does not fill it
MARGIN_PX = 8  # blank margin that the official crop leaves around the ink
_SCALE = DPI / 72
_STEPS = 256  # Ghostscript's positions are whole steps of this part of a pixel
_TOLERANCE = 1  # of 255: how far a colour may be from a token's colour

PixelBox = tuple[int, int, int, int]  # x1 y1 x2 y2, the last two exclusive


@dataclass(frozen=True, slots=True)
class Picture:
    """The cropped picture's size in px and each token's box in it (None: the token drew nothing)."""

    width_px: int
    height_px: int
    boxes: tuple[PixelBox | None, ...]


def measure(pages: Sequence[PageMarks], token_count: int) -> Picture:
    """Boxes of tokens 0 … token_count - 1 on pages set one below the other, relative to the crop.

    As the official scan does, each box is one pixel larger than the ink on every side.
    """
    ink: PixelBox | None = None
    found: dict[int, PixelBox] = {}
    for box, colour in _placed(pages):
        if _is_white(colour):
            continue
        ink = _union(ink, box)
        number = token_of(colour)
        if number is not None and number < token_count:
            found[number] = _union(found.get(number), box)
    total_width, total_height = _stacked_size(pages)
    if ink is None:
        return Picture(min(total_width, 18), min(total_height, 18), (None,) * token_count)
    left, top = max(0, ink[0] - MARGIN_PX), max(0, ink[1] - MARGIN_PX)
    width = min(total_width, ink[2] - 1 + MARGIN_PX) - left
    height = min(total_height, ink[3] - 1 + MARGIN_PX) - top
    boxes = tuple(_shifted(found[number], left, top) if number in found else None for number in range(token_count))
    return Picture(width, height, boxes)


def token_of(colour: Colour) -> int | None:
    """Number of the token that has this colour; None for black and for colours between the tokens' ones."""
    code = 0
    for channel in colour:
        level = math.floor(channel * 255 + 0.5)
        step = min(max((level + STEP // 2) // STEP, 0), LEVELS - 1)
        if abs(level - step * STEP) > _TOLERANCE:
            return None
        code = code * LEVELS + step
    return code - 1 if code else None


def _is_white(colour: Colour) -> bool:
    return all(channel * 255 >= 254.5 for channel in colour)


def _placed(pages: Iterable[PageMarks]) -> Iterable[tuple[PixelBox, Colour]]:
    """Boxes of all that is drawn, in pixels of the stacked pages, clipped to each page."""
    above = 0
    for page in pages:
        width, height = _page_size(page)
        for mark in page.marks:
            box = _glyph_box(mark, height) if isinstance(mark, Glyph) else _area_box(mark, height)
            if box is None:
                continue
            x1, y1, x2, y2 = max(0, box[0]), max(0, box[1]), min(width, box[2]), min(height, box[3])
            if x1 < x2 and y1 < y2:
                yield (x1, y1 + above, x2, y2 + above), mark.colour
        above += height


def _glyph_box(glyph: Glyph, page_height: int) -> PixelBox | None:
    bounds = glyph.font.bounds(glyph.code)
    if bounds is None:
        return None
    a, b, c, d, x, y = glyph.matrix
    x, y = x * _SCALE, page_height - y * _SCALE
    if not glyph.font.has_outlines:
        return _bitmap_box(_pixel_bounds(bounds, (a, b, c, d)), x, y)
    x1, y1, x2, y2 = outline_box(bounds, (a, b, c, d))
    if b == c == 0.0 and a == d:
        dx1, dy1, dx2, dy2 = measured_difference(glyph.font.name, a * 1000, glyph.font.glyph_name(glyph.code))
        x1, y1, x2, y2 = x1 + dx1, y1 + dy1, x2 + dx2, y2 + dy2
    left, top = _whole_pixel(x), _whole_pixel(y)
    return (left + x1, top + y1, left + x2, top + y2)


def _bitmap_box(bounds: Bounds, x: float, y: float) -> PixelBox:
    """Pixels of a bitmap: its lower left corner and its size are rounded."""
    left, bottom = _whole_pixel(x + bounds[0]), _whole_pixel(y + bounds[3])
    width, height = (max(1, _whole_pixel(bounds[axis + 2] - bounds[axis])) for axis in (0, 1))
    return (left, bottom - height, left + width, bottom)


def _whole_pixel(position: float) -> int:
    """The pixel on which an origin is put."""
    return (math.floor(position * _STEPS + 0.5) + _STEPS // 2) // _STEPS


def outline_box(bounds: Bounds, matrix: tuple[float, float, float, float]) -> PixelBox:
    """Pixels that an outline inks, relative to its origin; `matrix` takes font units over 1000 to points."""
    left, top, right, bottom = _pixel_bounds(bounds, matrix)
    x1, x2 = _covered(left, right)
    y1, y2 = _covered(top, bottom)
    return (x1, y1, x2, y2)


def _pixel_bounds(bounds: Bounds, matrix: tuple[float, float, float, float]) -> Bounds:
    """Exact bounds in px relative to the origin, downwards."""
    a, b, c, d = matrix
    corners = [(bounds[i], bounds[j]) for i in (0, 2) for j in (1, 3)]
    xs = [(a * u + c * v) * _SCALE for u, v in corners]
    ys = [-(b * u + d * v) * _SCALE for u, v in corners]
    return (min(xs), min(ys), max(xs), max(ys))


def _covered(low: float, high: float) -> tuple[int, int]:
    """First and last-plus-one pixel that an outline between two positions inks."""
    first = math.floor(SUBPIXELS * low + 0.5 - SLACK)
    last = math.floor(SUBPIXELS * high + 0.5 + SLACK)
    return first // SUBPIXELS, -(-max(last, first + 1) // SUBPIXELS)


def _area_box(area: Area, page_height: int) -> PixelBox:
    x1, x2 = area.x1 * _SCALE, area.x2 * _SCALE
    y1, y2 = page_height - area.y2 * _SCALE, page_height - area.y1 * _SCALE
    left, top = math.floor(x1), math.floor(y1)
    return (left, top, max(left + 1, math.ceil(x2)), max(top + 1, math.ceil(y2)))


def _page_size(page: PageMarks) -> tuple[int, int]:
    return math.floor(page.width * _SCALE + 0.5), math.floor(page.height * _SCALE + 0.5)


def _stacked_size(pages: Sequence[PageMarks]) -> tuple[int, int]:
    sizes = [_page_size(page) for page in pages]
    return max((width for width, _ in sizes), default=0), sum(height for _, height in sizes)


def _union(first: PixelBox | None, second: PixelBox) -> PixelBox:
    if first is None:
        return second
    return (min(first[0], second[0]), min(first[1], second[1]), max(first[2], second[2]), max(first[3], second[3]))


def _shifted(box: PixelBox, left: int, top: int) -> PixelBox:
    return (box[0] - 1 - left, box[1] - 1 - top, box[2] - left, box[3] - top)
