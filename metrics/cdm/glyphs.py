"""Bounds of glyph outlines, from the fonts inside a PDF: Type 1 outlines and the bitmaps of Type 3 fonts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from fontTools.encodings.StandardEncoding import StandardEncoding
from fontTools.misc.eexec import decrypt
from fontTools.misc.psCharStrings import T1CharString
from fontTools.pens.boundsPen import BoundsPen

from metrics.cdm.pdfsyntax import Lexer, PdfFile, Stream

Bounds = tuple[float, float, float, float]  # x1 y1 x2 y2 in thousandths of the font size

_EEXEC_KEY = 55665
_CHARSTRING_KEY = 4330
_ENCODING_ENTRY = re.compile(rb"dup\s+(\d+)\s*/(\S+)\s+put")
_SUBROUTINE = re.compile(rb"dup\s+(\d+)\s+(\d+)\s+(?:RD|-\|)\s")
_CHARSTRING = re.compile(rb"/(\S+)\s+(\d+)\s+(?:RD|-\|)\s")
_RANDOM_BYTES = re.compile(rb"/lenIV\s+(\d+)")


class Font:
    """Widths and bounds of one font's characters by their codes. `name` is its PostScript name, "" without one."""

    def __init__(
        self, name: str, first_code: int, widths: Iterable[float], glyphs: Glyphs, names: Mapping[int, str]
    ) -> None:
        self.name = name
        self._first_code = first_code
        self._widths = tuple(widths)
        self._glyphs = glyphs
        self._names = names

    def width(self, code: int) -> float:
        """Distance to the next origin, in thousandths of the font size."""
        index = code - self._first_code
        return self._widths[index] if 0 <= index < len(self._widths) else 0.0

    def bounds(self, code: int) -> Bounds | None:
        """Bounds of a character's ink; None when it has none."""
        return self._glyphs.bounds(self.glyph_name(code))

    @property
    def has_outlines(self) -> bool:
        """False for the bitmaps of a Type 3 font."""
        return isinstance(self._glyphs, OutlineGlyphs)

    def glyph_name(self, code: int) -> str:
        """The name that the encoding gives a character."""
        return self._names.get(code, ".notdef")


class Glyphs(Protocol):
    """Bounds by glyph name."""

    def bounds(self, name: str) -> Bounds | None:
        """Bounds of a glyph's ink; None when it has none."""
        ...


class FontCase:
    """Fonts met so far; outlines are kept across PDFs by PostScript name, since pdfTeX embeds its own files only."""

    def __init__(self) -> None:
        self._outlines: dict[str, dict[str, Bounds | None]] = {}
        self._fonts: dict[tuple[int, int], Font | None] = {}
        self._owners: list[PdfFile] = []

    def font(self, pdf: PdfFile, reference: Any) -> Font | None:
        """The font behind a resource entry; None for one of an unknown type."""
        if not self._owners or self._owners[-1] is not pdf:
            self._owners, self._fonts = [pdf], {}
        key = (id(pdf), hash(reference) if not isinstance(reference, dict) else id(reference))
        if key not in self._fonts:
            entries = pdf.get(reference)
            self._fonts[key] = self._load(pdf, entries) if isinstance(entries, dict) else None
        return self._fonts[key]

    def _load(self, pdf: PdfFile, entries: Mapping[str, Any]) -> Font | None:
        first = pdf.get(entries.get("FirstChar")) or 0
        widths = [float(pdf.get(width)) for width in pdf.get(entries.get("Widths")) or ()]
        subtype = pdf.get(entries.get("Subtype"))
        differences = _differences(pdf, entries)
        if subtype == "Type3":
            scale = float(pdf.get(entries["FontMatrix"])[0]) * 1000
            bitmaps = BitmapGlyphs(pdf, pdf.get(entries["CharProcs"]), scale)
            return Font("", first, [width * scale for width in widths], bitmaps, differences)
        descriptor = pdf.get(entries.get("FontDescriptor"))
        program = pdf.get(descriptor.get("FontFile")) if descriptor else None
        if subtype != "Type1" or not isinstance(program, Stream):
            return None
        name = str(entries["BaseFont"]).split("+")[-1]
        outlines = OutlineGlyphs(program, int(pdf.get(program.entries["Length1"])), self._outlines.setdefault(name, {}))
        return Font(name, first, widths, outlines, outlines.encoding() | differences)


