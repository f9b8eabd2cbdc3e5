"""Reading PDFs: syntax, what a page draws, and bytes that are no PDF."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.cdm.boxes import Picture, measure, outline_box, token_of
from metrics.cdm.glyph_table import measured_difference
from metrics.cdm.glyphs import FontCase
from metrics.cdm.pdfstream import Area, PageMarks, read_pages
from metrics.cdm.pdfsyntax import Lexer, Name, PdfError


def pdf(content: bytes, extra: Sequence[bytes] = (), *, filters: bytes = b"") -> bytes:
    """A PDF of one page of 72 x 72 points with this content stream."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count 1 /Kids [3 0 R] /MediaBox [0 0 72 72] >>",
        b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >> >>",
        b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), filters, content),
        *extra,
    ]
    data = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    count = len(objects) + 1
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (count, len(data))
    return data + b"xref\n0 %d\n0000000000 65535 f \n" % count + table + trailer


def marks(content: bytes, *extra: bytes) -> tuple[object, ...]:
    return read_pages(pdf(content, extra), FontCase())[0].marks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"1 -2.5 .5 +3", [1, -2.5, 0.5, 3]),
        (b"/Na#me [1 [2]]", [Name("Na#me"), [1, [2]]]),
        (b"(a(b)\\)\\101\\n) <4142 4>", [b"a(b))A\n", b"AB@"]),
        (b"<< /A 1 /B << /C (x) >> >>", [{"A": 1, "B": {"C": b"x"}}]),
        (b"% note\n7 re", [7, b"re"]),
        (b"(open", [b"open"]),
        (b"[1 2", [[1, 2]]),
    ],
)
def test_lexer(text: bytes, expected: list[object]) -> None:
    assert list(Lexer(text)) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"1 0 0 rg 10 20 30 5 re f", [Area(10, 20, 40, 25, (1, 0, 0))]),
        (b"q 1 0 0 rg Q 10 20 30 5 re f", [Area(10, 20, 40, 25, (0, 0, 0))]),
        (b"q 2 0 0 2 5 5 cm 1 1 2 2 re f Q", [Area(7, 7, 11, 11, (0, 0, 0))]),
        (b"0 1 0 RG 2 w 10 20 m 30 20 l S", [Area(10, 19, 30, 21, (0, 1, 0))]),
        (b"2 w 10 20 m 10 40 l S", [Area(9, 20, 11, 40, (0, 0, 0))]),
        (b"2 w 2 J 10 20 m 10 40 l S", [Area(9, 19, 11, 41, (0, 0, 0))]),
        (b"10 20 30 5 re n", []),
        (b"0 1 1 0 k 1 1 1 1 re f", [Area(1, 1, 2, 2, (1, 0, 0))]),
        (b"Q Q 1 1 1 1 re f", [Area(1, 1, 2, 2, (0, 0, 0))]),
    ],
)
def test_areas(content: bytes, expected: list[Area]) -> None:
    assert list(marks(content)) == expected


def test_forms_are_drawn_in_their_place() -> None:
    form = b"<< /Subtype /Form /Length 12 >>\nstream\n1 1 2 2 re f\nendstream"
    assert marks(b"1 0 0 1 10 10 cm /X Do", form) == (Area(11, 11, 13, 13, (0, 0, 0)),)


def test_a_form_in_itself_ends() -> None:
    form = b"<< /Subtype /Form /Length 5 >>\nstream\n/X Do\nendstream"
    with pytest.raises(PdfError, match="forms"):
        marks(b"/X Do", form)


def test_packed_streams() -> None:
    content = zlib.compress(b"1 1 1 1 re f")
    pages = read_pages(pdf(content, filters=b"/Filter /FlateDecode"), FontCase())
    assert len(pages[0].marks) == 1


def test_a_stream_that_unpacks_to_too_much() -> None:
    content = zlib.compress(b" " * (65 << 20))
    with pytest.raises(PdfError):
        read_pages(pdf(content, filters=b"/Filter /FlateDecode"), FontCase())


@pytest.mark.parametrize(
    "data", [b"", b"%PDF-1.4", b"startxref\n5\n%%EOF", pdf(b"")[:-40], pdf(b"1 rg"), pdf(b"(x) cm")]
)
def test_broken_files(data: bytes) -> None:
    with pytest.raises(PdfError):
        read_pages(data, FontCase())


