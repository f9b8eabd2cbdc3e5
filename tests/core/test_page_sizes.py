"""Page sizes come from the images where these can be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from evalkit.dataset import Dataset, load_dataset
from evalkit.page_sizes import image_size, pages_with_image_sizes, with_image_sizes


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    pages = [
        {"page_info": {"image_path": f"{name}.png", "width": 300, "height": 200}, "layout_dets": []}
        for name in ("swapped", "right", "missing", "broken")
    ]
    (tmp_path / "truth.json").write_text(json.dumps(pages), encoding="utf-8")
    Image.new("RGB", (200, 300)).save(tmp_path / "swapped.png")
    Image.new("RGB", (300, 200)).save(tmp_path / "right.png")
    (tmp_path / "broken.png").write_bytes(b"not an image")
    return load_dataset(tmp_path / "truth.json")


def test_sizes_follow_the_images(dataset: Dataset) -> None:
    sizes = [(page.width_px, page.height_px) for page in pages_with_image_sizes(dataset)]
    assert sizes == [(200, 300), (300, 200), (300, 200), (300, 200)]


def test_everything_else_stays(dataset: Dataset) -> None:
    sized = with_image_sizes(dataset)
    assert sized.sha256 == dataset.sha256
    assert sized.pages[1] is dataset.pages[1]
    assert sized.pages[0].blocks == dataset.pages[0].blocks


def test_what_is_no_image_has_no_size(tmp_path: Path) -> None:
    assert image_size(tmp_path / "none.png") is None
    assert image_size(tmp_path) is None


def test_the_real_pages_need_it(shared: Path) -> None:
    dataset = load_dataset(shared / "omnidocbench_demo" / "OmniDocBench_demo.json")
    sized = with_image_sizes(dataset)
    changed = [after.page for before, after in zip(dataset.pages, sized.pages, strict=True) if before is not after]
    assert len(changed) == 10
    for truth in sized.pages:
        assert all(max(block.poly[::2]) <= (truth.page.width_px or 0) + 2 for block in truth.blocks if block.poly)
