"""The parser `liteparse`: its own markdown and blocks, with its built-in Tesseract, offline."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from PIL import Image

from evalkit.errors import ToolchainError
from evalkit.types import BBox, Block
from runners.parsers.tesseract import INSTALL, LANGUAGES

TESSDATA = ("/usr/share/tesseract-ocr/5/tessdata", "/usr/share/tesseract-ocr/4.00/tessdata", "/usr/share/tessdata")


class LiteParseParser:
    """Runs liteparse in this process."""

    name = "liteparse"

    def __init__(self, threads: int = 1) -> None:
        from liteparse import LiteParse

        self._parser = LiteParse(
            ocr_enabled=True,
            ocr_language=LANGUAGES,
            tessdata_path=tessdata_folder(),
            output_format="markdown",
            image_mode="off",
            extract_blocks=True,
            quiet=True,
            num_workers=threads,
        )

    def parse(self, image: Path) -> tuple[str, tuple[Block, ...]]:
        """Markdown and blocks (liteparse's kinds, boxes in px) of one page image."""
        with Image.open(image) as opened:
            width_px = opened.width
        result = self._parser.parse(str(image))
        page = result.pages[0]
        scale = width_px / page.width if page.width else 1.0
        return result.text, tuple(_block(block, scale) for block in page.blocks or [])


def tessdata_folder() -> str:
    """Where Tesseract's language data lies: $TESSDATA_PREFIX, else Debian's folders."""
    for folder in (os.environ.get("TESSDATA_PREFIX"), *TESSDATA):
        if folder and all((Path(folder) / f"{language}.traineddata").exists() for language in LANGUAGES.split("+")):
            return folder
    raise ToolchainError(f"no language data for {LANGUAGES} was found. Install it: {INSTALL}")


def _block(block: Any, scale: float) -> Block:
    box = block.bbox
    bbox = None
    if box is not None:
        bbox = BBox(box.x * scale, box.y * scale, (box.x + box.width) * scale, (box.y + box.height) * scale)
    return Block(str(block.kind), text=block.text, bbox=bbox)
