"""Annotated blocks as the matching sees them."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit.annotation import Findings, read_page
from evalkit.protocols.omnidocbench_v16.gt_items import gt_page, has_scored_block, truncated_groups
from evalkit.types import GroundTruth
from tests.protocols.official import page


def truth(blocks: list[dict[str, Any]], relations: list[dict[str, Any]] | None = None) -> GroundTruth:
    findings = Findings()
    found = read_page(page("p.jpg", blocks, relations or []), "$[0]", findings)
    assert found is not None
    assert not findings.problems
    return found


def cut(source: int | str, target: int | str) -> dict[str, Any]:
    return {"source_anno_id": source, "target_anno_id": target, "relation_type": "truncated"}


def text(order: float | None, content: str, **further: Any) -> dict[str, Any]:
    return {"category_type": "text_block", "order": order, "text": content, **further}


@pytest.mark.parametrize(
    ("blocks", "relations", "expected"),
    [
        pytest.param([text(2, "b"), text(1, "a")], [], [("a", 1), ("b", 2)], id="by-order"),
        pytest.param([text(2, "b"), text(None, "x")], [], [("x", None), ("b", 2)], id="without-order-first"),
        pytest.param(
            [{"category_type": "title", "order": 1, "text": "t"}, text(1, "a")],
            [],
            [("a", 1), ("t", 1)],
            id="kind-decides-ties",
        ),
        pytest.param([text(1, "a"), text(2, "b", ignore=True)], [], [("a", 1)], id="ignored-left-out"),
        pytest.param([text(1, "The qu"), text(9, "ick")], [cut(1, 2)], [("The quick", 1)], id="truncated"),
        pytest.param([text(9, "ick"), text(1, "The qu")], [cut(1, 2)], [("The quick", 1)], id="truncated-by-order"),
        pytest.param(
            [text(1, "a"), text(2, "b"), text(3, "c")], [cut(1, 2), cut(3, 2)], [("abc", 1)], id="three-parts"
        ),
        pytest.param([text(1, "a"), text(2, "b", ignore=True)], [cut(1, 2)], [], id="an-ignored-part-drops-all"),
        pytest.param([text(1, "a")], [cut(1, 77)], [("a", 1)], id="part-missing"),
        pytest.param(
            [text(1, "a", anno_id="x"), text(2, "b", anno_id="y")], [cut("y", "x")], [("ab", 1)], id="text-ids"
        ),
        pytest.param([text(1, None)], [], [("None", 1)], id="null-is-the-word-none"),
        pytest.param([{"category_type": "text_block", "order": 1}], [], [("", 1)], id="no-text-at-all"),
        pytest.param([{"category_type": "figure", "order": 1}], [], [], id="figures-are-not-compared"),
    ],
)
def test_mixed_items(
    blocks: list[dict[str, Any]], relations: list[dict[str, Any]], expected: list[tuple[str, float | None]]
) -> None:
    assert [(item.content, item.order) for item in gt_page(truth(blocks, relations)).mixed] == expected


def test_a_joined_block_loses_its_attributes() -> None:
    blocks = [text(1, "a", attribute={"k": 1}), text(2, "b", attribute={"k": 1}), text(3, "c", attribute={"k": 1})]
    assert [dict(item.attributes) for item in gt_page(truth(blocks, [cut(1, 2)])).mixed] == [{}, {"k": 1}]


def test_formulas_and_tables_bring_their_own_field() -> None:
    found = gt_page(
        truth(
            [
                {"category_type": "equation_isolated", "order": 2, "latex": "$$x$$", "text": "no"},
                {"category_type": "table", "order": 1, "html": "<table></table>", "latex": "no"},
            ]
        )
    )
    assert [item.content for item in found.formulas] == ["$$x$$"]
    assert [item.content for item in found.tables] == ["<table></table>"]
    assert [item.category for item in found.mixed] == ["equation_isolated"]


def test_other_relations_join_nothing() -> None:
    relation = {"source_anno_id": 1, "target_anno_id": 2, "relation_type": "parent_son"}
    assert truncated_groups(truth([text(1, "a"), text(2, "b")], [relation])) == []


@pytest.mark.parametrize(("ignore", "expected"), [(False, True), (True, False)])
def test_has_scored_block(ignore: bool, expected: bool) -> None:
    block = {"category_type": "table", "order": 1, "html": "", "ignore": ignore}
    assert has_scored_block(truth([block]), "table") is expected
