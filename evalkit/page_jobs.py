"""Which pages a runner gets: those of a data set with their image files, and others to warm up on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw

from evalkit.dataset import Dataset
from evalkit.errors import UserError
from evalkit.run_record import first_pages
from evalkit.types import Page, PageJob

WARMUP_SIZE_PX = (1240, 1754)
"""An A4 page at 150 dpi."""


def page_jobs(dataset: Dataset, limit: int | None = None) -> list[PageJob]:
    """The first `limit` pages of a data set with their images; a page without an image keeps the path it lacks."""
    jobs = []
    for truth in first_pages(dataset, limit).pages:
        found = dataset.image_path(truth)
        image = found.absolute() if found is not None else dataset.source.parent.absolute() / truth.page.page_id
        jobs.append(PageJob(truth.page, str(image)))
    return jobs


def warmup_jobs(dataset: Dataset, timed: Sequence[PageJob], count: int, folder: Path) -> list[PageJob]:
    """Pages to warm up on that are not among the timed ones: further pages of the data set, else drawn ones.

    Drawn pages are written to `folder`; a warm-up on a timed page would leave it in the server's caches.
    """
    if count < 0:
        raise UserError(f"--warmup must be 0 or more pages, not {count}")
    taken = {job.page.page_id for job in timed}
    others = [truth for truth in dataset.pages if truth.page.page_id not in taken]
    jobs: list[PageJob] = []
    for truth in others:
        found = dataset.image_path(truth)
        if found is not None and len(jobs) < count:
            jobs.append(PageJob(truth.page, str(found.absolute())))
    return jobs + [_drawn_page(folder, number) for number in range(len(jobs), count)]


def _drawn_page(folder: Path, number: int) -> PageJob:
    folder.mkdir(parents=True, exist_ok=True)
    name = f"warm-up-{number}"
    width_px, height_px = WARMUP_SIZE_PX
    image = Image.new("L", WARMUP_SIZE_PX, 255)
    draw = ImageDraw.Draw(image)
    for line in range(3 + number):
        draw.text((120, 140 + 60 * line), f"Warm-up page {number}, line {line}", fill=0, font_size=28)
    path = folder / f"{name}.png"
    image.save(path)
    return PageJob(Page(name, name, width_px, height_px), str(path.absolute()))
