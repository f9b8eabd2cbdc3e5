"""Sweeps over requests in flight, and the search for the largest within a latency."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.errors import UserError
from evalkit.load_sweep import SweepPoint, agreement, largest_within, repeat, search, sweep
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


def point(number: int, pps: float | None, *broken: str) -> SweepPoint:
    return SweepPoint(16, f"run-{number}", not broken, broken, {"pps": pps, "tps": None if pps is None else pps * 100})


def test_drives_within_five_percent_of_their_mean_agree() -> None:
    found = agreement([point(1, 1.00), point(2, 1.05), point(3, 0.96)])
    assert (found.agrees, found.reasons) == (True, ())
    assert found.spread["pps"] == pytest.approx(0.047, abs=1e-3)


def test_drives_that_differ_say_why() -> None:
    found = agreement([point(1, 1.0), point(2, 1.5, "cold_prefix_cache")])
    assert not found.agrees
    assert found.reasons == (
        "pps differs by up to 20.0% from the mean",
        "tps differs by up to 20.0% from the mean",
        "run-2 breaks cold_prefix_cache",
    )
    assert agreement([point(1, None), point(2, None)]).reasons == ("there is no rate to compare",)


def test_a_repeated_drive_has_a_folder_each_and_a_verdict(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 4)
    with serving(FakeChatServer()) as server:
        found = repeat(tmp_path / "run", jobs, settings(server.url), 2)
        assert len(server.pages) == 8
        with pytest.raises(UserError, match="2 or more, not 1"):
            repeat(tmp_path / "run", jobs, settings(server.url), 1)
    assert [row.run for row in found.points] == ["run-1", "run-2"]
    assert read_json(tmp_path / "run/agreement.json")["agreement"]["agrees"] is found.agrees
