"""Text as lines: words, Chinese characters and inline formulas, broken and placed on a measure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from PIL import ImageFont

from .fonts import font
from .formula import Drawn, expression

_PIECE = re.compile(r"\$[^$]*\$|[ \n]+|[^\s$]+")
_CJK = re.compile(r"[⺀-〿㐀-䶿一-鿿！-￯—…“”‘’·]")
_NOT_FIRST = frozenset("，。、；：？！）》」』”’…—·%,.;:?!)")
_NOT_LAST = frozenset("（《「『“‘(")
_CHINESE_QUOTES = frozenset("“”‘’—…·")


@dataclass(frozen=True, slots=True)
class Style:
    """How a text is set; sizes in px. `after` is the room below the block."""

    latin: str = "serif"
    cjk: str = "cjk"
    px: int = 25
    leading: float = 1.34
    align: str = "justify"
    indent: int = 0
    ink: str = "black"
    after: int = 12

    def but(self, **changes: object) -> Style:
        """The same style with some values changed."""
        return replace(self, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Atom:
    """What a line break cannot split. `space`: a blank stands before it. `glued`: no break before it."""

    text: str
    kind: str
    space: bool
    width: int
    ascent: int
    descent: int
    glued: bool = False
    face: ImageFont.FreeTypeFont | None = None
    drawn: Drawn | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One line; `ends` marks the last line of a paragraph, which is not stretched."""

    atoms: tuple[Atom, ...]
    ends: bool
    indent: int = 0

    @property
    def text(self) -> str:
        """The truth of the line."""
        return join(self.atoms)


def join(atoms: tuple[Atom, ...]) -> str:
    """The text of atoms, with the blanks between them."""
    return "".join((" " if atom.space and number else "") + atom.text for number, atom in enumerate(atoms))


def is_cjk(char: str) -> bool:
    """Whether a character is set in the Chinese face."""
    return bool(_CJK.match(char))


def has_chinese(text: str) -> bool:
    """Whether a text holds Chinese, rather than mere quotation marks and dashes."""
    return any(is_cjk(char) and char not in _CHINESE_QUOTES for char in text)


def atoms_of(text: str, style: Style) -> list[Atom]:
    """The atoms of a text in which `$…$` is an inline formula and `$^{…}$` a footnote mark."""
    chinese = has_chinese(text)
    atoms: list[Atom] = []
    space = False
    for piece in _PIECE.findall(text):
        if piece.isspace():
            space = True
            continue
        if piece.startswith("$"):
            atoms.append(_formula_atom(piece, space, style))
        else:
            atoms += _text_atoms(piece, space, style, chinese)
        space = False
    return atoms


def break_lines(atoms: list[Atom], width: int, style: Style) -> list[Line]:
    """Greedy lines on a measure in px; the first one is indented."""
    lines: list[Line] = []
    start, indent = 0, style.indent
    while start < len(atoms):
        end = _fit(atoms, start, width - indent, style)
        lines.append(Line(tuple(atoms[start:end]), end == len(atoms), indent))
        start, indent = end, 0
    return lines


def natural_width(atoms: tuple[Atom, ...] | list[Atom], style: Style) -> int:
    """Width in px without stretching."""
    blanks = sum(atom.space for atom in atoms[1:])
    return sum(atom.width for atom in atoms) + blanks * blank(style)


def place(line: Line, x: int, width: int, style: Style) -> list[tuple[Atom, int]]:
    """Each atom of a line with its x in px."""
    measure = width - line.indent
    slack = measure - natural_width(line.atoms, style)
    x += line.indent
    if style.align == "center":
        x += slack // 2
    elif style.align == "right":
        x += slack
    stretch = style.align == "justify" and not line.ends
    gaps = [number for number, atom in enumerate(line.atoms) if number and (atom.space or not _is_latin(line, number))]
    placed: list[tuple[Atom, int]] = []
    passed = 0
    for number, atom in enumerate(line.atoms):
        if number and atom.space:
            x += blank(style)
        extra = 0
        if stretch and gaps and number in gaps:
            passed += 1
        if stretch and gaps:
            extra = slack * passed // len(gaps)
        placed.append((atom, x + extra))
        x += atom.width
    return placed


def blank(style: Style) -> int:
    """Width of a blank in px."""
    return max(3, round(font(style.latin, style.px).getlength(" ")))


def line_step(style: Style) -> int:
    """Distance of two baselines in px."""
    return round(style.px * style.leading)


def _is_latin(line: Line, number: int) -> bool:
    """Whether the joint before an atom lies inside Latin text, where no room may be added."""
    return not (is_cjk(line.atoms[number].text[0]) or is_cjk(line.atoms[number - 1].text[-1]))


def _fit(atoms: list[Atom], start: int, width: int, style: Style) -> int:
    used = 0
    end = start
    while end < len(atoms):
        atom = atoms[end]
        used += atom.width + (blank(style) if atom.space and end > start else 0)
        if used > width and end > start:
            break
        end += 1
    while end < len(atoms) and end > start + 1 and (atoms[end].glued or atoms[end - 1].text in _NOT_LAST):
        end -= 1
    return end


def _formula_atom(piece: str, space: bool, style: Style) -> Atom:
    latex = piece.strip("$").strip()
    is_mark = latex.startswith("^")
    drawn = expression(("{}" if is_mark else "") + latex, round(style.px * 0.98))
    kind = "footnote_mark" if is_mark else "equation_inline"
    return Atom(piece, kind, space, drawn.width + 2, drawn.ascent, drawn.descent, not space, drawn=drawn)


def _text_atoms(piece: str, space: bool, style: Style, chinese: bool) -> list[Atom]:
    runs: list[str] = []
    for char in piece:
        alone = chinese and is_cjk(char)
        if alone or not runs or (chinese and is_cjk(runs[-1][-1])):
            runs.append(char)
        else:
            runs[-1] += char
    atoms = []
    for number, run in enumerate(runs):
        face = font(style.cjk if chinese and is_cjk(run[0]) else style.latin, style.px)
        ascent, descent = round(style.px * 0.86), round(style.px * 0.24)
        glued = run[0] in _NOT_FIRST if chinese else number > 0
        width = round(face.getlength(run))
        atoms.append(Atom(run, "text_span", space and number == 0, width, ascent, descent, glued, face))
    return atoms
