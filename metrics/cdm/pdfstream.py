"""What a page draws: glyphs at their origins and filled or stroked areas, each with its colour."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from metrics.cdm.glyphs import Font, FontCase
from metrics.cdm.pdfsyntax import Lexer, Operator, PdfError, PdfFile, Stream

Colour = tuple[float, float, float]  # 0 to 1
Matrix = tuple[float, float, float, float, float, float]

IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
BLACK: Colour = (0.0, 0.0, 0.0)
MAX_FORM_DEPTH = 8
DEVICE_GRID = 256 * 200 / 72  # steps a point: Ghostscript divides a pixel of the 200 dpi picture into 256
MAX_SAVED_STATES = 10_000


@dataclass(frozen=True, slots=True)
class Glyph:
    """A character: its outline (font units over 1000) goes through `matrix`, whose last two numbers are the origin."""

    font: Font
    code: int
    matrix: Matrix
    colour: Colour


@dataclass(frozen=True, slots=True)
class Area:
    """A filled or stroked area by its bounds, in points from the page's lower left corner."""

    x1: float
    y1: float
    x2: float
    y2: float
    colour: Colour


@dataclass(frozen=True, slots=True)
class PageMarks:
    """A page's size in points and all it draws, in drawing order."""

    width: float
    height: float
    marks: tuple[Glyph | Area, ...]


def multiply(first: Matrix, second: Matrix) -> Matrix:
    """The transformation that does `first`, then `second`."""
    a, b, c, d, e, f = first
    p, q, r, s, t, u = second
    return (a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u)


