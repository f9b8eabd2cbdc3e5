"""The offline mode through a real vLLM's Python API."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evalkit.bench_summary import write_bench_summary
from evalkit.dataset import load_dataset
from evalkit.page_jobs import page_jobs
from evalkit.requests_log import read_requests
from evalkit.stages.infer import infer
from evalkit.types import FinishState, InferSettings, Load
from runners.systems import load_system
from tests.vllm.conftest import SYSTEM_FILE, Checkpoint

pytestmark = pytest.mark.vllm
SERVER_ONLY = "per-request-spec-decode-metrics"


def test_batches_give_the_same_text_tokens_and_steps_as_the_server(checkpoint: Checkpoint, tmp_path: Path) -> None:
    system = load_system(SYSTEM_FILE)
    flags = {name: value for name, value in system.serve.flags.items() if name != SERVER_ONLY}
    system = replace(system, runner="vllm-offline", serve=replace(system.serve, flags=flags))
    launch = {
        "vllm": str(checkpoint.environment),
        "model": str(checkpoint.folder),
        "log": str(tmp_path / "engine.log"),
        "start_timeout_s": "600",
    }
    jobs = page_jobs(load_dataset("mini"), 5)
    report = infer(tmp_path, jobs, InferSettings(system, load=Load(in_flight=2), launch=launch))
    assert report.states == {"ok": 5}
    truth = checkpoint.truth
    outputs = read_requests(tmp_path / "infer/requests.jsonl")
    assert [(output.state, output.text) for output in outputs] == [(FinishState.OK, truth["text"])] * 5
    assert {output.tokens.output for output in outputs} == {truth["tokens"]}
    summary = write_bench_summary(tmp_path)
    assert summary["mode"] == "offline"
    assert summary["figures"]["pps"].value > 0
    assert summary["counters"]["spec_decode_num_drafts"] == 5 * truth["steps"]
    assert summary["figures"]["accepted_length"].value == pytest.approx(1 + truth["accepted"] / truth["steps"])
