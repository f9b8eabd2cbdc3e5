"""Make metrics/cdm/glyph_table.json: draw each glyph of the usual fonts with Ghostscript, compare with the box rule.

Needs gs and the fonts' .pfb files: python scripts/measure_glyphs.py FOLDER... > metrics/cdm/glyph_table.json
Nothing that evalkit does at run time needs Ghostscript.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from fontTools.misc.psCharStrings import T1CharString
from fontTools.pens.boundsPen import BoundsPen
from numpy.typing import NDArray
from PIL import Image

from metrics.cdm.boxes import DPI, outline_box
from metrics.cdm.glyph_table import table_key
from metrics.cdm.glyphs import Bounds, read_charstrings

TEX_SIZES_PT = (5, 6, 7, 8, 9, 10, 10.95, 12, 14.4, 17.28, 20.74, 24.88)
CJK_SIZES_PT = (6, 8, 12)
COLUMNS = 16
PAD_PX = 4
# As ImageMagick calls Ghostscript, for the official scorer.
FLAGS = ("-q", "-dSAFER", "-dBATCH", "-dNOPAUSE", "-dMaxBitmap=500000000", "-dAlignToPixels=0", "-dGridFitTT=2")
DEVICE = ("-sDEVICE=pngalpha", "-dTextAlphaBits=4", "-dGraphicsAlphaBits=4", f"-r{DPI}")


class Type1File:
    """A .pfb file: its PostScript name, its two parts, and the bounds of its glyphs."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        parts: list[bytes] = []
        position = 0
        while data[position] == 0x80 and data[position + 1] in (1, 2):
            length = int.from_bytes(data[position + 2 : position + 6], "little")
            parts.append(data[position + 6 : position + 6 + length])
            position += 6 + length
        self.clear, self.encrypted, self.rest = parts[0], b"".join(parts[1:-1]), parts[-1]
        found = re.search(rb"/FontName\s*/(\S+)", self.clear)
        if found is None:
            raise SystemExit(f"{path}: no font name")
        self.name = found[1].decode()
        self.bounds = dict(_bounds(read_charstrings(self.encrypted)))


def _bounds(charstrings: dict[str, T1CharString]) -> Iterator[tuple[str, Bounds]]:
    for name, charstring in charstrings.items():
        pen = BoundsPen(charstrings)
        charstring.draw(pen)
        if pen.bounds is not None and name != ".notdef":
            x1, y1, x2, y2 = pen.bounds
            yield name, (float(x1), float(y1), float(x2), float(y2))


def differences(font: Type1File, sizes_pt: Sequence[float]) -> dict[str, dict[str, list[int]]]:
    """What Ghostscript adds to each glyph's box, by table key and glyph; only where it adds anything."""
    names = sorted(font.bounds)[:255]
    found: dict[str, dict[str, list[int]]] = {}
    sizes = [round(size * 72 / 72.27, 4) for size in sizes_pt]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        cells = [_cell(font, size) for size in sizes]
        (folder / "f.pdf").write_bytes(_pdf(font, names, sizes, cells))
        subprocess.run(["gs", *FLAGS, *DEVICE, f"-sOutputFile={folder}/%d.png", str(folder / "f.pdf")], check=True)
        for number, (size, cell) in enumerate(zip(sizes, cells, strict=True), 1):
            with Image.open(folder / f"{number}.png") as image:
                ink = np.asarray(image.convert("RGBA"))[:, :, 3] > 0
            entries = dict(_compared(font, names, size, cell, ink))
            if entries:
                found[table_key(font.name, size)] = entries
    return found


def _cell(font: Type1File, size: float) -> tuple[int, int, int, int]:
    """Width and height of a glyph's cell in px, and the origin in it from the lower left."""
    scale = size / 1000 * DPI / 72
    lows = [min(0.0, min(bounds[i] for bounds in font.bounds.values())) * scale for i in (0, 1)]
    highs = [max(0.0, max(bounds[i] for bounds in font.bounds.values())) * scale for i in (2, 3)]
    left, bottom = (int(-low) + PAD_PX for low in lows)
    return left + int(highs[0]) + PAD_PX, bottom + int(highs[1]) + PAD_PX, left, bottom


