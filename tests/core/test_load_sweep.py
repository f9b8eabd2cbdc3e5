"""Sweeps over requests in flight, and the search for the largest within a latency."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.errors import UserError
from evalkit.load_plan import LoadPlan
from evalkit.load_sweep import Drives, SweepPoint, agreement, drive_loads, largest_within
from evalkit.stages.infer import infer
from evalkit.store import read_json
from evalkit.types import Load, PageJob
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


def drives(run: Path, jobs: list[PageJob], url: str, baseline: Path | None = None) -> Drives:
    def drive(folder: Path, load: Load) -> object:
        return infer(folder, jobs, settings(url, load=load))

    return Drives(run, drive, len(jobs), baseline=baseline)


def test_a_sweep_drives_the_largest_load_first_and_others_in_folders_of_their_own(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 8)
    with serving(FakeChatServer()) as server:
        result, _ = drive_loads(LoadPlan((4, 1, 2, 4)), drives(tmp_path / "run", jobs, server.url))
        assert len(server.pages) == 24
        drive_loads(LoadPlan((4, 1, 2)), drives(tmp_path / "run", jobs, server.url))
        assert len(server.pages) == 24
    assert result is not None
    assert [point.in_flight for point in result.points] == [1, 2, 4]
    assert all(point.figures["pps"] for point in result.points)
    written = read_json(tmp_path / "run/sweep.json")["sweep"]
    assert [point["run"] for point in written["points"]] == ["bs-1", "bs-2", "."]
    assert (tmp_path / "run/bs-2/bench/summary.json").exists()
    assert read_json(tmp_path / "run/bench/summary.json")["load"]["in_flight"] == 4


def test_each_load_is_counted_against_the_baseline_s_drive_at_that_load(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 4)
    with serving(FakeChatServer()) as server:
        drive_loads(LoadPlan((2, 4)), drives(tmp_path / "base", jobs, server.url))
        drive_loads(LoadPlan((1, 2, 4)), drives(tmp_path / "run", jobs, server.url, tmp_path / "base"))
    found = {name: read_json(tmp_path / "run" / name / "bench/summary.json") for name in (".", "bs-2", "bs-1")}
    assert [found[name]["speedup"]["pages"] for name in (".", "bs-2")] == [4, 4]
    assert found["bs-1"]["speedup"] is None


def test_a_search_needs_enough_pages_and_stays_under_its_ceiling(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 8)
    plan = LoadPlan((2,), max_latency_s=10.0, latency_figure="latency_p50_s", max_in_flight=3)
    with serving(FakeChatServer()) as server:
        with pytest.raises(UserError, match="p95 needs 72"):
            drive_loads(LoadPlan(max_latency_s=10.0), drives(tmp_path / "few", jobs, server.url))
        assert not (tmp_path / "few").exists()
        result, _ = drive_loads(plan, drives(tmp_path / "run", jobs, server.url))
        assert result is not None
        assert (result.largest, [point.in_flight for point in result.points]) == (3, [1, 2, 3])
        assert [point.run for point in result.points] == ["bs-1", ".", "bs-3"]
        none, _ = drive_loads(replace(plan, max_latency_s=1e-9), drives(tmp_path / "none", jobs, server.url))
    assert none is not None
    assert none.largest is None


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (LoadPlan((0,)), "--bs 0: must be 1 or more"),
        (LoadPlan(repeats=0), "--repeat must be 1 or more, not 0"),
        (LoadPlan(rate_per_s=2.0), "--rate is for --arrivals"),
        (LoadPlan(shape="poisson"), "poisson arrivals need a rate above 0 pages/s"),
        (LoadPlan((1, 2), "constant", 2.0), "are for closed loops, not for constant arrivals"),
        (LoadPlan((1, 2), repeats=2), "--repeat drives one load"),
        (LoadPlan(max_latency_s=0.0), "--max-latency must be above 0 seconds"),
        (LoadPlan(max_latency_s=1.0, max_in_flight=0), "--max-bs must be 1 or more, not 0"),
        (LoadPlan(max_latency_s=1.0, latency_figure="pps"), "a search goes by one of latency_p50_s"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused(plan: LoadPlan, message: str) -> None:
    with pytest.raises(UserError) as refused:
        plan.check(1000)
    assert message in str(refused.value)


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
        _, found = drive_loads(LoadPlan((4,), repeats=2), drives(tmp_path / "run", jobs, server.url))
        assert len(server.pages) == 8
    assert found is not None
    assert [row.run for row in found.points] == [".", "run-2"]
    assert read_json(tmp_path / "run/agreement.json")["agreement"]["agrees"] is found.agrees
