"""The simulator beside publications: every row has a figure, baselines are met, orders are right, the page shows it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from runners.emulator.deployments import deployment
from runners.emulator.pages import PageTokens
from runners.emulator.published import PARTS, TOLERANCE, Comparison, broken_orders
from runners.emulator.simulator import SimulatedLoad, simulate
from runners.emulator.workload import synthetic_pages

ROOT = Path(__file__).parents[3]
ROWS = tomllib.loads((ROOT / "runners" / "emulator" / "published.toml").read_text(encoding="utf-8"))["row"]
PUBLISHED = {row["name"]: row["value"] for row in ROWS}


def test_the_main_claim_is_predicted_from_the_baseline() -> None:
    found = PARTS["HPD-Parsing"]()
    assert found["hpd_ar_pps"] == pytest.approx(PUBLISHED["hpd_ar_pps"], rel=0.05)
    for name in ("hpd_pps", "hpd_tps", "hpd_pps_gain", "hpd_tps_gain"):
        assert found[name] == pytest.approx(PUBLISHED[name], rel=TOLERANCE), name


def test_page_shapes_meet_the_published_quantiles() -> None:
    found = PARTS["PaDoc, paths"]()
    assert all(found[name] == pytest.approx(PUBLISHED[name], rel=TOLERANCE) for name in found)


def test_branches_beat_the_sequential_baseline_and_two_stages_beat_both() -> None:
    load = SimulatedLoad(64)
    sequential, padoc, two_stage = (
        simulate(deployment(name), synthetic_pages(name, 192, 0), load).pps
        for name in ("padoc-sequential", "padoc", "two-stage")
    )
    assert sequential < padoc < two_stage


def test_drafts_gain_more_on_long_pages_and_less_in_a_crowd() -> None:
    pages = synthetic_pages("hunyuan", 400, 1)
    short = [page for page in pages if page.sequential_tokens <= 256][:8]
    long = [page for page in pages if page.sequential_tokens > 2048][:8]
    assert 1.0 < draft_gain(short, 1) < draft_gain(long, 1)
    assert draft_gain(pages[:128], 32) < draft_gain(pages[:128:4], 1)


def draft_gain(pages: list[PageTokens], in_flight: int) -> float:
    load = SimulatedLoad(in_flight)
    slow, fast = (simulate(deployment(name), pages, load) for name in ("hunyuan-ar", "hunyuan-dflash"))
    return slow.window_s / fast.window_s


def row(name: str, predicted: float) -> Comparison:
    return Comparison(name, PUBLISHED[name], predicted, "x", "predicted", "test")


def test_a_wrong_order_is_named() -> None:
    rows = [row(name, value) for name, value in PUBLISHED.items()]
    assert broken_orders(rows) == []
    wrong = [row(item.name, 0.5) if item.name == "hpd_pps" else item for item in rows]
    assert broken_orders(wrong) == ["hpd_ar_pps >= hpd_pps"]


def test_rows_name_their_source_and_use() -> None:
    assert all(item["source"] and item["use"] in {"fitted", "predicted"} and item["value"] > 0 for item in ROWS)
    assert len(PUBLISHED) == len(ROWS)


def test_the_page_shows_every_row() -> None:
    page = (ROOT / "docs" / "simulator.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert set(PUBLISHED) <= shown
    assert "<!--" not in page
