"""Every figure of a run against the emulated server equals what the engine's own trace says."""

from __future__ import annotations

import math
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from evalkit.api import rows
from evalkit.bench_summary import write_bench_summary
from evalkit.dataset import load_dataset
from evalkit.page_jobs import page_jobs
from evalkit.requests_log import read_requests
from evalkit.stages.infer import infer
from evalkit.types import FinishState, InferSettings, Load
from runners.emulator.server import EmulatorServer
from runners.systems import load_system

STREAMS = Path(__file__).parents[2] / "datasets" / "mini" / "streams.jsonl"
SYSTEMS = ("hpd-parsing", "hpd-ar", "hpd-fork-only", "hpd-mtp-only")
SPEED = 40.0


def drive(run: Path, name: str, pages: int = 20, faults: tuple[str, ...] = (), **changes: Any) -> tuple[Any, Any]:
    """bench/summary.json and the engine's trace of one run."""
    dataset = load_dataset("mini")
    system = load_system(name)
    deployment = system.serve.details["emulator"]
    with EmulatorServer(STREAMS, deployment_name=deployment, speed=SPEED, faults=faults) as server:
        settings = InferSettings(
            system=system,
            endpoints=(server.url,),
            load=Load(in_flight=6),
            timeout_s=changes.pop("timeout_s", 60.0),
            sample_every_s=0.05,
            check_client=False,
            preflight=False,
            sample_alone=0,
            **changes,
        )
        infer(run, page_jobs(dataset, pages), settings)
        trace = server.trace()
    return write_bench_summary(run, dataset=dataset), trace


@pytest.mark.parametrize("name", SYSTEMS)
def test_steps_tokens_accepted_length_and_path_are_the_engine_s(tmp_path: Path, name: str) -> None:
    summary, trace = drive(tmp_path, name)
    figures = {key: figure.value for key, figure in summary["figures"].items()}
    rows = trace["requests"]
    assert len(rows) == 20
    steps = sum(row["decoding_steps"] for row in rows)
    tokens = sum(row["completion_tokens"] for row in rows)
    assert figures["output_tokens_per_page"] == tokens / 20
    assert figures["steps_per_page"] == steps / 20
    assert figures["path_tokens_per_page"] == sum(row["critical_path_tokens"] for row in rows) / 20
    assert figures["path_steps_per_page"] == sum(row["critical_path_steps"] for row in rows) / 20
    assert figures["sequential_tokens_per_page"] == tokens / 20
    if load_system(name).speculative:
        assert figures["accepted_length"] == pytest.approx(tokens / steps, rel=1e-12)
        pages = [row["completion_tokens"] / row["decoding_steps"] for row in rows]
        assert figures["accepted_length_page_mean"] == pytest.approx(math.fsum(pages) / 20, rel=1e-12)
        assert summary["figures"]["accepted_length"].details["by_position"] == trace["engine"]["accepted_per_position"]
    assert summary["provenance"] == "emulated"
    assert {figure.provenance for figure in summary["figures"].values()} == {"emulated"}


def test_counters_and_buckets_are_the_engine_s(tmp_path: Path) -> None:
    summary, trace = drive(tmp_path, "hpd-parsing")
    counters = summary["counters"]
    engine = trace["engine"]
    assert counters["generation_tokens"] == engine["generated_tokens"]
    assert counters["spec_decode_num_drafts"] == engine["drafts"]
    assert counters["spec_decode_num_accepted_tokens"] == engine["accepted_tokens"]
    assert counters["request_success.stop"] == 20
    edges = summary["buckets"]["hunyuan"]["edges"]
    expected = [0] * len(edges)
    for row in trace["requests"]:
        expected[sum(row["completion_tokens"] >= edge for edge in edges) - 1] += 1
    assert [row.pages for row in summary["buckets"]["hunyuan"]["by_own_length"]] == expected
    paths = [row.path_steps * row.pages for row in summary["buckets"]["hunyuan"]["by_own_length"] if row.pages]
    assert math.fsum(paths) == pytest.approx(sum(row["critical_path_steps"] for row in trace["requests"]))
    for row in summary["buckets"]["hunyuan"]["by_own_length"]:
        if row.pages:
            inside = [one for one in trace["requests"] if row.name in bucket_names(edges, one["completion_tokens"])]
            before_s = sum(one["first_token_s"] - one["started_s"] for one in inside)
            decode_s = sum(one["ended_s"] - one["first_token_s"] for one in inside)
            assert row.phases.share == pytest.approx(before_s / (before_s + decode_s))
            assert (row.phases.before_s, row.phases.decode_s) == (
                pytest.approx(before_s / len(inside)),
                pytest.approx(decode_s / len(inside)),
            )
            assert row.phases.provenance == "emulated"
    checks = {check.name: check for check in summary["checks"]}
    for name in ("coverage", "uninterrupted", "cold_prefix_cache", "token_counts_agree", "server_to_itself"):
        assert checks[name].passed, name


