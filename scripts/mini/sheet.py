"""A page being drawn: each thing drawn leaves its block in the truth, with its place in px."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from PIL import Image, ImageDraw

from .formula import display
from .typeset import Line, Style, atoms_of, break_lines, has_chinese, line_step, natural_width, place

Box = tuple[float, float, float, float]
UNORDERED = frozenset({"header", "footer", "page_number", "page_footnote", "abandon"})


@dataclass(slots=True)
class Sheet:
    """One page: the image, the truth blocks in reading order, relations and page attributes.

    `ground` says what lies behind text, in the words of the `text_background` attribute.
    """

    name: str
    width: int = 1240
    height: int = 1754
    paper: str = "white"
    attributes: dict[str, Any] = field(default_factory=dict)
    ground: str = "white"
    image: Image.Image = field(init=False)
    blocks: list[dict[str, Any]] = field(default_factory=list)
    relations: list[dict[str, Any]] = field(default_factory=list)
    orders: int = 0

    def __post_init__(self) -> None:
        self.image = Image.new("RGB", (self.width, self.height), self.paper)

    @property
    def pen(self) -> ImageDraw.ImageDraw:
        """For rules and ornaments, which are not part of the truth."""
        return ImageDraw.Draw(self.image)

    def add(self, kind: str, box: Box, **content: Any) -> dict[str, Any]:
        """Record a block; returns its truth object."""
        order = None
        if kind not in UNORDERED:
            self.orders += 1
            order = self.orders
        block = {"category_type": kind, "poly": poly(box), "ignore": False, "order": order, "anno_id": len(self.blocks)}
        block |= content
        self.blocks.append(block)
        return block

    def relate(self, kind: str, source: dict[str, Any], target: dict[str, Any]) -> None:
        """Record that two blocks belong together."""
        ends = {"source_anno_id": source["anno_id"], "target_anno_id": target["anno_id"]}
        self.relations.append(ends | {"relation_type": kind})

    def text(self, kind: str, text: str, x: int, y: int, width: int, style: Style) -> tuple[dict[str, Any], int]:
        """Set one block of text; returns its truth object and the y below it, gap included."""
        block, bottom = self.lines(kind, break_lines(atoms_of(text, style), width, style), x, y, width, style)
        return block, bottom + style.after

    def lines(
        self, kind: str, lines: list[Line], x: int, y: int, width: int, style: Style
    ) -> tuple[dict[str, Any], int]:
        """Set lines that are already broken; returns the truth object and the y of the bottom."""
        spans: list[dict[str, Any]] = []
        for line in lines:
            y, found = self._line(line, x, y, width, style)
            spans += found
        text = join_lines(lines)
        block = self.add(
            kind,
            union(box_of(span["poly"]) for span in spans),
            text=text,
            line_with_spans=spans,
            attribute=self.text_attributes(text),
        )
        return block, y

    def text_attributes(self, text: str) -> dict[str, str]:
        """The attributes of a text block in the official vocabulary."""
        return {"text_language": language("text", text), "text_background": self.ground, "text_rotate": "normal"}

    def formula(self, latex: str, x: int, y: int, width: int, px: int, number: str | None = None) -> int:
        """A centred display formula, with its number at the right; returns the y below it."""
        drawn = display(latex, px)
        left = x + (width - drawn.width) // 2
        self.stamp(drawn.ink, left, y, "black")
        box = (left, y, left + drawn.width, y + drawn.ink.height)
        source = f"$$\n{latex}\n$$"
        span = {"category_type": "equation_isolated", "poly": poly(box), "latex": source}
        attribute = {"formula_type": "print", "equation_language": "equation_en"}
        self.add("equation_isolated", box, latex=source, line_with_spans=[span], attribute=attribute)
        if number is not None:
            style = Style(px=px, align="right")
            self.text("equation_caption", number, x, y + drawn.ink.height // 2 - px * 2 // 3, width, style)
        return y + drawn.ink.height + px * 3 // 4

    def figure(
        self, box: tuple[int, int, int, int], draw: Callable[[ImageDraw.ImageDraw, Box], None]
    ) -> dict[str, Any]:
        """A figure drawn by a function; its own lettering is not part of the truth."""
        draw(self.pen, box)
        return self.add("figure", box)

    def stamp(self, ink: Image.Image, x: int, y: int, colour: str) -> None:
        """Put ink (255 = full) on the page."""
        self.image.paste(colour, (x, y, x + ink.width, y + ink.height), ink)

    def _line(self, line: Line, x: int, y: int, width: int, style: Style) -> tuple[int, list[dict[str, Any]]]:
        ascent = max(atom.ascent for atom in line.atoms)
        descent = max(atom.descent for atom in line.atoms)
        baseline = y + max(ascent, round(style.px * 0.95))
        pen = self.pen
        spans: list[dict[str, Any]] = []
        for atom, left in place(line, x, width, style):
            if atom.drawn is not None:
                self.stamp(atom.drawn.ink, left + 1, baseline - atom.ascent, style.ink)
            elif atom.face is not None:
                pen.text((left, baseline), atom.text, font=atom.face, fill=style.ink, anchor="ls")
            box = (left, baseline - atom.ascent, left + atom.width, baseline + atom.descent)
            _extend(spans, atom.kind, (" " if atom.space else "") + atom.text, box)
        for span in spans:
            span["poly"] = poly(span["poly"])
        step = line_step(style)
        return y + max(
            step, baseline - y + descent + 3 if descent > style.px * 0.3 or ascent > style.px else step
        ), spans


def _extend(spans: list[dict[str, Any]], kind: str, text: str, box: Box) -> None:
    if kind == "text_span" and spans and spans[-1]["category_type"] == "text_span":
        spans[-1]["text"] += text
        spans[-1]["poly"] = union([spans[-1]["poly"], box])
        return
    key = "text" if kind == "text_span" else "latex"
    spans.append({"category_type": kind, "poly": box, key: text.strip()})


def join_lines(lines: list[Line]) -> str:
    """The text of lines put together again, as one paragraph."""
    text = ""
    for line in lines:
        blank = bool(text) and line.atoms[0].space
        text += (" " if blank else "") + line.text
    return text


def poly(box: Box) -> list[float]:
    """The four corners of a box, clockwise from the top left."""
    x1, y1, x2, y2 = (round(float(value), 1) for value in box)
    return [x1, y1, x2, y1, x2, y2, x1, y2]


def box_of(corners: list[float]) -> Box:
    """The box around four corners."""
    xs, ys = corners[0::2], corners[1::2]
    return min(xs), min(ys), max(xs), max(ys)


def union(boxes: Iterable[Box]) -> Box:
    """The box around boxes."""
    listed = list(boxes)
    return (
        min(box[0] for box in listed),
        min(box[1] for box in listed),
        max(box[2] for box in listed),
        max(box[3] for box in listed),
    )


def language(prefix: str, text: str) -> str:
    """The language attribute of a text: English, simplified Chinese, or mixed from a fifth of Latin letters on."""
    chinese = sum("一" <= char <= "鿿" for char in text)
    latin = sum(char.isascii() and char.isalpha() for char in text)
    suffix = {
        "text": ("english", "simplified_chinese", "en_ch_mixed"),
        "table": ("en", "simplified_chinese", "en_ch_mixed"),
    }
    english, simplified, mixed = suffix[prefix]
    if not has_chinese(text) or not chinese:
        return f"{prefix}_{english}"
    return f"{prefix}_{mixed if latin > chinese / 2 else simplified}"


@dataclass(slots=True)
class Flow:
    """Text that runs through frames (x, y, width, height), one after the other, as columns do."""

    sheet: Sheet
    frames: list[tuple[int, int, int, int]]
    number: int = 0
    y: int = field(init=False)

    def __post_init__(self) -> None:
        self.y = self.frames[0][1]

    @property
    def frame(self) -> tuple[int, int, int, int]:
        """The current frame."""
        return self.frames[self.number]

    @property
    def room(self) -> int:
        """Height in px that is left in the current frame."""
        return self.frame[1] + self.frame[3] - self.y

    def turn(self) -> None:
        """Go on at the top of the next frame."""
        self.number += 1
        self.y = self.frame[1]

    def text(self, text: str, style: Style, kind: str = "text_block") -> dict[str, Any]:
        """Set a paragraph; one that does not fit is truncated and goes on in the next frame."""
        rest = break_lines(atoms_of(text, style), self.frame[2], style)
        previous: dict[str, Any] | None = None
        while True:
            fitting = max(0, self.room // line_step(style))
            if fitting < 2 and len(rest) > fitting:
                self.turn()
                continue
            head, rest = rest[:fitting], rest[fitting:]
            block, self.y = self.sheet.lines(kind, head, self.frame[0], self.y, self.frame[2], style)
            if previous is not None:
                self.sheet.relate("truncated", previous, block)
            if not rest:
                self.y += style.after
                return block
            previous = block
            self.turn()

    def texts(self, paragraphs: Iterable[str], style: Style, kind: str = "text_block") -> None:
        """Set several paragraphs."""
        for paragraph in paragraphs:
            self.text(paragraph, style, kind)

    def formula(self, latex: str, px: int, number: str | None = None) -> None:
        """Set a display formula, in the next frame where it does not fit."""
        if self.room < display(latex, px).ink.height:
            self.turn()
        self.y = self.sheet.formula(latex, self.frame[0], self.y + 4, self.frame[2], px, number)

    def items(self, items: Iterable[str], style: Style, hang: int = 34) -> dict[str, Any]:
        """Set a list: one block whose items are merged parts, as the annotation has it."""
        parts: list[dict[str, Any]] = []
        sheet, (x, _, width, _) = self.sheet, self.frame
        for item in items:
            marker, _, body = item.partition(" ")
            first = sheet.orders
            sheet.pen.text(
                (x, self.y + round(style.px * 0.95)), marker, font=_marker_font(style), fill=style.ink, anchor="ls"
            )
            part, self.y = sheet.text("text_block", body, x + hang, self.y, width - hang, style)
            sheet.blocks.pop()
            sheet.orders = first
            left = [x, *part["poly"][1:6], x, part["poly"][7]]
            part["line_with_spans"][0]["text"] = f"{marker} {part['line_with_spans'][0]['text']}"
            parts.append(part | {"text": item, "poly": left, "anno_id": len(sheet.blocks) + len(parts) + 1})
        text = "\n".join(part["text"] for part in parts)
        box = union(box_of(part["poly"]) for part in parts)
        block = sheet.add("text_block", box, text=text, merge_list=parts, attribute=sheet.text_attributes(text))
        for number, part in enumerate(parts):
            part["order"] = block["order"]
            part["anno_id"] = 1000 * (block["anno_id"] + 1) + number
        return block


def _marker_font(style: Style) -> Any:
    from .fonts import font

    return font(style.latin, style.px)


def centred_width(text: str, style: Style) -> int:
    """Natural width of a text in px."""
    return natural_width(atoms_of(text, style), style)
