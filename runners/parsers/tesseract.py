"""The parser `tesseract`: Tesseract's own page layout and text, as paragraphs with boxes."""

from __future__ import annotations

import csv
import io
import os
import subprocess
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from evalkit.errors import ToolchainError
from evalkit.types import BBox, Block
from runners.parsers.lines import TextLine, hull, join_text

LANGUAGES = "eng+chi_sim"
WORD_LEVEL = 5
INSTALL = (
    "apt-get install -y --no-install-recommends tesseract-ocr tesseract-ocr-eng tesseract-ocr-chi-sim tesseract-ocr-osd"
)

Row = dict[str, str]


class Tesseract:
    """Runs the tesseract program on a page image."""

    name = "tesseract"

    def __init__(self, threads: int = 1) -> None:
        self._environment = {**os.environ, "OMP_THREAD_LIMIT": str(threads)}

    def parse(self, image: Path) -> tuple[str, tuple[Block, ...]]:
        """Markdown and untyped paragraph blocks (boxes in px) of one page image."""
        command = ["tesseract", str(image), "stdout", "-l", LANGUAGES, "--psm", "3", "tsv"]
        try:
            done = subprocess.run(command, capture_output=True, env=self._environment, check=False)
        except FileNotFoundError as error:
            raise ToolchainError(f"the program tesseract is missing. Install it: {INSTALL}") from error
        if done.returncode != 0:
            raise ToolchainError(
                f"tesseract failed on {image.name}: {done.stderr.decode(errors='replace').strip()[:300]}"
            )
        blocks = tuple(paragraph_blocks(done.stdout.decode("utf-8", errors="replace")))
        return "\n\n".join(block.text or "" for block in blocks), blocks


def paragraph_blocks(tsv: str) -> Iterator[Block]:
    """Paragraph blocks of Tesseract's TSV, in its order; words joined as running text."""
    rows = csv.DictReader(io.StringIO(tsv), delimiter="\t", quoting=csv.QUOTE_NONE)
    words = [row for row in rows if int(row["level"]) == WORD_LEVEL and (row["text"] or "").strip()]
    for _, members in groupby(words, key=lambda row: (row["block_num"], row["par_num"])):
        lines = [_line(list(line)) for _, line in groupby(members, key=lambda row: row["line_num"])]
        text = ""
        for line in lines:
            text = join_text(text, line.text)
        yield Block("text", text=text, bbox=hull([line.bbox for line in lines]))


def _line(words: list[Row]) -> TextLine:
    text = ""
    for word in words:
        text = join_text(text, word["text"]) if text else word["text"]
    return TextLine(text, hull([_box(word) for word in words]))


def _box(word: Row) -> BBox:
    left, top = float(word["left"]), float(word["top"])
    return BBox(left, top, left + float(word["width"]), top + float(word["height"]))