def bucket_names(edges: list[int], tokens: int) -> set[str]:
    """What the bucket of so many tokens is called."""
    place = sum(tokens >= edge for edge in edges) - 1
    last = place == len(edges) - 1
    return {f"{edges[place]}+" if last else f"{edges[place]}-{edges[place + 1]}"}


@pytest.mark.parametrize("name", ["hpd-ar", "hpd-mtp-only"])
def test_the_long_file_of_steps_adds_up_to_the_engine_s_tokens(tmp_path: Path, name: str) -> None:
    _, trace = drive(tmp_path, name, pages=6, chunk_usage=True)
    steps = rows(tmp_path / "bench/steps.jsonl")
    answers = {output.page_id: output for output in read_requests(tmp_path / "infer" / "requests.jsonl")}
    assert {row["page_id"] for row in steps} == set(answers)
    for request in trace["requests"]:
        output = answers[request["page_id"]]
        own = [row for row in steps if row["page_id"] == request["page_id"]]
        assert sum(row["chars"] for row in own) == len(output.text or "")
        assert sum(row["tokens"] for row in own) <= request["completion_tokens"]
        assert own[-1]["step"] <= request["decoding_steps"]
        assert [row["step"] for row in own] == sorted(row["step"] for row in own)
        assert [row["time_s"] for row in own] == sorted(row["time_s"] for row in own)
        assert {row["provenance"] for row in own} == {"emulated"}
        if name == "hpd-ar":
            assert [row["step"] for row in own] == list(accumulate(row["tokens"] for row in own))


def test_times_are_the_engine_s_within_the_client_s_overhead(tmp_path: Path) -> None:
    summary, trace = drive(tmp_path, "hpd-ar")
    behind_s = trace["lag_s"] + 0.001  # the engine catches up faster than the clock after a lag
    ended_s = {row["page_id"]: row["ended_s"] - row["arrival_s"] for row in trace["requests"]}
    for output in read_requests(tmp_path / "infer" / "requests.jsonl"):
        assert output.send_s is not None
        assert output.last_s is not None
        assert output.last_s - output.send_s >= ended_s[output.page_id] / SPEED - behind_s
    window_s = trace["totals"]["window_s"]
    slowest = summary["figures"]["pps"].value * (window_s - behind_s * SPEED) / 20
    assert slowest <= 1


FAULTS = [
    ("error@3", FinishState.ERROR, "http_status: 500"),
    ("cut:2@3", FinishState.ERROR, "cut: "),
    ("malformed@3", FinishState.ERROR, "malformed: "),
    ("hang@3", FinishState.TIMEOUT, "timeout: "),
    ("repeat@3", FinishState.TRUNCATED, "length: "),
]


@pytest.mark.parametrize(("fault", "state", "reason"), FAULTS, ids=[row[0] for row in FAULTS])
def test_a_fault_costs_one_page_and_invalidates_the_run_when_it_has_no_answer(
    tmp_path: Path, fault: str, state: FinishState, reason: str
) -> None:
    summary, _ = drive(tmp_path, "hpd-mtp-only", pages=6, faults=(fault,), timeout_s=8.0)
    outputs = read_requests(tmp_path / "infer" / "requests.jsonl")
    failed = [output for output in outputs if output.state is not FinishState.OK]
    assert [(output.state, (output.reason or "").startswith(reason)) for output in failed] == [(state, True)]
    assert ("coverage" in summary["broken_rules"]) is (state is not FinishState.TRUNCATED)


def test_wrong_usage_breaks_a_rule(tmp_path: Path) -> None:
    summary, _ = drive(tmp_path, "hpd-ar", pages=6, faults=("wrong_usage:2",))
    assert "token_counts_agree" in summary["broken_rules"]
    assert "retokenised_counts_agree" in summary["broken_rules"]
    assert not summary["valid"]


def test_a_warm_cache_breaks_a_rule_and_a_reset_or_salt_repairs_it(tmp_path: Path) -> None:
    dataset = load_dataset("mini")
    jobs = page_jobs(dataset, 4)
    broken = {}
    with EmulatorServer(STREAMS, deployment_name="hpd-ar", speed=SPEED) as server:
        for number, cache in enumerate(("keep", "keep", "reset", "salt")):
            run = tmp_path / str(number)
            settings = InferSettings(load_system("hpd-ar"), (server.url,), cache=cache, check_client=False)
            infer(run, jobs, settings)
            broken[number] = "cold_prefix_cache" in write_bench_summary(run)["broken_rules"]
    assert broken == {0: False, 1: True, 2: False, 3: False}
