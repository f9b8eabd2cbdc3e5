"""The offline runner against a module that passes for vllm."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalkit.bench_summary import write_bench_summary
from evalkit.errors import ToolchainError, UserError
from evalkit.requests_log import read_requests
from evalkit.stages.infer import infer
from evalkit.types import FinishState, InferSettings, Load
from runners.launchers.leftovers import start_time
from tests.fakes.chat_server import page_jobs
from tests.fakes.vllm_module import write_environment
from tests.runners.launchers.test_launchers import wait_until
from tests.stages.test_infer import SYSTEM

OFFLINE = replace(SYSTEM, runner="vllm-offline")


def settings(tmp_path: Path, model: str = "good", **changes: Any) -> InferSettings:
    environment = tmp_path / "engine"
    if not environment.exists():
        write_environment(environment, sys.executable)
    launch = {"vllm": str(environment), "model": model, "log": str(tmp_path / "engine.log")}
    return replace(InferSettings(OFFLINE, load=Load(in_flight=3), launch=launch), **changes)


def test_pages_come_back_in_batches_with_their_tokens(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 7)
    report = infer(tmp_path / "run", jobs, settings(tmp_path, warmup=tuple(page_jobs(tmp_path / "warm", 1))))
    assert report.states == {"ok": 7}
    outputs = read_requests(tmp_path / "run/infer/requests.jsonl")
    assert [output.extra["batch"] for output in outputs] == [0, 0, 0, 1, 1, 1, 2]
    assert {(output.text, output.tokens.input, output.tokens.output) for output in outputs} == {("# Page", 100, 7)}
    summary = write_bench_summary(tmp_path / "run")
    assert summary["mode"] == "offline"
    figures = summary["figures"]
    assert figures["pps"].value > 0
    assert figures["tps"].value == pytest.approx(7 * figures["pps"].value)
    assert figures["latency_p50_s"].reason == "the offline mode times whole batches, not pages"
    assert figures["pps_full"].reason == "batches have no slots"
    assert summary["counters"]["generation_tokens"] == 49
    assert summary["valid"]


def test_a_missing_image_costs_its_page_and_a_failing_batch_its_pages(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 7)
    Path(jobs[0].image).unlink()
    infer(tmp_path / "run", jobs, settings(tmp_path, "second-batch-fails"))
    outputs = {output.page_id: output for output in read_requests(tmp_path / "run/infer/requests.jsonl")}
    assert outputs["p000"].reason == "image: No such file or directory"
    assert outputs["p001"].state is FinishState.OK
    assert outputs["p004"].reason == "server_error: ValueError: mm processor failed"
    assert outputs["p006"].state is FinishState.OK


def test_an_engine_that_dies_leaves_the_rest_for_a_resumed_run(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 7)
    report = infer(tmp_path / "run", jobs, settings(tmp_path, "second-batch-dies"))
    assert (report.states, report.missing) == ({"ok": 3}, 4)
    launch = {**settings(tmp_path).launch, "model": "good"}
    report = infer(tmp_path / "run", jobs, settings(tmp_path, launch=launch))
    assert (report.states, report.missing) == ({"ok": 7}, 0)


def test_max_tokens_truncates(tmp_path: Path) -> None:
    system = replace(OFFLINE, request=replace(OFFLINE.request, max_tokens=7))
    infer(tmp_path / "run", page_jobs(tmp_path / "images", 1), settings(tmp_path, system=system))
    (output,) = read_requests(tmp_path / "run/infer/requests.jsonl")
    assert output.state is FinishState.TRUNCATED


@pytest.mark.parametrize(
    ("model", "sentence"),
    [("oom", "The GPU has too little free memory"), ("crash", "No NVIDIA GPU or driver was found")],
)
def test_an_engine_that_does_not_start_is_explained(tmp_path: Path, model: str, sentence: str) -> None:
    with pytest.raises(ToolchainError, match=sentence):
        infer(tmp_path / "run", page_jobs(tmp_path / "images", 1), settings(tmp_path, model))


def test_arrivals_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="it has no arrivals"):
        infer(tmp_path / "run", page_jobs(tmp_path, 1), settings(tmp_path, load=Load("poisson", rate_per_s=1.0)))


def test_an_engine_that_dies_over_the_warm_up_is_explained(tmp_path: Path) -> None:
    warmup = tuple(page_jobs(tmp_path / "warm", 1))
    with pytest.raises(ToolchainError, match="the engine of fake ended while it warmed up: its process ended"):
        infer(tmp_path / "run", page_jobs(tmp_path, 1), settings(tmp_path, "first-batch-dies", warmup=warmup))


def test_an_engine_does_not_outlive_a_killed_run(tmp_path: Path) -> None:
    write_environment(tmp_path / "engine", sys.executable)
    words = ["infer", str(tmp_path / "run"), "--system", "hpd-ar", "--limit", "1", "--offline", "--warmup", "0"]
    words += ["--vllm", str(tmp_path / "engine"), "--weights", "loads-for-ever"]
    log = tmp_path / "run/server/engine.log"
    with subprocess.Popen([sys.executable, "-m", "evalkit.cli.main", *words], stderr=subprocess.PIPE) as job:
        assert wait_until(lambda: log.exists() and log.read_text().endswith("\n"))
        worker = int(log.read_text())
        assert start_time(worker) is not None
        job.kill()
    assert wait_until(lambda: start_time(worker) is None)
