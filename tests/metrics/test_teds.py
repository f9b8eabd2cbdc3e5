"""TEDS: values worked by hand, official values, and two independent tree edit distances as witnesses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import apted
import numpy as np
import pytest
import zss
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit import registry
from evalkit.types import PairScore
from metrics.teds import TEDS, TEDS_S, TedsReason, costs, distance, teds_both, tree
from metrics.teds.distance import Shape, tree_distance

DATA = Path(__file__).parents[1] / "data" / "teds" / "pairs.jsonl"


def document(rows: str) -> str:
    return f"<html><body><table>{rows}</table></body></html>"


A = document("<tr><td>a</td></tr>")

# id, gt, pred, TEDS, TEDS-S, reason; n is the count of elements below the larger table
BY_HAND = [
    ("equal", A, A, 1.0, 1.0, None),
    ("other text: rename 1 of n=2", A, document("<tr><td>b</td></tr>"), 0.5, 1.0, None),
    ("half the text: rename 0.5", document("<tr><td>ab</td></tr>"), document("<tr><td>ac</td></tr>"), 0.75, 1.0, None),
    ("cell inserted: 1 of n=3", A, document("<tr><td>a</td><td>b</td></tr>"), 2 / 3, 2 / 3, None),
    ("row deleted: 2 of n=4", document("<tr><td>a</td></tr><tr><td>b</td></tr>"), A, 0.5, 0.5, None),
    ("span differs: rename 1", A, document('<tr><td colspan="2">a</td></tr>'), 0.5, 0.5, None),
    ("span 1 is the default", A, document('<tr><td colspan=" 1 " rowspan="1">a</td></tr>'), 1.0, 1.0, None),
    ("vast span is only a label", A, document('<tr><td colspan="1000000000">a</td></tr>'), 0.5, 0.5, None),
    ("th is no td and has no content", A, document("<tr><th>zzz</th></tr>"), 0.5, 0.5, None),
    ("th content is not compared", document("<tr><th>a</th></tr>"), document("<tr><th>b</th></tr>"), 1.0, 1.0, None),
    ("markup: one token a tag, 2 of 3", A, document("<tr><td><b>a</b></td></tr>"), 1 - 2 / 3 / 3, 1.0, None),
    ("empty cells are equal", document("<tr><td></td></tr>"), document("<tr><td></td></tr>"), 1.0, 1.0, None),
    ("empty against full cell", document("<tr><td></td></tr>"), A, 0.5, 1.0, None),
    ("nothing fits: below 0", A, document("<p><b>x</b></p>"), 0.0, 0.0, None),
    (
        "only the first table counts",
        A,
        A.replace("</body>", "<table><tr><td>b</td></tr></table></body>"),
        1.0,
        1.0,
        None,
    ),
    ("a style sheet is raw text", A, document("<tr><td><style>a<!b></style></td></tr>"), 1 - 6 / 7 / 3, 1.0, None),
    ("an instruction has a name", A, document("<tr><td>a<? <!b></td></tr>"), 1 - 5 / 6 / 2, 1.0, None),
    ("doctype behind doctype", A, document("<tr><td>a<!doctype x><!doctype y></td></tr>"), 1 - 12 / 13 / 2, 1.0, None),
    ("empty prediction", A, "", 0.0, 0.0, TedsReason.EMPTY_INPUT),
    ("empty truth", "", A, 0.0, 0.0, TedsReason.EMPTY_INPUT),
    ("both empty", "", "", 0.0, 0.0, TedsReason.EMPTY_INPUT),
    ("no table", A, "<html><body><p>a</p></body></html>", 0.0, 0.0, TedsReason.NO_TABLE),
    ("table without a document", "<table><tr><td>a</td></tr></table>", A, 0.0, 0.0, TedsReason.NO_TABLE),
]


@pytest.mark.parametrize(
    ("gt", "pred", "teds", "teds_s", "reason"), [row[1:] for row in BY_HAND], ids=[row[0] for row in BY_HAND]
)
def test_by_hand(gt: str, pred: str, teds: float, teds_s: float, reason: str | None) -> None:
    content, structure = teds_both(gt, pred)
    assert content.value == pytest.approx(teds, abs=1e-12)
    assert structure.value == pytest.approx(teds_s, abs=1e-12)
    assert (content.reason, structure.reason) == (reason, reason)


@pytest.mark.parametrize(
    ("gt", "pred", "error"),
    [
        (A, document('<tr><td colspan="">a</td></tr>'), "ValueError: invalid literal for int() with base 10: ''"),
        (document('<tr><td rowspan="2px">a</td></tr>'), A, "ValueError: invalid literal for int() with base 10: '2px'"),
        (document(""), document(""), "ZeroDivisionError: float division by zero"),
        (A, "<!-- -->", "ParserError: Document is empty"),
        (A, "<!doctype html></i>", "ParserError: Document is empty"),
        (A, '<?xml version="1.0" encoding="utf-8"?>' + A, "ValueError: Unicode strings with encoding declaration"),
    ],
    ids=["empty span", "span in px", "nothing in tables", "empty document", "doctype only", "encoding declaration"],
)
def test_where_the_official_scorer_raises_the_value_is_zero(gt: str, pred: str, error: str) -> None:
    for score in teds_both(gt, pred):
        assert (score.value, score.reason) == (0.0, TedsReason.OFFICIAL_ERROR)
        assert str(score.details["error"]).startswith(error)


def test_the_failure_that_the_official_scorer_meets_first_counts() -> None:
    bad_span = document('<tr><td colspan="x">a</td></tr>')
    assert TEDS.score("<p>no table</p>", bad_span).reason == TedsReason.NO_TABLE
    assert "'y'" in TEDS.score(bad_span, bad_span.replace('"x"', '"y"')).details["error"]


def official_rows(path: Path) -> Iterator[dict[str, object]]:
    with open(path, encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def assert_official(row: dict[str, object], scores: tuple[PairScore, PairScore]) -> None:
    for score, key in zip(scores, ("teds", "teds_structure_only"), strict=True):
        assert score.value is not None
        assert abs(score.value - row[key]) <= 1e-9, row  # type: ignore[operator]
        assert score.details.get("error") == row["error"], row


def test_official_values_of_generated_pairs() -> None:
    rows = list(official_rows(DATA))
    assert len(rows) == 847
    for row in rows:
        assert_official(row, teds_both(str(row["gt_html"]), str(row["pred_html"])))


@pytest.mark.shared
def test_official_values_of_all_golden_pairs(shared: Path) -> None:
    rows = list(official_rows(shared / "golden" / "teds" / "pairs.jsonl"))
    assert len(rows) == 1063
    for row in rows:
        assert_official(row, teds_both(str(row["gt_html"]), str(row["pred_html"])))


# Trees as nested (label, children); renaming costs what a table over labels says.
Node = tuple[int, list["Node"]]
nodes: st.SearchStrategy[Node] = st.recursive(
    st.tuples(st.integers(0, 5), st.just([])),
    lambda children: st.tuples(st.integers(0, 5), st.lists(children, max_size=4)),
    max_leaves=12,
)


def flatten(root: Node) -> tuple[list[int], list[int]]:
    labels: list[int] = []
    leftmost: list[int] = []

    def visit(node: Node) -> None:
        first = len(labels)
        for child in node[1]:
            visit(child)
        labels.append(node[0])
        leftmost.append(first)

    visit(root)
    return labels, leftmost


def our_distance(left: Node, right: Node, cost: np.ndarray) -> float:
    (a, first_a), (b, first_b) = flatten(left), flatten(right)
    return tree_distance(Shape(first_a), Shape(first_b), lambda: cost[np.ix_(a, b)].copy())


def zss_distance(left: Node, right: Node, cost: np.ndarray) -> float:
    return float(
        zss.distance(left, right, lambda node: node[1], lambda _: 1, lambda _: 1, lambda a, b: float(cost[a[0], b[0]]))
    )


class _UnitRename(apted.Config):
    def rename(self, node1: Node, node2: Node) -> float:
        return float(node1[0] != node2[0])

    def children(self, node: Node) -> list[Node]:
        return node[1]


FRACTIONS = np.abs(np.subtract.outer(np.arange(6), np.arange(6))) / 5
UNIT = 1.0 - np.eye(6)


@settings(max_examples=300, deadline=None)
@given(nodes, nodes)
def test_distance_equals_zss_with_fractional_costs_on_every_node(left: Node, right: Node) -> None:
    assert our_distance(left, right, FRACTIONS) == pytest.approx(zss_distance(left, right, FRACTIONS), abs=1e-9)


@settings(max_examples=300, deadline=None)
@given(nodes, nodes)
def test_distance_equals_apted_with_unit_costs(left: Node, right: Node) -> None:
    assert our_distance(left, right, UNIT) == apted.APTED(left, right, _UnitRename()).compute_edit_distance()


@settings(max_examples=50, deadline=None)
@given(nodes, nodes, st.sampled_from([1, 7, 40]))
def test_small_chunks_change_nothing(left: Node, right: Node, chunk: int) -> None:
    whole = our_distance(left, right, FRACTIONS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distance, "_CHUNK", chunk)
        patch.setattr(distance, "_MAX_OPEN_ROWS", 1)
        assert our_distance(left, right, FRACTIONS) == whole


@settings(max_examples=100, deadline=None)
@given(nodes, nodes)
def test_distance_is_symmetric_and_bounded(left: Node, right: Node) -> None:
    there = our_distance(left, right, FRACTIONS)
    assert there == pytest.approx(our_distance(right, left, FRACTIONS), abs=1e-9)
    assert 0 <= there <= len(flatten(left)[0]) + len(flatten(right)[0])
    assert our_distance(left, left, FRACTIONS) == 0


def grid(rows: int, columns: int, text: str = "x") -> str:
    return document(("<tr>" + f"<td>{text}</td>" * columns + "</tr>") * rows)


@pytest.mark.parametrize(
    ("module", "limit", "value", "without_content"),
    [
        (distance, "MAX_NODE_PAIRS", 100, None),
        (distance, "MAX_UPDATES", 100, None),
        (distance, "MAX_KEPT", 100, None),
        (costs, "MAX_TEXT_WORK", 24, 0.5),
        (tree, "MAX_HTML_CHARS", 100, None),
    ],
)
def test_over_a_work_budget_the_pair_has_no_value(
    monkeypatch: pytest.MonkeyPatch, module: object, limit: str, value: int, without_content: float | None
) -> None:
    monkeypatch.setattr(module, limit, value)
    content, structure = teds_both(grid(4, 3), grid(2, 3, "y"))
    assert (content.value, content.reason) == (None, TedsReason.WORK_BUDGET)
    assert "the limit is" in content.details["budget"]
    assert structure.value == without_content


def test_a_million_cells_cost_one_pair_its_value() -> None:
    assert TEDS.score(grid(5, 10), grid(10_000, 100)).value is not None
    assert TEDS.score(grid(100, 10), grid(10_000, 100)).reason == TedsReason.WORK_BUDGET


def test_equal_tables_of_any_size_are_perfect() -> None:
    assert TEDS.score(grid(2_000, 20), grid(2_000, 20)).value == 1.0


HOSTILE = [
    ("deep tags", document("<tr><td>" + "<b>" * 50_000)),
    ("deep divs", document("<div>" * 50_000)),
    ("nested tables", document("<tr><td>" + "<table><tr><td>" * 5_000)),
    ("unclosed rows", document("<tr><td>x" * 3_000)),
    ("many declarations", document("<!doctype " * 20_000)),
    ("many open comments", document("<!--" * 20_000)),
    ("many open quotes", document("<td a=\"<td a='" * 20_000)),
    ("a new tag each", document("<tr><td>" + "".join(f"<x{i}>y</x{i}>" for i in range(3_000)))),
    ("lone surrogate", document("<tr><td>\ud800</td></tr>")),
    ("control characters", document("<tr><td>\x00\x01</td></tr>")),
]


@pytest.mark.parametrize("pred", [row[1] for row in HOSTILE], ids=[row[0] for row in HOSTILE])
def test_hostile_input_gives_a_score(pred: str) -> None:
    for score in teds_both(grid(5, 5), pred):
        assert score.value is None or score.value <= 1.0
        assert score.value is not None or score.reason == TedsReason.WORK_BUDGET


def test_more_inner_tags_than_surrogates_use_unused_code_points() -> None:
    tags = "".join(f"<x{i}>\U000f0000</x{i}>" for i in range(1_500))
    score = TEDS.score(document(f"<tr><td>{tags}</td></tr>"), document(f"<tr><td>{tags}z</td></tr>"))
    tokens, elements = 3 * 1_500 + 1, 2 + 1_500
    assert score.value == pytest.approx(1 - 1 / tokens / elements, abs=1e-15)


def test_registered_by_name_and_scored_in_order() -> None:
    pairs = [(A, A), (A, ""), (grid(1, 2), A)] * 30
    seen: list[tuple[int, int]] = []
    for name, metric in (("table_teds", TEDS), ("table_teds_s", TEDS_S)):
        assert registry.load("metric", name) is metric
        assert (metric.name, metric.higher_is_better) == (name, True)
        expected = [metric.score(*pair) for pair in pairs]
        assert metric.score_many(pairs, progress=lambda *step: seen.append(step)) == expected
        assert metric.score_many(pairs, workers=2) == expected
    assert seen[-1] == (90, 90)
