"""Boxes and image of annotated pages, read from the data set's own file with tolerance for what is missing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from PIL import Image, UnidentifiedImageError

from evalkit.errors import EvalkitError
from evalkit.store import read_json

IMAGE_SUFFIXES = {".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff"}
MOST_BOXES = 2000


@dataclass(frozen=True, slots=True)
class Box:
    """A block's box in pixels of the page image. `order` is its place in the reading order; None outside it.

    `verdict` is what layout_verdicts says of it; "" where it was not judged.
    """

    x1: float
    y1: float
    x2: float
    y2: float
    kind: str
    text: str = ""
    order: float | None = None
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class TruthPage:
    """What a page view shows of the annotation."""

    page_id: str
    boxes: tuple[Box, ...]
    width_px: float | None
    height_px: float | None
    image: Path | None


def read_truth(source: Path, page_ids: set[str]) -> dict[str, TruthPage]:
    """The wanted pages of an annotation file; {} when it is not where the run says it was."""
    path = _json_of(source)
    try:
        rows = read_json(path)
    except EvalkitError:
        return {}
    found = {}
    for row in rows if isinstance(rows, list) else ():
        info = row.get("page_info") if isinstance(row, dict) else None
        page_id = info.get("image_path") if isinstance(info, dict) else None
        if isinstance(info, dict) and isinstance(page_id, str) and page_id in page_ids:
            found[page_id] = _page(row, info, page_id, path.parent)
    return found


def _json_of(source: Path) -> Path:
    if not source.is_dir():
        return source
    return next(iter(sorted(source.glob("*.json"))), source / "OmniDocBench.json")


def _page(row: Mapping[str, Any], info: Mapping[str, Any], page_id: str, folder: Path) -> TruthPage:
    blocks = row.get("layout_dets")
    image = find_image(folder, page_id)
    boxes = [box for block in (blocks if isinstance(blocks, list) else ())[:MOST_BOXES] if (box := _box(block))]
    return TruthPage(
        page_id,
        tuple(boxes),
        *_size(info, image),
        image,
    )


def _size(info: Mapping[str, Any], image: Path | None) -> tuple[float | None, float | None]:
    """Width and height of the image; as annotated where it cannot be read, since annotations swap them at times."""
    if image is not None:
        try:
            with Image.open(image) as opened:
                return float(opened.width), float(opened.height)
        except (OSError, ValueError, UnidentifiedImageError, Image.DecompressionBombError):
            pass
    return number(info.get("width")), number(info.get("height"))


def _box(block: Any) -> Box | None:
    poly = block.get("poly") if isinstance(block, dict) else None
    corners = [found for value in poly if (found := number(value)) is not None] if isinstance(poly, list) else []
    if len(corners) < 4 or len(corners) % 2:
        return None
    xs, ys = corners[::2], corners[1::2]
    text = next((block[key] for key in ("text", "latex", "html") if isinstance(block.get(key), str)), "")
    order = number(block.get("order"))
    return Box(min(xs), min(ys), max(xs), max(ys), str(block.get("category_type")), text[:160], order)


def number(value: Any) -> float | None:
    """A finite number that is no boolean, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def find_image(folder: Path, page_id: str) -> Path | None:
    """The image file of a page in or beside its data set's folder; a page id cannot lead out of it."""
    parts = [part for part in PurePosixPath(page_id).parts if part not in ("/", "..", ".")]
    if not parts:
        return None
    for base in _image_folders(folder):
        exact = base.joinpath(*parts)
        try:
            if exact.suffix.lower() in IMAGE_SUFFIXES and exact.is_file():
                return exact
        except (OSError, ValueError):
            return None
    return None


def _image_folders(folder: Path) -> Sequence[Path]:
    below = sorted(child for child in folder.iterdir() if child.is_dir()) if folder.is_dir() else []
    return [folder / "images", folder, *below]
