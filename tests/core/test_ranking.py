"""Standings: intervals of each system, and groups that do not differ beyond chance."""

from __future__ import annotations

import random

from evalkit.ranking import LEAST_PAGES, standings
from evalkit.types import PageScore


def pages(mean: float, *, count: int = 60, seed: int = 0, spread: float = 0.05) -> list[PageScore]:
    """Pages whose three parts are at `mean` of perfect, give or take."""
    chance = random.Random(seed)
    rows = []
    for number in range(count):
        good = min(1.0, max(0.0, mean + spread * (chance.random() - 0.5)))
        rows.append(PageScore(f"p{number}", {"text_edit": 1 - good, "table_teds": good, "formula_cdm": good}))
    return rows


def test_a_clear_loser_is_in_a_group_of_its_own() -> None:
    found = standings({"a": pages(0.9), "b": pages(0.9, seed=1), "c": pages(0.4, seed=2)}, resamples=500)
    assert {name: one.tier for name, one in found.items()} == {"a": 1, "b": 1, "c": 2}


def test_a_small_difference_on_the_same_pages_is_seen() -> None:
    worse = [PageScore(p.page_id, {n: (v or 0) + (0.01 if n == "text_edit" else -0.01) for n, v in p.values.items()})
             for p in pages(0.7, spread=0.5)]  # fmt: skip
    found = standings({"a": pages(0.7, spread=0.5), "b": worse}, resamples=500)
    assert found["b"].tier == 2
    low, high = found["a"].intervals["overall"]
    assert high - low > 2, "though each interval alone is far wider than the difference"


def test_intervals_hold_the_mean() -> None:
    found = standings({"a": pages(0.8)}, resamples=500)["a"]
    low, high = found.intervals["table_teds"]
    assert low < 0.8 < high
    assert found.tier == 1


def test_absent_parts_give_no_overall_and_no_group() -> None:
    rows = [PageScore(p.page_id, {"text_edit": p.values["text_edit"], "table_teds": None}) for p in pages(0.5)]
    found = standings({"a": rows}, resamples=100)["a"]
    assert found.tier is None
    assert set(found.intervals) == {"text_edit"}


def test_too_few_common_pages_give_nothing() -> None:
    few = pages(0.5, count=LEAST_PAGES - 1)
    assert standings({"a": few, "b": pages(0.5)}, resamples=100)["b"].intervals == {}
    assert standings({"a": []})["a"].tier is None
    assert standings({}) == {}


def test_only_shared_pages_count() -> None:
    extra = [*pages(0.9), *(PageScore(f"x{n}", {"text_edit": 1.0}) for n in range(50))]
    alone, beside = standings({"a": pages(0.9)}, resamples=200), standings({"a": pages(0.9), "b": extra}, resamples=200)
    assert alone["a"].intervals == beside["b"].intervals
