"""Layout scores of a run: from its predictions' boxes and its system's label map; unknown labels are listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.dataset import Dataset, load_dataset
from evalkit.run_record import begin_run
from evalkit.stages.layout import score_layout
from evalkit.store import read_json, write_jsonl
from evalkit.types import BBox, Block, GroundTruth, Prediction, System

LABELS = {"text": "text", "table": "table", "picture": "image", "wrapper": "none"}


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load_dataset("mini").select(["en_article_table.png", "en_report_sales.png"])


def box_of(block: Block) -> BBox:
    poly = block.poly or ()
    return BBox(min(poly[::2]), min(poly[1::2]), max(poly[::2]), max(poly[1::2]))


def perfect(truth: GroundTruth) -> Prediction:
    kinds = {"table": "table", "figure": "picture"}
    blocks = [Block(kinds.get(block.kind, "text"), bbox=box_of(block)) for block in truth.blocks]
    wrapper = Block("wrapper", bbox=BBox(0, 0, 10_000, 10_000))
    return Prediction(truth.page.page_id, "", (wrapper, Block("stamp", bbox=BBox(0, 0, 9, 9)), *blocks))


def run_with(folder: Path, dataset: Dataset, predictions: list[Prediction]) -> Path:
    begin_run(folder, dataset, system=System("mine", "Mine", "openai", layout=LABELS))
    write_jsonl(folder / "convert" / "predictions.jsonl", "evalkit.predictions", 1, predictions)
    return folder


def test_perfect_boxes_cover_everything_and_unknown_labels_are_listed(dataset: Dataset, tmp_path: Path) -> None:
    run = run_with(tmp_path, dataset, [perfect(truth) for truth in dataset.pages])
    found = score_layout(run, dataset, run)
    assert found is not None
    averages = found["averages"]["countable-acceptable"]
    assert averages["table"]["iou"] == pytest.approx(1.0)
    assert averages["text"]["iou"] == pytest.approx(1.0)
    assert found["unmapped"] == {"stamp": 2}
    assert found["signature"].startswith("page_iou|avg:page|")
    assert found["membership"]["table"]["include"] == ["table"]
    assert found["membership"]["full_page"].keys() == {"include", "accept"}
    assert read_json(run / "evaluate" / "layout" / "layout.json") == found


def test_a_missing_page_is_an_empty_layout(dataset: Dataset, tmp_path: Path) -> None:
    run = run_with(tmp_path, dataset, [perfect(dataset.pages[0])])
    found = score_layout(run, dataset, run)
    assert found is not None
    assert found["averages"]["countable-acceptable"]["table"]["iou"] == pytest.approx(0.5)


def test_predictions_without_boxes_have_no_layout(dataset: Dataset, tmp_path: Path) -> None:
    run = run_with(tmp_path, dataset, [Prediction(truth.page.page_id, "text") for truth in dataset.pages])
    assert score_layout(run, dataset, run) is None
    assert not (run / "evaluate" / "layout").exists()
    assert score_layout(tmp_path / "nowhere", dataset, tmp_path) is None


def test_a_current_layout_is_not_scored_again(dataset: Dataset, tmp_path: Path) -> None:
    run = run_with(tmp_path, dataset, [perfect(truth) for truth in dataset.pages])
    first = score_layout(run, dataset, run)
    before = (run / "evaluate" / "layout" / "layout.json").stat().st_mtime_ns
    assert score_layout(run, dataset, run) == first
    assert (run / "evaluate" / "layout" / "layout.json").stat().st_mtime_ns == before
