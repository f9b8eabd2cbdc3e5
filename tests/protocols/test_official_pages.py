"""Random pages of every structure: each pair as the official evaluator makes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.api import evaluate
from evalkit.store import read_json, write_json
from tests.protocols.official import differences

PAGES = Path(__file__).parents[1] / "data" / "official_pages" / "pages.jsonl"
ROWS = [json.loads(line) for line in PAGES.read_text(encoding="utf-8").split("\n") if line]
ELEMENTS = ("text_block", "display_formula", "table", "reading_order")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("pages")
    write_json(folder / "gt.json", [row["page"] for row in ROWS])
    (folder / "pred").mkdir()
    for row in ROWS:
        if row["pred"] is not None:
            name = row["page"]["page_info"]["image_path"].removesuffix(".jpg")
            (folder / "pred" / f"{name}.md").write_text(row["pred"], encoding="utf-8", newline="")
    evaluate(
        folder / "pred", folder / "gt.json", out=folder / "run", cdm=False, workers=1, options={"latex_tables": "off"}
    )
    official = folder / "run" / "evaluate" / "official"
    return {element: read_json(official / f"{element}_result.json") for element in ELEMENTS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["page"]["page_info"]["image_path"])
def test_pairs_of_a_page(row: dict[str, Any], results: dict[str, list[dict[str, Any]]]) -> None:
    name = row["page"]["page_info"]["image_path"]
    for element in ELEMENTS:
        ours = [one for one in results[element] if one["img_id"] == name]
        assert differences(ours, row["official"][element], ["image_name"]) == [], element
