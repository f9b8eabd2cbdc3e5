"""Edit distances: the four registered measures on texts and on reading orders."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import registry
from evalkit.errors import UserError

TEXT_METRICS = ["text_edit", "formula_edit", "table_edit"]


@pytest.mark.parametrize("name", TEXT_METRICS)
@pytest.mark.parametrize(
    ("gt", "pred", "expected"),
    [
        pytest.param("abc", "abc", 0.0, id="equal"),
        pytest.param("abc", "xyz", 1.0, id="disjoint"),
        pytest.param("abc", "", 1.0, id="no-prediction"),
        pytest.param("", "abc", 1.0, id="no-truth"),
        pytest.param("", "", None, id="both-empty"),
        pytest.param("kitten", "sitting", 3 / 7, id="by-hand"),
        pytest.param("营业收入", "营业支出", 2 / 4, id="cjk-characters"),
    ],
)
def test_text_distance(name: str, gt: str, pred: str, expected: float | None) -> None:
    score = registry.load("metric", name).score(gt, pred)
    assert score.value == expected
    assert (score.reason == "both_empty") == (expected is None)


@pytest.mark.parametrize(
    ("gt", "pred", "expected"),
    [
        pytest.param("[1, 2, 3]", "[1, 2, 3]", 0.0, id="equal"),
        pytest.param("[1, 2, 3]", "[2, 1, 3]", 2 / 3, id="swap-costs-two"),
        pytest.param("[1, 2, 3]", "[]", 1.0, id="nothing-matched"),
        pytest.param("[1, 1.001, 2]", "[1.001, 2]", 1 / 3, id="rows-of-a-formula"),
        pytest.param("[]", "[]", None, id="both-empty"),
        pytest.param("", "", None, id="both-absent"),
    ],
)
def test_reading_order_distance(gt: str, pred: str, expected: float | None) -> None:
    assert registry.load("metric", "read_order_edit").score(gt, pred).value == expected


@pytest.mark.parametrize("text", ["{", '{"a": 1}', '["a"]', "[true]", "7"])
def test_reading_order_needs_positions(text: str) -> None:
    with pytest.raises(UserError, match="array of numbers"):
        registry.load("metric", "read_order_edit").score(text, "[1]")


@given(st.text(max_size=30), st.text(max_size=30))
def test_distance_is_symmetric_and_bounded(left: str, right: str) -> None:
    metric = registry.load("metric", "text_edit")
    score, mirrored = metric.score(left, right), metric.score(right, left)
    assert score == mirrored
    assert score.value is None or 0.0 <= score.value <= 1.0
    assert (score.value == 0.0) == (left == right and left != "")
