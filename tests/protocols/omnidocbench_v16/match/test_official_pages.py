"""Small generated pages against the pairs that the official scorer (commit 9dc1dec) gives for them.

The pages were made for this project by a page generator: text, formulas, ignored categories and duplicates, split,
joined, shuffled and with 0-40 % noise; one of each combination of rules was kept.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.protocols.omnidocbench_v16.match.quick import match_page
from tests.protocols.omnidocbench_v16.match.pages import gt_item, official_row, pred_item

PAGES = [
    json.loads(line)
    for line in (Path(__file__).parent / "official_pages.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page["name"])
def test_pairs_are_those_of_the_official_scorer(page: dict[str, Any]) -> None:
    gts = [gt_item(block) for block in page["gt"]]
    preds = [pred_item(item) for item in page["pred"]]
    found = match_page(gts, preds, "page", split_pred_formula=page["split_pred_formula"])
    rows = [official_row(pair) for pair in found.pairs]
    assert rows == page["official"]
    assert [type(row["edit"]) for row in rows] == [type(row["edit"]) for row in page["official"]]
    assert not found.official_would_time_out


def test_the_kept_pages_meet_every_rule() -> None:
    rules = {
        pair.rule
        for page in PAGES
        for pair in match_page(
            [gt_item(block) for block in page["gt"]],
            [pred_item(item) for item in page["pred"]],
            "page",
            split_pred_formula=page["split_pred_formula"],
        ).pairs
    }
    assert rules == {
        "only_pair",
        "assignment",
        "merged_pred",
        "contained_gt",
        "merged_gt",
        "ignored_category",
        "leftover",
        "unmatched_gt",
        "unmatched_pred",
    }
