"""A drawn sheet as a page object of the OmniDocBench schema, and as a small image file."""

from __future__ import annotations

import io
from typing import Any

from PIL import Image

from .furniture import PageSpec
from .sheet import Sheet


def draw(spec: PageSpec) -> Sheet:
    """Draw a page and set its attributes."""
    sheet = Sheet(spec.file, *spec.size, spec.paper)
    spec.draw(sheet)
    sheet.attributes = {
        "data_source": spec.source,
        "language": spec.language,
        "layout": spec.layout,
        "special_issue": list(spec.issues),
        "subset": spec.subset,
    }
    return sheet


def page_object(sheet: Sheet, number: int) -> dict[str, Any]:
    """The annotation of a page."""
    info = {
        "page_no": number,
        "height": sheet.height,
        "width": sheet.width,
        "image_path": sheet.name,
        "page_attribute": sheet.attributes,
    }
    blocks = [{key: value for key, value in block.items() if not key.startswith("_")} for block in sheet.blocks]
    return {"layout_dets": blocks, "page_info": info, "extra": {"relation": sheet.relations}}


def image_bytes(sheet: Sheet) -> bytes:
    """The image file: JPEG by its name, else a PNG of 16 greys or 64 colours."""
    buffer = io.BytesIO()
    if sheet.name.endswith(".jpg"):
        sheet.image.save(buffer, "JPEG", quality=62, optimize=True)
    else:
        colours = _greys(sheet.image) if _is_grey(sheet.image) else _colours(sheet.image)
        colours.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _is_grey(image: Image.Image) -> bool:
    return image.convert("L").convert("RGB").tobytes() == image.tobytes()


def _greys(image: Image.Image) -> Image.Image:
    small = image.convert("L").point([round(value / 17) for value in range(256)])
    small.putpalette([level * 17 for level in range(16) for _ in range(3)])
    return small


def _colours(image: Image.Image) -> Image.Image:
    return image.quantize(64, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
