"""The built-in page set: its contents, its recorded streams, and that the generator reproduces it."""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from evalkit import registry
from evalkit.dataset import Dataset, load_dataset
from evalkit.store import read_jsonl
from evalkit.types import FinishState, RawOutput

ROOT = Path(__file__).parents[2]
MINI = ROOT / "datasets" / "mini"
MAX_BYTES = 8_000_000


@pytest.fixture(scope="module")
def mini() -> Dataset:
    return load_dataset("mini")


@pytest.fixture(scope="module")
def streams() -> dict[str, dict[str, Any]]:
    return {row["page_id"]: row for row in read_jsonl(MINI / "streams.jsonl", "evalkit.recorded_streams", 1)}


def test_size_and_count(mini: Dataset) -> None:
    assert len(mini.pages) >= 24
    assert mini.warnings == ()
    assert sum(path.stat().st_size for path in MINI.rglob("*") if path.is_file()) <= MAX_BYTES
    assert not list(MINI.parent.rglob("*.py"))


def test_images_are_there_with_the_size_that_the_truth_names(mini: Dataset) -> None:
    for truth in mini.pages:
        path = mini.image_path(truth)
        assert path is not None
        with Image.open(path) as image:
            assert image.size == (truth.page.width_px, truth.page.height_px)


def test_what_the_set_is_for_is_in_it(mini: Dataset) -> None:
    kinds = {block.kind for truth in mini.pages for block in truth.blocks}
    wanted = "title text_block header footer page_number page_footnote table table_caption table_footnote figure"
    wanted += " figure_caption equation_isolated equation_caption code_txt code_txt_caption reference"
    assert kinds >= set(wanted.split())
    spans = {span.kind for truth in mini.pages for block in truth.blocks for span in block.spans}
    assert spans >= {"text_span", "equation_inline", "equation_isolated", "footnote_mark"}
    assert {item.kind for truth in mini.pages for item in truth.relations} == {"truncated", "parent_son"}
    attributes = [truth.page.attributes for truth in mini.pages]
    assert {item["language"] for item in attributes} == {"english", "simplified_chinese", "en_ch_mixed"}
    assert {item["layout"] for item in attributes} >= {
        "single_column",
        "double_column",
        "three_column",
        "1andmore_column",
    }
    tables = [block.attributes for truth in mini.pages for block in truth.blocks if block.kind == "table"]
    assert {item["line"] for item in tables} == {"full_line", "less_line", "fewer_line", "wireless_line"}
    assert any(item["table_layout"] == "vertical" for item in tables)
    assert any(item["with_span"] for item in tables)
    assert any("merge_list" in (block.annotation or {}) for truth in mini.pages for block in truth.blocks)
    assert set(mini.subsets) == {"base", "hard"}
    assert all(mini.subsets.values())


def test_boxes_lie_on_the_page_and_orders_count_up(mini: Dataset) -> None:
    for truth in mini.pages:
        width, height = truth.page.width_px or 0, truth.page.height_px or 0
        for block in truth.blocks:
            assert block.bbox is not None
            assert 0 <= block.bbox.x1 < block.bbox.x2 <= width, (truth.page.page_id, block.text)
            assert 0 <= block.bbox.y1 < block.bbox.y2 <= height, (truth.page.page_id, block.text)
        orders = sorted(block.order for block in truth.blocks if block.order is not None)
        assert orders == list(range(1, len(orders) + 1)), truth.page.page_id


def test_ink_lies_inside_the_boxes(mini: Dataset) -> None:
    """Paint every block white: nothing dark may be left but rules and ornaments."""
    truth = next(item for item in mini.pages if item.page.page_id == "en_textbook_trace.png")
    path = mini.image_path(truth)
    assert path is not None
    image = Image.open(path).convert("L")
    for block in truth.blocks:
        box = block.bbox
        assert box is not None
        image.paste(255, (int(box.x1) - 3, int(box.y1) - 6, int(box.x2) + 4, int(box.y2) + 6))
    dark = sum(image.point([value < 100 for value in range(256)], "L").histogram()[1:])
    assert dark == 0