def _compared(
    font: Type1File, names: Sequence[str], size: float, cell: tuple[int, int, int, int], ink: NDArray[np.bool_]
) -> Iterator[tuple[str, list[int]]]:
    width, height, left, bottom = cell
    scale = size / 1000
    for index, name in enumerate(names):
        row, column = divmod(index, COLUMNS)
        part = ink[row * height : (row + 1) * height, column * width : (column + 1) * width]
        rows, columns = np.flatnonzero(part.any(axis=1)), np.flatnonzero(part.any(axis=0))
        if len(rows) == 0:
            continue
        base = height - bottom
        seen = (columns[0] - left, rows[0] - base, columns[-1] + 1 - left, rows[-1] + 1 - base)
        expected = outline_box(font.bounds[name], (scale, 0.0, 0.0, scale))
        difference = [int(a - b) for a, b in zip(seen, expected, strict=True)]
        if any(difference):
            yield name, difference


def _pdf(
    font: Type1File, names: Sequence[str], sizes: Sequence[float], cells: Sequence[tuple[int, int, int, int]]
) -> bytes:
    """A PDF with one page a size: the glyphs in a grid, each with its origin on a whole pixel."""
    program = font.clear + font.encrypted + font.rest
    lengths = f"/Length1 {len(font.clear)} /Length2 {len(font.encrypted)} /Length3 {len(font.rest)}"
    differences = "1 " + " ".join(f"/{name}" for name in names)
    kids = " ".join(f"{6 + 2 * index} 0 R" for index in range(len(sizes)))
    widths = "0 " * len(names)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(sizes)} /Kids [{kids}] >>".encode(),
        f"<< /Type /Font /Subtype /Type1 /BaseFont /{font.name} /FirstChar 1 /LastChar {len(names)} /Widths [{widths}]"
        f" /FontDescriptor 4 0 R /Encoding << /Differences [{differences}] >> >>".encode(),
        f"<< /Type /FontDescriptor /FontName /{font.name} /Flags 4 /FontBBox [0 0 0 0] /ItalicAngle 0 /Ascent 0"
        f" /Descent 0 /CapHeight 0 /StemV 0 /FontFile 5 0 R >>".encode(),
        b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(program), lengths.encode(), program),
    ]
    rows = -(-len(names) // COLUMNS)
    for index, (size, (width, height, left, bottom)) in enumerate(zip(sizes, cells, strict=True)):
        page_width, page_height = width * COLUMNS, height * rows
        shown = "\n".join(
            f"1 0 0 1 {_points(column * width + left)} {_points(page_height - (row + 1) * height + bottom)} Tm"
            f" <{code:02x}> Tj"
            for code, (row, column) in enumerate((divmod(i, COLUMNS) for i in range(len(names))), 1)
        )
        content = f"BT /F {size} Tf\n{shown}\nET".encode()
        box = f"[0 0 {_points(page_width)} {_points(page_height)}]"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox {box} /Contents {7 + 2 * index} 0 R"
            " /Resources << /Font << /F 3 0 R >> >> >>".encode(),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        ]
    return _file(objects)


def _points(pixels: int) -> str:
    return f"{pixels * 72 / DPI:.4f}"


def _file(objects: Sequence[bytes]) -> bytes:
    data = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    count = len(objects) + 1
    return data + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
        % (count, table, count, len(data))
    )


def main(folders: Sequence[str]) -> None:
    """Measure all fonts of the folders and print the table."""
    table: dict[str, dict[str, list[int]]] = {}
    for path in sorted(path for folder in folders for path in Path(folder).glob("*.pfb")):
        font = Type1File(path)
        if font.bounds:
            table |= differences(font, CJK_SIZES_PT if "gkai" in path.name else TEX_SIZES_PT)
        print(path.name, file=sys.stderr)
    version = subprocess.run(["gs", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(table[key], separators=(',', ':'))}" for key in sorted(table))
    print(f'{{"origin": "scripts/measure_glyphs.py with Ghostscript {version}", "fonts": {{\n{rows}\n}}}}')


if __name__ == "__main__":
    main(sys.argv[1:])
