"""Page sizes as the images have them: some annotations swap width and height, or name another resolution."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PIL import Image

from evalkit.dataset import Dataset
from evalkit.types import GroundTruth, Page


def with_image_sizes(dataset: Dataset) -> Dataset:
    """The data set with each page's size read from its image; a page without a readable image keeps what it says.

    Boxes in parts of the page and layout scores are wrong by the sides' ratio where the annotation swaps them.
    """
    return replace(dataset, pages=tuple(_sized(truth, dataset.image_path(truth)) for truth in dataset.pages))


def pages_with_image_sizes(dataset: Dataset) -> list[Page]:
    """The pages of a data set, sized as their images."""
    return [truth.page for truth in with_image_sizes(dataset).pages]


def _sized(truth: GroundTruth, image: Path | None) -> GroundTruth:
    size = None if image is None else image_size(image)
    if size is None or size == (truth.page.width_px, truth.page.height_px):
        return truth
    return replace(truth, page=replace(truth.page, width_px=size[0], height_px=size[1]))


def image_size(image: Path) -> tuple[int, int] | None:
    """Width and height in px from the header of an image file; None when it cannot be read."""
    try:
        with Image.open(image) as opened:
            return opened.size
    except (OSError, ValueError, Image.DecompressionBombError):
        return None
