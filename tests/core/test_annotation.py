"""Any JSON in the place of a page is read or refused, never a crash."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evalkit.annotation import Findings, read_page
from evalkit.types import GroundTruth

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
SPAN = st.fixed_dictionaries({}, optional=dict.fromkeys(("category_type", "poly", "text", "latex"), JSON))
BLOCK = st.fixed_dictionaries(
    {"category_type": st.just("text_block") | JSON},
    optional=dict.fromkeys(("poly", "order", "anno_id", "text", "html", "ignore", "attribute", "merge_list"), JSON)
    | {"line_with_spans": st.lists(SPAN, max_size=2) | JSON},
)
RELATION = st.fixed_dictionaries({}, optional=dict.fromkeys(("source_anno_id", "target_anno_id", "relation"), JSON))
PAGE = st.fixed_dictionaries(
    {},
    optional={
        "page_info": st.fixed_dictionaries(
            {"image_path": st.text(max_size=5) | JSON},
            optional=dict.fromkeys(("width", "height", "page_attribute"), JSON),
        )
        | JSON,
        "layout_dets": st.lists(BLOCK | JSON, max_size=3) | JSON,
        "extra": st.fixed_dictionaries({"relation": st.lists(RELATION | JSON, max_size=2) | JSON}) | JSON,
    },
)


@given(PAGE | JSON)
def test_any_json_is_read_or_refused(value: Any) -> None:
    findings = Findings()
    truth = read_page(value, "$[0]", findings)
    assert truth is not None or findings.problems
    if isinstance(truth, GroundTruth) and not findings.problems:
        assert len(truth.blocks) == len(value["layout_dets"])
    assert all(problem.startswith("$[0]") for problem in findings.problems)
