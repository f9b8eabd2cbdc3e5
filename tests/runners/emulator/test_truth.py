"""Figures that the suite computes from a drive of the emulated server equal what the engine itself says it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from evalkit import registry
from evalkit.bench_summary import observe, summarize
from evalkit.dataset import load_dataset
from evalkit.page_jobs import page_jobs
from evalkit.stages.infer import infer
from evalkit.store import to_plain
from evalkit.types import InferSettings, Load
from runners.emulator.server import EmulatorServer
from tests.runners.emulator.asking import STREAMS

SPEED = 4.0
OVERHEAD_S = 3.0
"""What client, loopback and a very busy machine may add to an answer, in seconds of the wall clock."""


@dataclass(frozen=True)
class Drive:
    """One drive of mini: the suite's summary, and the rows and totals of the engine's trace."""

    summary: dict[str, Any]
    trace: dict[str, Any]

    def figure(self, name: str) -> float:
        found = self.summary["figures"][name]
        assert found["provenance"] == "emulated"
        assert found["value"] is not None, found["reason"]
        return float(found["value"])

    @property
    def rows(self) -> list[dict[str, Any]]:
        return list(self.trace["requests"])


@pytest.fixture(scope="module", params=["hpd-parsing", "hpd-ar"])
def drive(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Drive:
    system = registry.load("catalog", "system")(request.param)
    folder = tmp_path_factory.mktemp("run")
    jobs = page_jobs(load_dataset("mini"), None)
    with EmulatorServer(STREAMS, speed=SPEED, deployment_name=request.param, model=system.serve.model) as server:
        settings = InferSettings(
            system=system,
            endpoints=(server.url,),
            load=Load(in_flight=28),
            check_client=False,
            preflight=False,
            sample_alone=0,
        )
        infer(folder, jobs, settings)
        return Drive(to_plain(summarize(observe(folder))), server.trace())


def mean(drive: Drive, key: str) -> float:
    return sum(row[key] for row in drive.rows) / len(drive.rows)


def test_every_page_was_answered_once(drive: Drive) -> None:
    assert drive.summary["states"] == {"ok": 28}
    assert [row["state"] for row in drive.rows] == ["ok"] * 28
    assert drive.summary["provenance"] == "emulated"


@pytest.mark.parametrize(
    ("figure", "key"),
    [
        ("output_tokens_per_page", "completion_tokens"),
        ("steps_per_page", "decoding_steps"),
        ("path_steps_per_page", "critical_path_steps"),
        ("path_tokens_per_page", "critical_path_tokens"),
        ("sequential_tokens_per_page", "completion_tokens"),
    ],
)
def test_steps_and_tokens_are_exact(drive: Drive, figure: str, key: str) -> None:
    assert drive.figure(figure) == pytest.approx(mean(drive, key), rel=1e-12)


def test_accepted_length_is_exact(drive: Drive) -> None:
    if not drive.trace["engine"]["draft_window"]:
        pytest.skip("nothing is drafted")
    assert drive.figure("accepted_length") == pytest.approx(drive.trace["totals"]["accepted_length"], rel=1e-12)
    drafted = sum(row["draft_tokens"] for row in drive.rows)
    accepted = sum(row["accepted_tokens"] for row in drive.rows)
    assert drive.figure("acceptance_rate") == pytest.approx(accepted / drafted, rel=1e-12)


def test_buckets_hold_the_pages_and_steps_of_the_trace(drive: Drive) -> None:
    for table in drive.summary["buckets"].values():
        edges = [*table["edges"], float("inf")]
        rows = {row["name"]: row for row in table["by_own_length"]}
        assert sum(row["pages"] for row in rows.values()) == 28
        for row, low, high in zip(rows.values(), edges, edges[1:], strict=False):
            check_bucket(row, [page for page in drive.rows if low <= page["completion_tokens"] < high])


def check_bucket(row: Mapping[str, Any], pages: list[dict[str, Any]]) -> None:
    assert row["pages"] == len(pages)
    if pages:
        assert row["steps"] == pytest.approx(sum(page["decoding_steps"] for page in pages) / len(pages), rel=1e-12)
        wanted = sum(page["completion_tokens"] for page in pages) / len(pages)
        assert row["output_tokens"] == pytest.approx(wanted, rel=1e-12)


def test_times_are_the_engine_s_plus_the_client_s_overhead(drive: Drive) -> None:
    totals = drive.trace["totals"]
    latency_s = sum(row["ended_s"] - row["arrival_s"] for row in drive.rows) / 28
    added_s = {
        "pps": 28 / drive.figure("pps") - totals["window_s"],
        "tps": totals["completion_tokens"] / drive.figure("tps") - totals["window_s"],
        "latency_mean_s": drive.figure("latency_mean_s") - latency_s,
    }
    assert all(0 <= added <= SPEED * (OVERHEAD_S + drive.trace["lag_s"]) for added in added_s.values()), added_s


def test_counters_tell_the_same_tokens(drive: Drive) -> None:
    assert drive.summary["counters"]["generation_tokens"] == drive.trace["totals"]["completion_tokens"]
    checks = {check["name"]: check for check in drive.summary["checks"]}
    assert checks["token_counts_agree"]["value"] == 0.0
    assert checks["cold_prefix_cache"]["passed"] is True
