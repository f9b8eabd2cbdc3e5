"""Sweeps over requests in flight, and the search for the largest within a latency."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.errors import UserError
from evalkit.load_sweep import largest_within, search, sweep
from evalkit.store import read_json
from tests.fakes.chat_server import FakeChatServer, page_jobs, serving
from tests.stages.test_infer import settings


@given(st.integers(0, 700), st.integers(1, 600))
def test_the_search_finds_the_last_number_within(threshold: int, ceiling: int) -> None:
    asked: list[int] = []

    def within(number: int) -> bool:
        asked.append(number)
        return number <= threshold

    expected = min(threshold, ceiling)
    assert largest_within(within, ceiling) == (expected or None)
    assert len(asked) <= 22
    assert len(asked) == len(set(asked))
    assert max(asked) <= ceiling


def test_a_sweep_drives_each_size_in_a_folder_of_its_own(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 8)
    with serving(FakeChatServer()) as server:
        result = sweep(tmp_path / "run", jobs, settings(server.url), [4, 1, 2, 4])
        assert len(server.pages) == 24
        sweep(tmp_path / "run", jobs, settings(server.url), [4, 1, 2])
        assert len(server.pages) == 24
    assert [point.in_flight for point in result.points] == [1, 2, 4]
    assert all(point.figures["pps"] for point in result.points)
    written = read_json(tmp_path / "run/sweep.json")["sweep"]
    assert [point["run"] for point in written["points"]] == ["bs-1", "bs-2", "bs-4"]
    assert (tmp_path / "run/bs-2/bench/summary.json").exists()


def test_a_search_needs_enough_pages_and_stays_under_its_ceiling(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 8)
    with serving(FakeChatServer()) as server:
        with pytest.raises(UserError, match="p95 needs 72"):
            search(tmp_path / "few", jobs, settings(server.url), 10.0)
        result = search(tmp_path / "run", jobs, settings(server.url), 10.0, figure="latency_p50_s", ceiling=3)
        assert (result.largest, [point.in_flight for point in result.points]) == (3, [1, 2, 3])
        none = search(tmp_path / "none", jobs, settings(server.url), 1e-9, figure="latency_p50_s")
    assert none.largest is None
