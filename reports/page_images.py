"""Page images made small enough for a report."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image, UnidentifiedImageError

LONGEST_SIDE_PX = 1400
MOST_PIXELS = 80_000_000
QUALITY = 72


def reduced(image: Path | None) -> bytes | None:
    """The image as WebP with its longest side cut down; None when there is none that can be read."""
    if image is None:
        return None
    try:
        with Image.open(image) as opened:
            if opened.width * opened.height > MOST_PIXELS:
                return None
            opened.draft("RGB", (LONGEST_SIDE_PX, LONGEST_SIDE_PX))
            small = opened.convert("RGB")
            small.thumbnail((LONGEST_SIDE_PX, LONGEST_SIDE_PX))
            target = io.BytesIO()
            small.save(target, "WEBP", quality=QUALITY, method=2)
    except (OSError, ValueError, UnidentifiedImageError, Image.DecompressionBombError):
        return None
    return target.getvalue()