def _differences(pdf: PdfFile, entries: Mapping[str, Any]) -> dict[int, str]:
    encoding = pdf.get(entries.get("Encoding"))
    names: dict[int, str] = {}
    code = 0
    for item in pdf.get(encoding.get("Differences")) or () if isinstance(encoding, dict) else ():
        if isinstance(item, int):
            code = item
        else:
            names[code] = str(item)
            code += 1
    return names


class OutlineGlyphs:
    """Type 1 outlines; decrypted only when a glyph is met for the first time."""

    def __init__(self, program: Stream, clear_bytes: int, known: dict[str, Bounds | None]) -> None:
        self._program = program.data
        self._clear_bytes = clear_bytes
        self._known = known
        self._charstrings: dict[str, T1CharString] | None = None

    def encoding(self) -> dict[int, str]:
        """The font's own encoding."""
        clear = self._program[: self._clear_bytes]
        entries = {int(code): name.decode("latin-1") for code, name in _ENCODING_ENTRY.findall(clear)}
        return entries or dict(enumerate(StandardEncoding))

    def bounds(self, name: str) -> Bounds | None:
        if name not in self._known:
            self._known[name] = self._measure(name)
        return self._known[name]

    def _measure(self, name: str) -> Bounds | None:
        if self._charstrings is None:
            self._charstrings = read_charstrings(self._program[self._clear_bytes :])
        if name not in self._charstrings:
            return None
        pen = BoundsPen(self._charstrings)
        self._charstrings[name].draw(pen)
        if pen.bounds is None:
            return None
        x1, y1, x2, y2 = pen.bounds
        return (float(x1), float(y1), float(x2), float(y2))


def read_charstrings(encrypted: bytes) -> dict[str, T1CharString]:
    """Glyph programs by name, from the encrypted part of a Type 1 font."""
    private, _ = decrypt(encrypted, _EEXEC_KEY)
    skipped = _RANDOM_BYTES.search(private)
    random_bytes = int(skipped[1]) if skipped else 4

    def program(found: re.Match[bytes]) -> bytes:
        plain, _ = decrypt(private[found.end() : found.end() + int(found[2])], _CHARSTRING_KEY)
        return bytes(plain[random_bytes:])

    split = private.find(b"/CharStrings")
    subroutines: dict[int, T1CharString] = {}
    for found in _walk(_SUBROUTINE, private, 0, split):
        subroutines[int(found[1])] = T1CharString(program(found))
    table = [subroutines.get(number) for number in range(max(subroutines, default=-1) + 1)]
    return {
        found[1].decode("latin-1"): T1CharString(program(found), subrs=table)
        for found in _walk(_CHARSTRING, private, split + len(b"/CharStrings"), len(private))
    }


def _walk(pattern: re.Pattern[bytes], data: bytes, start: int, end: int) -> Iterable[re.Match[bytes]]:
    """Matches in order, each search beginning behind the binary part of the last entry."""
    while found := pattern.search(data, start, end):
        yield found
        start = found.end() + int(found[2])


class BitmapGlyphs:
    """Characters of a Type 3 font, by the bounding boxes they declare."""

    def __init__(self, pdf: PdfFile, programs: Mapping[str, Any], scale: float) -> None:
        self._pdf = pdf
        self._programs = programs
        self._scale = scale

    def bounds(self, name: str) -> Bounds | None:
        program = self._pdf.get(self._programs.get(name))
        if not isinstance(program, Stream):
            return None
        numbers: list[Any] = []
        for value in Lexer(program.data):
            if value == b"d1" and len(numbers) == 6:
                x1, y1, x2, y2 = (number * self._scale for number in numbers[2:])
                return (x1, y1, x2, y2) if x2 > x1 and y2 > y1 else None
            if not isinstance(value, int | float):
                return None
            numbers.append(value)
        return None