def test_streams_belong_to_the_images(mini: Dataset, streams: dict[str, dict[str, Any]]) -> None:
    assert list(streams) == [truth.page.page_id for truth in mini.pages]
    for truth in mini.pages:
        path = mini.image_path(truth)
        assert path is not None
        assert streams[truth.page.page_id]["image_sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_token_counts_add_up(streams: dict[str, dict[str, Any]]) -> None:
    for row in streams.values():
        fork = row["fork"]
        layout, contents = fork["layout_tokens"], fork["content_tokens"]
        assert len(layout) == len(contents) == fork["text"].count("<BLOCK>")
        assert layout == sorted(set(layout))
        assert fork["tokens"]["output"] == layout[-1] + 1 + sum(count or 0 for count in contents)
        assert sum(count is not None for count in contents) <= fork["text"].count("<CHILD>")
        assert all(row[mode]["tokens"]["input"] % 256 in (50, 52) for mode in ("fork", "plain"))


@pytest.mark.parametrize("mode", ["fork", "plain"])
def test_streams_convert(mini: Dataset, streams: dict[str, dict[str, Any]], mode: str) -> None:
    converter = registry.load("converter", "hpd")
    for truth in mini.pages:
        raw = RawOutput(truth.page.page_id, streams[truth.page.page_id][mode]["text"], FinishState.OK)
        for variant in converter.variants:
            prediction = converter.convert(raw, truth.page, variant)
            assert prediction.markdown is not None
            assert len(prediction.blocks) == streams[truth.page.page_id][mode]["text"].count("<BLOCK>")


@pytest.mark.parametrize(
    ("page", "mode", "sign"),
    [
        ("en_magazine_branch_line.jpg", "fork", "<FORK>"),
        ("zh_newspaper_daily.png", "plain", "[left, "),
        ("en_blank_leaf.png", "plain", "too blurry to recognize"),
        ("en_scan_letter.jpg", "plain", "[Non-Text]"),
        ("zh_form_volunteer.png", "fork", "<table border=1>"),
        ("en_index_dense.png", "fork", "; in winter, 88-89; in winter, 88-89; in winter"),
    ],
)
def test_faults_are_in_the_streams(streams: dict[str, dict[str, Any]], page: str, mode: str, sign: str) -> None:
    assert sign in streams[page][mode]["text"]


@pytest.fixture(scope="module")
def generator() -> Iterator[Any]:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        yield importlib.import_module("make_mini")
    finally:
        sys.path.remove(str(ROOT / "scripts"))


@pytest.mark.parametrize(
    "page", ["en_blank_leaf.png", "en_textbook_trace.png", "en_form_mooring.png", "zh_exam_physics.png"]
)
def test_the_generator_makes_these_pages(
    generator: Any, mini: Dataset, streams: dict[str, dict[str, Any]], page: str
) -> None:
    """Truth must be equal; pixels too, but for another encoder's bytes."""
    if generator.other_versions():
        pytest.skip(f"drawn with {', '.join(generator.other_versions())}")
    number = next(index for index, spec in enumerate(generator.SPECS) if spec.file == page)
    fonts = importlib.import_module("mini.fonts")
    if not fonts.has_faces(*generator.SPECS[number].faces):
        pytest.skip(f"the fonts of {page} are not installed as pinned (scripts/mini/fonts.py)")
    made = generator.make(number, MINI / "images")
    kept = json.loads((MINI / "truth.json").read_text(encoding="utf-8"))[number]
    assert json.loads(json.dumps(made.truth)) == kept
    old = (MINI / "images" / page).read_bytes()
    assert generator.same_pixels(made.image, old)
    assert {key: made.streams[key] for key in ("fork", "plain")} == {
        key: streams[page][key] for key in ("fork", "plain")
    }
