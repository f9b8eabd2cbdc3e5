"""PageIoU: values worked by hand in each of the four modes, agreement with a raster, invariances, bad lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit import registry
from evalkit.types import BBox, Block, BlockKind, GroundTruth, Page, Prediction
from metrics.page_iou import METRIC, BoxError, LayoutClass, Mode, average_scores, check_label_map
from metrics.page_iou.boxes import layout_from_record
from metrics.page_iou.categories import MEMBERSHIP
from metrics.page_iou.raster import raster_areas
from metrics.page_iou.scores import ClassScore, score_layout

MODES = (Mode.COUNTABLE_ACCEPTABLE, Mode.BINARY_ACCEPTABLE, Mode.COUNTABLE_IGNORE, Mode.BINARY_IGNORE)
LEFT, RIGHT = [0, 0, 50, 100], [50, 0, 100, 100]
WHOLE, QUARTER = [0, 0, 100, 100], [0, 0, 50, 50]
NONE, FULL = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)


def record(gt: list[tuple[str, list[float]]], pred: list[tuple[str, list[float]]], size: float = 100) -> dict[str, Any]:
    return {
        "page": "p.png",
        "width": size,
        "height": size,
        "gt": [{"category": category, "bbox": box} for category, box in gt],
        "pred": [{"category": category, "bbox": box} for category, box in pred],
    }


def text(*boxes: list[float]) -> list[tuple[str, list[float]]]:
    return [("text", box) for box in boxes]


def blocks(*boxes: list[float]) -> list[tuple[str, list[float]]]:
    return [("text_block", box) for box in boxes]


# id, gt, pred, and (IoU, precision, recall) of text in the order of MODES; the page is 100 x 100, shares are of it
BY_HAND = [
    ("equal", blocks(LEFT), text(LEFT), FULL, FULL, FULL, FULL),
    ("disjoint", blocks(LEFT), text(RIGHT), NONE, NONE, NONE, NONE),
    ("touching boxes are one region", blocks(LEFT, RIGHT), text(WHOLE), FULL, FULL, FULL, FULL),
    ("prediction inside: 1/4 of 1/1", blocks(WHOLE), text(QUARTER), *[(0.25, 1.0, 0.25)] * 4),
    ("prediction around: 1/4 of 1/1", blocks(QUARTER), text(WHOLE), *[(0.25, 0.25, 1.0)] * 4),
    ("missed", blocks(LEFT), [], *[(0.0, 1.0, 0.0)] * 4),
    ("invented", [], text(LEFT), *[(0.0, 0.0, 1.0)] * 4),
    (
        "duplicate prediction: counted twice, common 1 of 2",
        blocks(WHOLE),
        text(WHOLE, WHOLE),
        (0.5, 0.5, 1.0),
        FULL,
        (0.5, 0.5, 1.0),
        FULL,
    ),
    (
        "duplicate truth: counted twice, common 1 of 2",
        blocks(WHOLE, WHOLE),
        text(WHOLE),
        (0.5, 1.0, 0.5),
        FULL,
        (0.5, 1.0, 0.5),
        FULL,
    ),
    ("accepted only, predicted: I=1/2 U=1/2; ignored: nothing to cover", [("header", LEFT)], text(LEFT), *[FULL] * 4),
    ("accepted only, omitted costs nothing", [("header", LEFT)], [], *[FULL] * 4),
    (
        "accepted only, half of it predicted and 1/4 outside: I=1/4 U=1/2",
        [("header", LEFT)],
        text([0, 0, 100, 50]),
        (0.5, 0.5, 1.0),
        (0.5, 0.5, 1.0),
        (0.0, 0.0, 1.0),
        (0.0, 0.0, 1.0),
    ),
    (
        # a=1 left, b=1 right, c=1 everywhere. acceptable: I=1 U=1 Dgt=1 Dpr=1.
        # ignore: I=1/2, U=1/2 (the right half leaves), Dgt=1/2, Dpr=1-1/2
        "included left, accepted right, all predicted",
        [*blocks(LEFT), ("header", RIGHT)],
        text(WHOLE),
        *[FULL] * 4,
    ),
    (
        # a=1 on the left half, b=1 on the whole page, c=2 on the left half.
        # countable acceptable: min(a+b, c)=2 -> I=1; U=max(a, c)=1; Dgt=max(1, min(2, 2))/2=1; Dpr=1
        # binary acceptable: c=1, I=1/2 U=1/2 Dgt=1/2 Dpr=1/2
        # countable ignore: I=1/2, U=1 (not only accepted: stays), Dgt=1/2, Dpr=1-1/2
        "accepted lies over included, predicted twice there",
        [*blocks(LEFT), ("header", WHOLE)],
        text(LEFT, LEFT),
        FULL,
        FULL,
        (0.5, 1.0, 1.0),
        FULL,
    ),
    (
        # c=3 over a=1, b=1. acceptable: I=2/2=1, U=3/2, Dpr=3/2, Dgt=1. ignore: I=1/2 U=3/2 Dpr=3/2-1/2=1
        "more predictions than included and accepted together",
        [*blocks(LEFT), ("header", LEFT)],
        text(LEFT, LEFT, LEFT),
        (2 / 3, 2 / 3, 1.0),
        FULL,
        (1 / 3, 0.5, 1.0),
        FULL,
    ),
    (
        "shifted halves: common 1/4, union 3/4",
        blocks(LEFT),
        text([25, 0, 75, 100]),
        *[(1 / 3, 0.5, 0.5)] * 4,
    ),
]


@pytest.mark.parametrize(
    ("gt", "pred", "expected"), [(row[1], row[2], row[3:]) for row in BY_HAND], ids=[row[0] for row in BY_HAND]
)
def test_by_hand(gt: list[Any], pred: list[Any], expected: tuple[tuple[float, float, float], ...]) -> None:
    line = METRIC.score_record(record(gt, pred))
    assert line["page"] == "p.png"
    for mode, values in zip(MODES, expected, strict=True):
        found = line["scores"][mode]["text"]
        assert (found["iou"], found["precision"], found["recall"]) == pytest.approx(values, abs=1e-12), mode


def test_classes_without_a_box_are_null_and_all_boxes_count_for_the_full_page() -> None:
    scores = METRIC.score_record(record([("table", LEFT)], [("image", RIGHT)]))["scores"]["countable-acceptable"]
    assert scores["text"] is None
    assert scores["formula"] is None
    assert scores["table"] == {"iou": 0.0, "precision": 1.0, "recall": 0.0}
    assert scores["image"] == {"iou": 0.0, "precision": 0.0, "recall": 1.0}
    assert scores["full_page"] == {"iou": 0.0, "precision": 0.0, "recall": 0.0}


def test_other_regions_count_for_the_full_page_alone() -> None:
    scores = METRIC.score_record(record([("abandon", LEFT)], [("other", LEFT)]))["scores"]["countable-acceptable"]
    assert [name for name, score in scores.items() if score is not None] == ["full_page"]
    assert scores["full_page"]["iou"] == 1.0


# Counts of Table 4 by column: included, accepted
@pytest.mark.parametrize(
    ("layout_class", "included", "accepted"),
    [("text", 6, 11), ("table", 1, 3), ("formula", 1, 4), ("image", 1, 4), ("full_page", 9, 19)],
)
def test_category_map(layout_class: str, included: int, accepted: int) -> None:
    membership = MEMBERSHIP[LayoutClass(layout_class)]
    assert (len(membership.include), len(membership.accept)) == (included, accepted)
    assert not membership.include & membership.accept


def test_quadrilaterals_become_their_hull_and_boxes_are_clipped_to_the_page() -> None:
    line = record([], text([-50, -50, 50, 150]))
    line["gt"] = [{"category_type": "title", "poly": [25, 0, 50, 50, 25, 100, 0, 50]}]
    assert METRIC.score_record(line)["scores"]["binary-ignore"]["text"]["iou"] == 1.0


def test_predicted_boxes_may_have_their_own_canvas() -> None:
    line = record(blocks(LEFT), text([0, 0, 500, 3000])) | {"pred_width": 1000, "pred_height": 3000}
    assert METRIC.score_record(line)["scores"]["countable-acceptable"]["text"]["iou"] == 1.0


@pytest.mark.parametrize(
    "box", [[50, 0, 50, 100], [0, 0, 0, 0], [200, 0, 300, 100]], ids=["no width", "point", "off the page"]
)
def test_boxes_without_area_on_the_page_are_no_support(box: list[float]) -> None:
    scores = METRIC.score_record(record(blocks(box), text(box)))["scores"]
    assert scores["countable-acceptable"]["text"] is None


def test_corners_in_any_order_give_the_same_box() -> None:
    assert (
        METRIC.score_record(record(blocks(LEFT), text([50, 100, 0, 0])))["scores"]["binary-acceptable"]["text"]["iou"]
        == 1.0
    )


BAD_LINES: list[tuple[str, dict[str, Any], str]] = [
    ("no size", {"page": "p", "gt": [], "pred": []}, "width must be a number above 0"),
    ("zero size", record([], []) | {"height": 0}, "height must be a number above 0, not 0"),
    ("size in text", record([], []) | {"width": "100"}, "not '100'"),
    ("unknown annotated category", record([("texts", LEFT)], []), "gt[0]: unknown category 'texts'"),
    ("label of a system", record([], [("Text", LEFT)]), "pred[0]: unknown category 'Text'; known: text, table"),
    ("list as category", record([], []) | {"pred": [{"category": [], "bbox": LEFT}]}, "unknown category []"),
    ("three numbers", record(blocks([0, 0, 1]), []), "gt[0]: bbox must be x1 y1 x2 y2"),
    ("not a number", record([], text([0, 0, float("nan"), 1])), "pred[0]: bbox"),
    ("vast integer", record([], text([0, 0, 10**400, 1])), "pred[0]: bbox"),
    ("no box", record([], []) | {"gt": [{"category": "title"}]}, "not None"),
    ("box is no object", record([], []) | {"gt": [[0, 0, 1, 1]]}, "gt[0] must be an object"),
    ("boxes are no list", record([], []) | {"pred": {"a": 1}}, "pred must be a list"),
]


@pytest.mark.parametrize(("line", "reason"), [row[1:] for row in BAD_LINES], ids=[row[0] for row in BAD_LINES])
def test_a_mistake_in_a_line_is_its_reason(line: dict[str, Any], reason: str) -> None:
    scored = METRIC.score_record(line)
    assert scored.keys() == {"page", "reason"}
    assert reason in scored["reason"]


def test_all_mistakes_of_a_line_are_named() -> None:
    reason = METRIC.score_record(record([("a", LEFT)], [("b", [1])]) | {"width": -1})["reason"]
    assert [part in reason for part in ("width", "gt[0]", "pred[0]: unknown", "pred[0]: bbox")] == [True] * 4


coordinate = st.integers(0, 40)
box = st.tuples(coordinate, coordinate, coordinate, coordinate).map(lambda c: [25 * value for value in c])
layouts = st.builds(
    lambda gt, pred: record(gt, pred, size=1000),
    st.lists(st.tuples(st.sampled_from([str(kind) for kind in BlockKind]), box), max_size=8),
    st.lists(st.tuples(st.sampled_from(["text", "table", "formula", "image"]), box), max_size=8),
)


def flat(scores: Any) -> dict[tuple[str, str], tuple[float, float, float] | None]:
    return {
        (mode, name): None if score is None else (score.iou, score.precision, score.recall)
        for mode, by_class in scores.items()
        for name, score in by_class.items()
    }


@settings(max_examples=60, deadline=None)
@given(layouts)
def test_raster_agrees_where_borders_lie_on_its_grid(line: dict[str, Any]) -> None:
    layout = layout_from_record(line)
    raster = flat(score_layout(layout, lambda a, b, c: raster_areas(a, b, c, grid_px=40)))
    for key, exact in flat(score_layout(layout)).items():
        assert exact == pytest.approx(raster[key], abs=1e-9), key


def test_raster_of_1000_is_close_on_random_boxes() -> None:
    rng = np.random.default_rng(5)
    for _ in range(5):
        starts = rng.random((20, 2)) * 0.7
        boxes = np.concatenate([starts, starts + 0.05 + rng.random((20, 2)) * 0.25], axis=1) * 997
        kinds = rng.choice(["text_block", "header", "table", "figure"], 10)
        labels = rng.choice(["text", "table", "image"], 10)
        line = record(
            list(zip(kinds.tolist(), boxes[:10].tolist(), strict=True)),
            list(zip(labels.tolist(), boxes[10:].tolist(), strict=True)),
            size=997,
        )
        layout = layout_from_record(line)
        exact, raster = flat(score_layout(layout)), flat(score_layout(layout, raster_areas))
        for key, values in exact.items():
            assert values == pytest.approx(raster[key], abs=0.02), key


@settings(max_examples=60, deadline=None)
@given(layouts, st.randoms(use_true_random=False), st.sampled_from([0.5, 3, 1.7]))
def test_order_of_boxes_and_scale_of_the_page_change_nothing(line: dict[str, Any], random: Any, scale: float) -> None:
    expected = flat(score_layout(layout_from_record(line)))
    other = {key: list(value) if isinstance(value, list) else value for key, value in line.items()}
    random.shuffle(other["gt"])
    random.shuffle(other["pred"])
    for side in ("gt", "pred"):
        other[side] = [item | {"bbox": [value * scale for value in item["bbox"]]} for item in other[side]]
    other |= {"width": line["width"] * scale, "height": line["height"] * scale}
    for key, values in flat(score_layout(layout_from_record(other))).items():
        assert values == pytest.approx(expected[key], abs=1e-9), key


@settings(max_examples=60, deadline=None)
@given(layouts)
def test_scores_lie_between_0_and_1_and_equal_layouts_are_perfect(line: dict[str, Any]) -> None:
    for values in flat(score_layout(layout_from_record(line))).values():
        assert values is None or all(0.0 <= value <= 1.0 for value in values)
    line["gt"] = [{"category": "text_block", "bbox": item["bbox"]} for item in line["pred"]]
    line["pred"] = [{"category": "text", "bbox": item["bbox"]} for item in line["pred"]]
    for values in flat(score_layout(layout_from_record(line))).values():
        assert values is None or values == FULL


def test_many_boxes_in_blocks_of_rows_equal_the_sum_of_areas() -> None:
    rng = np.random.default_rng(3)
    corners = np.sort(rng.random((3_000, 2, 2)), axis=1).reshape(-1, 4) * 1000
    line = record([], text(*corners.tolist()), size=1000) | {
        "gt": [{"category": "text_block", "bbox": [0, 0, 1000, 1000]}]
    }
    score = score_layout(layout_from_record(line))[Mode.COUNTABLE_ACCEPTABLE][LayoutClass.TEXT]
    assert score is not None
    covered = (np.diff(corners[:, [0, 2]]) * np.diff(corners[:, [1, 3]])).sum() / 1e6
    assert score.precision == pytest.approx(score.recall / covered, rel=1e-9)


def ground_truth(**size: int) -> GroundTruth:
    poly = (0.0, 0.0, 50.0, 0.0, 50.0, 100.0, 0.0, 100.0)
    page = Page("p.png", "p", size.get("width_px", 100), size.get("height_px", 100))
    return GroundTruth(page, (Block("text_block", poly=poly), Block("title")))


def test_blocks_are_scored_through_the_label_map_and_unknown_labels_are_listed() -> None:
    left, right = BBox(0, 0, 50, 100), BBox(50, 0, 100, 100)
    prediction = Prediction(
        "p.png", "x", (Block("Text", bbox=left), Block("Seal", bbox=right), Block("Seal", bbox=left), Block("Text"))
    )
    scores, layout = METRIC.score_blocks(ground_truth(), prediction, {"Text": "text"})
    assert scores[Mode.COUNTABLE_ACCEPTABLE][LayoutClass.TEXT] == ClassScore(1.0, 1.0, 1.0)
    assert layout.unmapped == {"Seal": 2}


def test_a_missing_page_is_an_empty_layout() -> None:
    scores, _ = METRIC.score_blocks(ground_truth(), None, {})
    assert scores[Mode.BINARY_IGNORE][LayoutClass.TEXT] == ClassScore(0.0, 1.0, 0.0)


def test_pages_of_a_data_set_give_averages_unknown_labels_and_reasons() -> None:
    prediction = Prediction(
        "p.png", "x", (Block("Text", bbox=BBox(0, 0, 50, 100)), Block("Seal", bbox=BBox(0, 0, 1, 1)))
    )
    unusable = GroundTruth(Page("q.png", "q"), ())
    result = METRIC.score_pages([(ground_truth(), prediction), (unusable, None)], {"Text": "text"})
    assert result["averages"]["binary-ignore"]["text"] == {"iou": 1, "f1": 1, "precision": 1, "recall": 1, "pages": 1}
    assert result["averages"]["binary-ignore"]["overall"] is None
    assert result["pages"].keys() == {"p.png"}
    assert result["unmapped"] == {"Seal": 1}
    assert "width must be" in result["unscored"]["q.png"]


def test_a_page_of_unknown_size_cannot_be_scored() -> None:
    page = GroundTruth(Page("p.png", "p"), ())
    with pytest.raises(BoxError, match="width must be a number above 0"):
        METRIC.score_blocks(page, None, {})


def test_label_maps_are_checked() -> None:
    assert check_label_map({"Text": "text", "Seal": "other"}) == []
    assert check_label_map({"Text": "words"}) == [
        "label 'Text' is mapped to 'words'; known: text, table, formula, image, other, none"
    ]


def test_averages_over_support_pages_and_f1_of_the_averages() -> None:
    lines = [
        record(blocks(LEFT), text(LEFT)),
        record(blocks(LEFT), text(RIGHT)),
        record([("table", LEFT)], [("table", WHOLE)]),
    ]
    averages = average_scores([score_layout(layout_from_record(line)) for line in lines])[Mode.COUNTABLE_ACCEPTABLE]
    words, table = averages["text"], averages["table"]
    assert words is not None
    assert table is not None
    assert (words.iou, words.precision, words.recall, words.f1, words.pages) == (0.5, 0.5, 0.5, 0.5, 2)
    assert (table.precision, table.recall, table.f1, table.pages) == (0.5, 1.0, pytest.approx(2 / 3), 1)
    assert averages["overall"] is None
    assert averages["formula"] is None


def test_overall_is_the_mean_of_four_classes() -> None:
    categories = {"text_block": "text", "table": "table", "equation_isolated": "formula", "figure": "image"}
    pages = [
        score_layout(layout_from_record(record([(category, LEFT)], [(label, WHOLE if label == "text" else LEFT)])))
        for category, label in categories.items()
    ]
    overall = average_scores(pages)[Mode.COUNTABLE_ACCEPTABLE]["overall"]
    assert overall is not None
    assert overall.iou == pytest.approx((0.5 + 3) / 4)
    assert overall.f1 == pytest.approx((2 / 3 + 3) / 4)


def test_f1_is_zero_when_nothing_fits() -> None:
    pages = [score_layout(layout_from_record(record(blocks(LEFT), text(RIGHT))))]
    average = average_scores(pages)[Mode.COUNTABLE_ACCEPTABLE]["text"]
    assert average is not None
    assert average.f1 == 0.0


def test_registered_by_name() -> None:
    assert registry.load("metric", "page_iou") is METRIC
    assert (METRIC.name, METRIC.higher_is_better) == ("page_iou", True)
