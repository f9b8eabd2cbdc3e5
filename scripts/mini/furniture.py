"""What pages share: headers, footers, page numbers, column frames, and drawn figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from PIL import ImageDraw

from .sheet import Box, Sheet
from .typeset import Style

BODY = Style()
SMALL = Style(px=20, leading=1.28, align="left", after=8)
CAPTION = Style(px=21, leading=1.28, align="center", after=14)
HEADING = Style(latin="serif_bold", cjk="cjk_bold", px=29, align="left", after=12)
TITLE = Style(latin="serif_bold", cjk="cjk_bold", px=44, leading=1.25, align="center", after=20)
CODE_PX = 20


@dataclass(frozen=True, slots=True)
class PageSpec:
    """A page of the set: its file, its attributes, and the function that draws it."""

    file: str
    draw: Callable[[Sheet], None]
    source: str
    language: str
    layout: str
    issues: tuple[str, ...] = ()
    subset: str = "base"
    size: tuple[int, int] = (1240, 1754)
    paper: str = "white"
    faces: tuple[str, ...] = field(default=("serif",))


def header(sheet: Sheet, text: str, y: int = 70, margin: int = 110, align: str = "left") -> None:
    """A running head above a hairline."""
    sheet.text("header", text, margin, y, sheet.width - 2 * margin, SMALL.but(align=align))
    sheet.pen.line((margin, y + 36, sheet.width - margin, y + 36), fill="#777777", width=1)


def footer(sheet: Sheet, text: str, y: int | None = None, margin: int = 110) -> None:
    """A line at the foot of the page."""
    y = sheet.height - 78 if y is None else y
    sheet.text("footer", text, margin, y, sheet.width - 2 * margin - 120, SMALL)


def page_number(sheet: Sheet, text: str, y: int | None = None, align: str = "center", margin: int = 110) -> None:
    """The page number."""
    y = sheet.height - 78 if y is None else y
    sheet.text("page_number", text, margin, y, sheet.width - 2 * margin, SMALL.but(align=align))


def columns(
    sheet: Sheet, count: int, top: int, bottom: int, margin: int = 110, gutter: int = 40
) -> list[tuple[int, int, int, int]]:
    """Frames of equal columns between two heights."""
    width = (sheet.width - 2 * margin - (count - 1) * gutter) // count
    return [(margin + number * (width + gutter), top, width, bottom - top) for number in range(count)]


def footnote(sheet: Sheet, text: str, x: int, y: int, width: int) -> None:
    """A page footnote below a short rule."""
    sheet.pen.line((x, y - 10, x + 200, y - 10), fill="black", width=1)
    sheet.text("page_footnote", text, x, y, width, SMALL.but(align="justify"))


def code(
    sheet: Sheet, lines: Sequence[str], x: int, y: int, width: int, px: int = CODE_PX
) -> tuple[dict[str, Any], int]:
    """A listing on a grey ground; returns its truth object and the y below it."""
    from .fonts import font

    face, step, pad = font("mono", px), round(px * 1.4), 14
    bottom = y + step * len(lines) + 2 * pad
    sheet.pen.rectangle((x, y, x + width, bottom), fill="#f1f1ee", outline="#c9c9c2")
    spans = []
    for number, line in enumerate(lines):
        baseline = y + pad + number * step + px
        sheet.pen.text((x + pad, baseline), line, font=face, fill="black", anchor="ls")
        if line.strip():
            start = x + pad + round(face.getlength(line[: len(line) - len(line.lstrip())]))
            spans.append(
                (line.strip(), (start, baseline - px, x + pad + round(face.getlength(line)), baseline + px // 4))
            )
    from .sheet import poly

    block = sheet.add(
        "code_txt",
        (x, y, x + width, bottom),
        text="\n".join(lines),
        line_with_spans=[{"category_type": "text_span", "poly": poly(box), "text": text} for text, box in spans],
        attribute={"text_language": "text_english", "text_background": "single_colored", "text_rotate": "normal"},
    )
    return block, bottom + 16


def bar_chart(
    values: Sequence[float], labels: Sequence[str], colour: str = "#56779c"
) -> Callable[[ImageDraw.ImageDraw, Box], None]:
    """A bar chart as a figure."""

    def draw(pen: ImageDraw.ImageDraw, box: Box) -> None:
        from .fonts import font

        x1, y1, x2, y2 = box
        pen.rectangle(box, outline="#999999")
        base, step = y2 - 44, (x2 - x1 - 60) / len(values)
        for number, (value, label) in enumerate(zip(values, labels, strict=True)):
            left = x1 + 40 + number * step
            top = base - (base - y1 - 30) * value / max(values)
            pen.rectangle((left, top, left + step * 0.62, base), fill=colour)
            pen.text((left + step * 0.31, base + 10), label, font=font("sans", 15), fill="#333333", anchor="ma")
        pen.line((x1 + 30, base, x2 - 16, base), fill="black", width=2)
        pen.line((x1 + 30, y1 + 16, x1 + 30, base), fill="black", width=2)

    return draw


def curve_plot(periods: float, colour: str = "#a04030") -> Callable[[ImageDraw.ImageDraw, Box], None]:
    """A damped oscillation as a figure."""

    def draw(pen: ImageDraw.ImageDraw, box: Box) -> None:
        x1, y1, x2, y2 = box
        pen.rectangle(box, outline="#999999")
        middle, span = (y1 + y2) / 2, x2 - x1 - 60
        pen.line((x1 + 30, middle, x2 - 20, middle), fill="#444444", width=1)
        pen.line((x1 + 30, y1 + 16, x1 + 30, y2 - 16), fill="#444444", width=1)
        points = []
        for step in range(201):
            t = step / 200
            height = math.exp(-2.2 * t) * math.sin(2 * math.pi * periods * t) * (y2 - y1) * 0.42
            points.append((round(x1 + 30 + span * t), round(middle - height)))
        pen.line(points, fill=colour, width=3)

    return draw


def landscape(sky: str = "#cfe0ee", ground: str = "#8aa37b") -> Callable[[ImageDraw.ImageDraw, Box], None]:
    """Hills under a sun as a figure, in place of a photograph."""

    def draw(pen: ImageDraw.ImageDraw, box: Box) -> None:
        x1, y1, x2, y2 = (round(value) for value in box)
        pen.rectangle(box, fill=sky)
        pen.ellipse((x2 - 130, y1 + 30, x2 - 70, y1 + 90), fill="#f4e3a1")
        for number, shade in enumerate(("#a9bcae", ground, "#5f7a58")):
            points = [(x1, y2)]
            for x in range(x1, x2 + 1, 6):
                wave = math.sin((x - x1) / (60 + 25 * number) + number * 2) * (y2 - y1) * 0.09
                points.append((x, round(y2 - (y2 - y1) * (0.52 - 0.15 * number) - wave)))
            pen.polygon([*points, (x2, y2)], fill=shade)
        pen.rectangle(box, outline="#666666")

    return draw