@given(st.binary(max_size=60), st.integers(0, 400))
@settings(max_examples=150, deadline=None)
def test_damaged_bytes_are_read_or_refused(damage: bytes, position: int) -> None:
    data = pdf(b"BT /F 1 Tf 1 0 0 1 1 1 Tm (x) Tj ET 1 1 1 1 re f")
    with suppress(PdfError):
        read_pages(data[:position] + damage + data[position + len(damage) :], FontCase())


@pytest.mark.parametrize(
    ("font", "size", "glyph", "expected"),
    [
        ("CMR12", 11.9552, "period", (0, 0, 1, 0)),
        ("CMR12", 11.9552, "A", (0, 0, 0, 0)),
        ("CMMI12", 11.9552, "zeta", (0, -1, 0, 0)),
        ("NoSuchFont", 11.9552, "period", (0, 0, 0, 0)),
        ("CMR12", 3.0, "period", (0, 0, 0, 0)),
    ],
)
def test_measured_glyph_edges(font: str, size: float, glyph: str, expected: tuple[int, ...]) -> None:
    assert tuple(measured_difference(font, size, glyph)) == expected


@pytest.mark.parametrize(
    ("bounds", "scale", "expected"),
    [
        # One font unit is one sub-pixel: 250 px a unit of 1000, 72/200 pt a px.
        ((0.0, 0.0, 4.0, 4.0), 0.09, (0, -1, 1, 0)),
        ((0.0, 0.0, 4.4, 4.4), 0.09, (0, -1, 1, 0)),
        ((0.0, 0.0, 4.5, 4.6), 0.09, (0, -2, 2, 0)),
        ((-0.6, -0.6, 1.0, 1.0), 0.09, (-1, -1, 1, 1)),
        ((1.0, 1.0, 1.0, 1.0), 0.09, (0, -1, 1, 0)),
    ],
)
def test_outline_rule(bounds: tuple[float, float, float, float], scale: float, expected: tuple[int, ...]) -> None:
    assert outline_box(bounds, (scale, 0.0, 0.0, scale)) == expected


def page(*areas: Area) -> PageMarks:
    return PageMarks(720.0, 72.0, areas)


FIRST, SECOND = (0.0, 0.0, 15 / 255), (0.0, 0.0, 30 / 255)


def test_boxes_are_one_pixel_larger_than_the_ink_and_cropped() -> None:
    """36 pt are 100 px: the first token begins at the crop's margin of 8 px."""
    picture = measure([page(Area(36, 18, 72, 36, FIRST), Area(108, 18, 144, 54, SECOND))], 3)
    assert picture == Picture(315, 115, ((7, 57, 108, 108), (207, 7, 308, 108), None))


def test_areas_cover_every_pixel_they_touch() -> None:
    picture = measure([page(Area(36.1, 36.0, 36.2, 36.01, FIRST))], 1)
    assert picture.boxes == ((7, 7, 9, 9),)


def test_pages_are_stacked() -> None:
    picture = measure([page(Area(0, 0, 36, 36, FIRST)), page(Area(0, 36, 36, 72, SECOND))], 2)
    assert picture.boxes == ((-1, 7, 100, 108), (-1, 107, 100, 208))


def test_what_lies_off_the_page_is_not_seen() -> None:
    assert measure([page(Area(800, 0, 900, 10, FIRST))], 1).boxes == (None,)


def test_an_empty_page_has_the_size_of_the_crop() -> None:
    assert measure([page()], 1) == Picture(18, 18, (None,))


@pytest.mark.parametrize(
    ("colour", "number"),
    [
        ((0.0, 0.0, 0.0), None),
        ((0.0, 0.0, 0.05882), 0),
        ((0.0, 0.05882, 0.0), 17),
        ((0.05882, 0.0, 0.0), 323),
        ((0.0, 0.0, 16 / 255), 0),
        ((0.0, 0.0, 18 / 255), None),
        ((0.0, 0.0, 1.0), 16),
    ],
)
def test_token_of_a_colour(colour: tuple[float, float, float], number: int | None) -> None:
    assert token_of(colour) == number
