"""The picture of a report for the README: the top of its first page in a real browser.

    python -m scripts.screenshot runs/mini-bs16/report/index.html

The report is that of `make bench`, on the built-in pages and without options.
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from tests.reports.browser import find_program, watched_page

OUT = Path(__file__).parent.parent / "docs" / "report.png"
WIDTH_PX, HEIGHT_PX = 1400, 1312


def main() -> int:
    """Take the picture and print where it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path, help="first page of the report")
    parser.add_argument("--out", type=Path, default=OUT, help="picture to write")
    parser.add_argument("--dark", action="store_true", help="take it in the dark theme")
    args = parser.parse_args()
    if find_program() is None:
        parser.error("no Chromium here: apt-get install chromium")
    scheme = "dark" if args.dark else "light"
    with (
        sync_playwright() as playwright,
        watched_page(playwright, width=WIDTH_PX, height=HEIGHT_PX, scheme=scheme) as browser,
    ):
        browser.open(args.index)
        raw = browser.page.screenshot()
    picture = Image.open(io.BytesIO(raw)).convert("RGB")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    picture.save(args.out, optimize=True)
    print(f"{args.out}  ({args.out.stat().st_size / 1000:.0f} kB)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
