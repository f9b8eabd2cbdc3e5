"""Make the built-in page set in datasets/mini, or check that it is what this generator makes."""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mini import pages_chinese, pages_everyday, pages_science
from mini.furniture import PageSpec
from mini.streams import HEADER, stream_row
from mini.truth import draw, image_bytes, page_object
from PIL import Image

FOLDER = Path(__file__).resolve().parent.parent / "datasets" / "mini"
MADE_WITH = {"pillow": "13.0.0", "matplotlib": "3.11.2"}
SPECS: tuple[PageSpec, ...] = (*pages_science.PAGES, *pages_everyday.PAGES, *pages_chinese.PAGES)


@dataclass(frozen=True, slots=True)
class Made:
    """One page as it is made: its image, its truth, and its recorded streams."""

    file: str
    image: bytes
    truth: dict[str, Any]
    streams: dict[str, Any]


def make(number: int, kept: Path | None = None) -> Made:
    """Make one page. Where `kept` holds the same pixels in other bytes (another encoder), its bytes count."""
    sheet = draw(SPECS[number])
    image = image_bytes(sheet)
    if kept is not None and (kept / sheet.name).is_file():
        old = (kept / sheet.name).read_bytes()
        image = old if same_pixels(old, image) else image
    truth = page_object(sheet, number)
    return Made(sheet.name, image, truth, stream_row(sheet, hashlib.sha256(image).hexdigest()))


def other_versions() -> list[str]:
    """The drawing packages here that are not those the set was made with: their formulas and glyphs may differ."""
    here = {package: version(package) for package in MADE_WITH}
    return [
        f"{package} {here[package]} (made with {MADE_WITH[package]})"
        for package in MADE_WITH
        if here[package] != MADE_WITH[package]
    ]


def same_pixels(left: bytes, right: bytes) -> bool:
    """Whether two image files show the same."""
    if left == right:
        return True
    one, two = (Image.open(io.BytesIO(data)).convert("RGB") for data in (left, right))
    return one.size == two.size and one.tobytes() == two.tobytes()


def files(kept: Path | None = None) -> Iterator[tuple[str, bytes]]:
    """All generated files of the set, by path in its folder."""
    made = [make(number, kept) for number in range(len(SPECS))]
    for page in made:
        yield f"images/{page.file}", page.image
    truth = json.dumps([page.truth for page in made], ensure_ascii=False, indent=1)
    yield "truth.json", (truth + "\n").encode()
    rows = [HEADER, *(page.streams for page in made)]
    yield "streams.jsonl", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def main() -> int:
    """Write the set, or with --check compare it with what is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 where a file differs")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the set (default: %(default)s)")
    args = parser.parse_args()
    differing = []
    for name, data in files(args.out / "images" if args.check else None):
        path = args.out / name
        if args.check:
            if not path.is_file() or path.read_bytes() != data:
                differing.append(name)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    if differing and other_versions():
        print(f"note: {', '.join(other_versions())}", file=sys.stderr)
    for name in differing:
        print(f"{name}: differs from what the generator makes", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
