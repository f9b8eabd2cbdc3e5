"""Glyphs that Ghostscript draws a pixel wider or narrower than their outline says, measured for the usual fonts.

Ghostscript keeps thin tips of a shape from vanishing, by rules that depend on the whole shape. Where that moves an
edge, the table says by how much; `scripts/measure_glyphs.py` made it by drawing every glyph of the fonts in question.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

Difference = tuple[int, int, int, int]  # added to x1 y1 x2 y2, in px

NONE: Difference = (0, 0, 0, 0)
SIZE_DIGITS = 2


@cache
def _table() -> dict[str, dict[str, Difference]]:
    """Differences by `font size` and glyph name."""
    text = files("metrics.cdm").joinpath("glyph_table.json").read_text(encoding="ascii")
    table: dict[str, dict[str, Difference]] = json.loads(text)["fonts"]
    return table


def measured_difference(font: str, size: float, glyph: str) -> Difference:
    """What is added to a glyph's box at a font size in PDF points; nothing for what was not measured."""
    return _table().get(table_key(font, size), {}).get(glyph, NONE)


def table_key(font: str, size: float) -> str:
    """The name of a font at a size in the table."""
    return f"{font} {size:.{SIZE_DIGITS}f}"
