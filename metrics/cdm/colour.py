"""One colour a token: the normal form becomes LaTeX in which every drawn token has its own colour."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from metrics.cdm.braces import BRACKETS, BracketMatcher, UnreadableError
from metrics.cdm.vocabulary import (
    ACCENT_TOKENS,
    FRACTION_TOKENS,
    PHANTOM_TOKENS,
    ROOT_TOKENS,
    SPAN_TOKENS,
    STYLE_TOKENS,
    UNDRAWN_TOKENS,
)

MAX_COLOURS = 5800
STEP = 15  # distance of two colours in one channel
LEVELS = 255 // STEP + 1

_UNDRAWN_SHAPE = re.compile(r"[{}\[\]^_]|\\(?:begin|end)\{.*?\}|\\.*(?:rule|line)")


def colour_of(number: int) -> tuple[int, int, int]:
    """RGB of the token with this number (from 0); black is left to what is no token."""
    code = number + 1
    return code // LEVELS**2 * STEP, code // LEVELS % LEVELS * STEP, code % LEVELS * STEP


@dataclass(frozen=True, slots=True)
class Coloured:
    """LaTeX with colours, and the tokens in the order of their colours; `colours` of them can be told apart."""

    latex: str
    tokens: tuple[str, ...]
    colours: int


def colour(normal_form: str) -> Coloured:
    """Colour a normal form. Raises UnreadableError where the official scorer gives up."""
    row = normal_form.strip().split(" ")
    colours = min(len(row), MAX_COLOURS)
    painter = _Painter(row, colours)
    try:
        painter.paint_all()
    except (IndexError, RecursionError) as error:
        raise UnreadableError("a macro without its argument, or too much nesting") from error
    return Coloured(" ".join(painter.row), tuple(painter.painted), colours)


class _Painter:
    """Walks over the tokens and puts `\\mathcolor` around each that draws.

    Quirk: closing braces that are added on the way shift all later positions, while the end of an argument
    that is being walked keeps its number. The tail of such an argument is therefore walked from outside,
    and the token that has moved to the old end is skipped.
    """

    def __init__(self, row: Sequence[str], colours: int) -> None:
        self.row = list(row)
        self.painted: list[str] = []
        self._colours = colours
        self._matcher = BracketMatcher()

    def paint_all(self) -> None:
        position = 0
        while position < len(self.row):
            position = self._paint(position)

    def _paint(self, position: int, *, isolate: bool = False) -> int:
        """Paint the token at a position and return the position to go on from, which is always further on."""
        following = self._paint_token(position, isolate=isolate)
        if following <= position:
            raise UnreadableError("an argument that ends before it begins")
        return following

    def _paint_token(self, position: int, *, isolate: bool) -> int:
        token = self.row[position]
        if not token:
            return position + 1
        for names, paint in _PAINTERS:
            if token in names:
                return paint(self, position)
        if token in UNDRAWN_TOKENS or _UNDRAWN_SHAPE.match(token):
            return self._paint_bracket(position)
        self._wrap(position, isolate=isolate or (position > 1 and self.row[position - 1] == "_"))
        return position + 1

    def _open(self, token: str) -> str:
        number = len(self.painted)
        self.painted.append(token)
        if number >= self._colours:
            return f"\\mathcolor[RGB]{{<color_{number}>}}{{"
        red, green, blue = colour_of(number)
        return f"\\mathcolor[RGB]{{{red},{green},{blue}}}{{"

    def _wrap(self, position: int, *, isolate: bool = False) -> None:
        token = self.row[position]
        painted = self._open(token) + token + "}"
        self.row[position] = f"{{{painted}}}" if isolate else painted

    def _open_until(self, position: int, end: int, *, isolate: bool = False) -> None:
        """Colour a macro together with its arguments, the last of which ends at `end`."""
        token = self.row[position]
        opening = self._open(token) + token
        self.row[position] = "{" + opening if isolate else opening
        self.row.insert(end + 1, "}}" if isolate else "}")

    def _walk(self, start: int, end: int, *, isolate: bool = False) -> None:
        position = start
        while position < end:
            position = self._paint(position, isolate=isolate)

    def _closing(self, position: int, pair: tuple[str, str] = ("{", "}")) -> int:
        return self._matcher.closing(self.row, position, pair)

    # --- the kinds of token ---

    def _skip_phantom(self, position: int) -> int:
        end = self._closing(position + 1) if self.row[position + 1] == "{" else position + 1
        return end + 1

    def _paint_fraction(self, position: int) -> int:
        self._open_until(position, self._closing(self._closing(position + 1) + 1))
        return position + 1

    def _paint_accent(self, position: int) -> int:
        end = self._closing(position + 1)
        has_subscript = end + 1 < len(self.row) and self.row[end + 1] == "_"
        self._open_until(position, end, isolate=has_subscript and self.row[position] != "\\underbrace")
        return position + 1

    def _paint_style(self, position: int) -> int:
        end = self._closing(position + 1)
        if end - position == 3:
            self._wrap(position + 2)
        else:
            self._walk(position + 2, end)
        return end + 1

    def _paint_root(self, position: int) -> int:
        if self.row[position + 1] == "{":
            end = self._closing(position + 1)
            self._open_until(position, end)
            self._walk(position + 2, end)
            return end + 1
        if self.row[position + 1] != "[":
            raise UnreadableError("a root without radicand")
        index_end = self._closing(position + 1, BRACKETS)
        end = self._closing(index_end + 1)
        self._open_until(position, end)
        self._walk(position + 2, index_end, isolate=True)
        self._walk(index_end + 2, end)
        return end + 1

    def _paint_span(self, position: int) -> int:
        third = self._closing(self._closing(position + 1) + 1) + 1
        end = self._closing(third)
        self._walk(third + 1, end)
        return end + 1

    def _paint_bracket(self, position: int) -> int:
        """A square bracket draws when it does not belong to a root; other tokens of this kind never do."""
        token = self.row[position]
        opens = token == "[" and self.row[position - 1] != "\\sqrt"
        closes = token == "]" and position >= 3 and self.row[position - 3] != "\\sqrt"
        if opens or closes:
            self._wrap(position)
        return position + 1


_PAINTERS: tuple[tuple[frozenset[str], Callable[[_Painter, int], int]], ...] = (
    (PHANTOM_TOKENS, _Painter._skip_phantom),
    (FRACTION_TOKENS, _Painter._paint_fraction),
    (ACCENT_TOKENS, _Painter._paint_accent),
    (STYLE_TOKENS, _Painter._paint_style),
    (ROOT_TOKENS, _Painter._paint_root),
    (SPAN_TOKENS, _Painter._paint_span),
)