def read_pages(data: bytes, case: FontCase) -> list[PageMarks]:
    """Marks of every page. Raises PdfError for bytes that cannot be read."""
    try:
        pdf = PdfFile(data)
        return [_read_page(pdf, page, case) for page in pdf.pages()]
    except (TypeError, KeyError, IndexError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        raise PdfError(f"a PDF that cannot be read: {error}") from error


def _read_page(pdf: PdfFile, page: Mapping[str, Any], case: FontCase) -> PageMarks:
    left, bottom, right, top = (float(pdf.get(edge)) for edge in pdf.get(page["MediaBox"]))
    contents = pdf.get(page.get("Contents"))
    streams = [pdf.get(part) for part in contents] if isinstance(contents, list) else [contents]
    data = b"\n".join(stream.data for stream in streams if isinstance(stream, Stream))
    interpreter = _Interpreter(pdf, case, (1.0, 0.0, 0.0, 1.0, -left, -bottom))
    interpreter.run(data, pdf.get(page.get("Resources")) or {})
    return PageMarks(right - left, top - bottom, tuple(interpreter.marks))


@dataclass(slots=True)
class _State:
    """The graphics state that `q` saves a copy of."""

    matrix: Matrix
    fill: Colour = BLACK
    stroke: Colour = BLACK
    line_width: float = 1.0
    square_caps: bool = False
    font: Font | None = None
    font_size: float = 0.0
    char_space: float = 0.0
    word_space: float = 0.0
    stretch: float = 1.0
    leading: float = 0.0
    rise: float = 0.0
    invisible: bool = False


@dataclass(slots=True)
class _Interpreter:
    """Runs the operators of a content stream and collects what they draw."""

    pdf: PdfFile
    case: FontCase
    matrix: Matrix
    marks: list[Glyph | Area] = field(default_factory=list)
    depth: int = 0
    state: _State = field(init=False)
    saved: list[_State] = field(default_factory=list)
    text_matrix: Matrix = IDENTITY
    line_matrix: Matrix = IDENTITY
    path: list[tuple[float, float]] = field(default_factory=list)
    resources: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.state = _State(self.matrix)

    def run(self, data: bytes, resources: Mapping[str, Any]) -> None:
        self.resources = resources
        operands: list[Any] = []
        for value in Lexer(data):
            if not isinstance(value, Operator):
                operands.append(value)
                continue
            action = _ACTIONS.get(bytes(value))
            if action is not None:
                action(self, operands)
            operands = []

    # --- state ---

    def set(self, name: str, value: Any) -> None:
        setattr(self.state, name, value)

    def save(self) -> None:
        if len(self.saved) >= MAX_SAVED_STATES:
            raise PdfError("graphics states saved without end")
        self.saved.append(copy(self.state))

    def restore(self) -> None:
        if self.saved:
            self.state = self.saved.pop()

    # --- text ---

    def start_line(self, matrix: Matrix) -> None:
        self.text_matrix = self.line_matrix = matrix

    def move(self, x: float, y: float) -> None:
        self.start_line(multiply((1.0, 0.0, 0.0, 1.0, x, y), self.line_matrix))

    def select_font(self, name: str, size: float) -> None:
        fonts = self.pdf.get(self.resources.get("Font")) or {}
        self.state.font = self.case.font(self.pdf, fonts.get(name))
        self.state.font_size = float(size)

    def show(self, parts: Sequence[Any]) -> None:
        for part in parts:
            if isinstance(part, bytes):
                for code in part:
                    self._show_code(code)
            else:
                self._advance(-part / 1000 * self.state.font_size * self.state.stretch)

    def _show_code(self, code: int) -> None:
        state = self.state
        if state.font is None:
            return
        size = state.font_size
        if not state.invisible:
            local: Matrix = (size * state.stretch / 1000, 0.0, 0.0, size / 1000, 0.0, state.rise)
            matrix = multiply(multiply(local, self.text_matrix), state.matrix)
            self.marks.append(Glyph(state.font, code, matrix, state.fill))
        spacing = state.char_space + (state.word_space if code == 32 else 0.0)
        self._advance(_on_device_grid((state.font.width(code) / 1000 * size + spacing) * state.stretch))

    def _advance(self, distance: float) -> None:
        self.text_matrix = multiply((1.0, 0.0, 0.0, 1.0, distance, 0.0), self.text_matrix)

    # --- areas ---

    def add_points(self, *coordinates: float) -> None:
        a, b, c, d, e, f = self.state.matrix
        for x, y in zip(coordinates[::2], coordinates[1::2], strict=True):
            self.path.append((a * x + c * y + e, b * x + d * y + f))

    def add_rectangle(self, x: float, y: float, width: float, height: float) -> None:
        self.add_points(x, y, x + width, y, x + width, y + height, x, y + height)

    def paint(self, *, fill: bool, stroke: bool) -> None:
        """Finish the path: an area for its inside, one for its line, which is as thick as the current width."""
        if self.path and fill:
            self._add_area(0.0, 0.0, self.state.fill)
        if self.path and stroke:
            self._add_stroke()
        self.path = []

    def _add_stroke(self) -> None:
        a, b, c, d, _, _ = self.state.matrix
        half = self.state.line_width / 2
        (x1, y1), (x2, y2) = self.path[0], self.path[-1]
        straight = len(self.path) == 2 and not self.state.square_caps
        across_x = 0.0 if straight and y1 == y2 else half * abs(complex(a, c))
        across_y = 0.0 if straight and x1 == x2 else half * abs(complex(b, d))
        self._add_area(across_x, across_y, self.state.stroke)

    def _add_area(self, grow_x: float, grow_y: float, colour: Colour) -> None:
        xs, ys = zip(*self.path, strict=True)
        self.marks.append(Area(min(xs) - grow_x, min(ys) - grow_y, max(xs) + grow_x, max(ys) + grow_y, colour))

    def draw_form(self, name: str) -> None:
        form = self.pdf.get((self.pdf.get(self.resources.get("XObject")) or {}).get(name))
        if not isinstance(form, Stream) or form.entries.get("Subtype") != "Form":
            return
        if self.depth >= MAX_FORM_DEPTH:
            raise PdfError("forms within forms without end")
        matrix = tuple(float(number) for number in form.entries.get("Matrix", IDENTITY))
        inner = _Interpreter(self.pdf, self.case, IDENTITY, self.marks, self.depth + 1)
        inner.state = copy(self.state)
        inner.state.matrix = multiply(_matrix(matrix), self.state.matrix)
        inner.run(form.data, self.pdf.get(form.entries.get("Resources")) or self.resources)


def _on_device_grid(width: float) -> float:
    """A character's width as Ghostscript adds it up: whole steps of its device grid, the rest cut off.

    Over a long line the cuts add up, until an origin lies on another pixel.
    """
    return int(width * DEVICE_GRID) / DEVICE_GRID


def _matrix(numbers: Sequence[Any]) -> Matrix:
    a, b, c, d, e, f = (float(number) for number in numbers)
    return (a, b, c, d, e, f)


def _rgb(red: float, green: float, blue: float) -> Colour:
    return (float(red), float(green), float(blue))


def _grey(level: float) -> Colour:
    return (float(level), float(level), float(level))


def _from_cmyk(cyan: float, magenta: float, yellow: float, black: float) -> Colour:
    return (1 - min(1.0, cyan + black), 1 - min(1.0, magenta + black), 1 - min(1.0, yellow + black))


def _show_next_line(run: _Interpreter, parts: Sequence[Any]) -> None:
    run.move(0, -run.state.leading)
    run.show(parts)


def _set_leading_and_move(run: _Interpreter, x: float, y: float) -> None:
    run.state.leading = -y
    run.move(x, y)


_ACTIONS: dict[bytes, Callable[[_Interpreter, list[Any]], None]] = {
    b"q": lambda run, _: run.save(),
    b"Q": lambda run, _: run.restore(),
    b"cm": lambda run, numbers: run.set("matrix", multiply(_matrix(numbers), run.state.matrix)),
    b"w": lambda run, numbers: run.set("line_width", float(numbers[0])),
    b"J": lambda run, numbers: run.set("square_caps", numbers[0] != 0),
    b"g": lambda run, numbers: run.set("fill", _grey(numbers[0])),
    b"G": lambda run, numbers: run.set("stroke", _grey(numbers[0])),
    b"rg": lambda run, numbers: run.set("fill", _rgb(*numbers)),
    b"RG": lambda run, numbers: run.set("stroke", _rgb(*numbers)),
    b"k": lambda run, numbers: run.set("fill", _from_cmyk(*numbers)),
    b"K": lambda run, numbers: run.set("stroke", _from_cmyk(*numbers)),
    b"BT": lambda run, _: run.start_line(IDENTITY),
    b"Tf": lambda run, given: run.select_font(given[0], given[1]),
    b"Td": lambda run, numbers: run.move(numbers[0], numbers[1]),
    b"TD": lambda run, numbers: _set_leading_and_move(run, numbers[0], numbers[1]),
    b"Tm": lambda run, numbers: run.start_line(_matrix(numbers)),
    b"T*": lambda run, _: run.move(0, -run.state.leading),
    b"Tc": lambda run, numbers: run.set("char_space", float(numbers[0])),
    b"Tw": lambda run, numbers: run.set("word_space", float(numbers[0])),
    b"Tz": lambda run, numbers: run.set("stretch", numbers[0] / 100),
    b"TL": lambda run, numbers: run.set("leading", float(numbers[0])),
    b"Ts": lambda run, numbers: run.set("rise", float(numbers[0])),
    b"Tr": lambda run, numbers: run.set("invisible", numbers[0] in (3, 7)),
    b"Tj": lambda run, strings: run.show(strings),
    b"TJ": lambda run, arrays: run.show(arrays[0]),
    b"'": lambda run, strings: _show_next_line(run, strings),
    b"m": lambda run, numbers: run.add_points(*numbers),
    b"l": lambda run, numbers: run.add_points(*numbers),
    b"c": lambda run, numbers: run.add_points(*numbers),
    b"v": lambda run, numbers: run.add_points(*numbers),
    b"y": lambda run, numbers: run.add_points(*numbers),
    b"re": lambda run, numbers: run.add_rectangle(*numbers),
    b"n": lambda run, _: run.paint(fill=False, stroke=False),
    b"Do": lambda run, names: run.draw_form(names[0]),
    **dict.fromkeys((b"f", b"F", b"f*"), lambda run, _: run.paint(fill=True, stroke=False)),
    **dict.fromkeys((b"S", b"s"), lambda run, _: run.paint(fill=False, stroke=True)),
    **dict.fromkeys((b"B", b"B*", b"b", b"b*"), lambda run, _: run.paint(fill=True, stroke=True)),
}
