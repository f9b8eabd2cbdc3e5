"""evalkit against a real vLLM: exact text, tokens, steps and accepted length, and its error answers."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path

import pytest

from evalkit.api import rows
from evalkit.bench_summary import read_bench_summary, write_bench_summary
from evalkit.dataset import load_dataset
from evalkit.errors import UserError
from evalkit.load_plan import LoadPlan
from evalkit.page_jobs import page_jobs
from evalkit.requests_log import read_requests
from evalkit.stages.bench import bench
from evalkit.stages.bench_plan import BenchPlan
from evalkit.stages.infer import infer
from evalkit.store import read_json
from evalkit.types import FinishState, InferSettings, Load
from runners.server_facts import ask
from tests.vllm.conftest import PAGE, SYSTEM_FILE, TinyServer

pytestmark = pytest.mark.vllm
PAGES = 8


def root(tiny: TinyServer) -> str:
    return tiny.url.removesuffix("/v1")


def test_what_runs_is_what_was_asked_for(tiny: TinyServer) -> None:
    assert tiny.served.facts["version"] == "0.32.0"
    assert tiny.served.facts["differences"] == []
    told = tiny.served.facts["flags"]
    assert told["max-model-len"] == 8192
    assert told["speculative-config"]["num_speculative_tokens"] == 3
    assert told["enable-prefix-caching"] is True


def test_bench_end_to_end(tiny: TinyServer, tmp_path: Path) -> None:
    plan = BenchPlan(
        systems=(str(SYSTEM_FILE),),
        out=tmp_path,
        load=LoadPlan((2, 4)),
        limit=PAGES,
        urls={"tiny-hpd": tiny.url},
        cdm=False,
        timeout_s=120.0,
        chunk_usage=True,
    )
    result = bench(plan)
    assert result.complete, [row.problem for row in result.systems]
    run = tmp_path / "tiny-hpd"
    outputs = read_requests(run / "infer/requests.jsonl")
    assert [(output.state, output.text, output.tokens.output) for output in outputs] == [
        (FinishState.OK, tiny.text, tiny.tokens)
    ] * PAGES
    summary = read_bench_summary(run)
    assert summary is not None
    figures = {name: figure["value"] for name, figure in summary["figures"].items()}
    assert figures["output_tokens_per_page"] == tiny.tokens
    assert figures["steps_per_page"] == tiny.steps
    assert figures["accepted_length"] == pytest.approx(1 + tiny.accepted / tiny.steps)
    assert figures["accepted_length_page_mean"] == pytest.approx(1 + tiny.accepted / tiny.steps)
    assert figures["pps"] > 0
    counters = summary["counters"]
    assert counters["generation_tokens"] == PAGES * tiny.tokens
    assert counters["spec_decode_num_drafts"] == PAGES * tiny.steps
    assert counters["spec_decode_num_accepted_tokens"] == PAGES * tiny.accepted
    assert counters["request_success.stop"] == PAGES
    checks = {check["name"]: check["passed"] for check in summary["checks"]}
    for name in ("coverage", "cold_prefix_cache", "token_counts_agree", "retokenised_counts_agree", "server_to_itself"):
        assert checks[name], name
    assert summary["provenance"] == "measured"
    beside = read_bench_summary(run / "bs-2")
    assert beside is not None
    assert (beside["load"]["in_flight"], beside["states"]) == (2, {"ok": PAGES})
    assert [point.in_flight for point in result.systems[0].sweep.points] == [2, 4]  # type: ignore[union-attr]
    steps = rows(run / "bench/steps.jsonl")
    for output in outputs:
        own = [row for row in steps if row["page_id"] == output.page_id]
        assert sum(row["chars"] for row in own) == len(tiny.text)
        assert tiny.tokens - 1 <= sum(row["tokens"] for row in own) <= tiny.tokens  # the last one may have no text
        assert own[-1]["step"] <= tiny.steps + 1  # the first token comes of the prefill
        assert [row["time_s"] for row in own] == sorted(row["time_s"] for row in own)
    scores = read_json(run / "evaluate/summary.json")
    assert scores["pages"] == PAGES


def test_the_page_whose_stream_it_answers_with_is_read_right(tiny: TinyServer, tmp_path: Path) -> None:
    dataset = load_dataset("mini")
    jobs = [job for job in page_jobs(dataset) if job.page.page_id == PAGE]
    settings = InferSettings(tiny.system, (tiny.url,), Load(in_flight=1), check_client=False)
    infer(tmp_path, jobs, settings)
    (output,) = read_requests(tmp_path / "infer/requests.jsonl")
    assert output.text == tiny.text
    assert output.first_s is not None
    assert output.send_s is not None
    assert output.last_s is not None
    assert output.send_s < output.first_s <= output.last_s  # a busy server may send all at once
    assert sum(output.extra["chunk_chars"]) == len(tiny.text)
    assert len(output.extra["chunk_times_s"]) < tiny.tokens  # several tokens a chunk


def test_an_answer_that_is_not_streamed(tiny: TinyServer, tmp_path: Path) -> None:
    settings = InferSettings(tiny.system, (tiny.url,), Load(in_flight=2), stream=False, check_client=False)
    infer(tmp_path, page_jobs(load_dataset("mini"), 2), settings)
    for output in read_requests(tmp_path / "infer/requests.jsonl"):
        assert (output.text, output.first_s, output.tokens.output) == (tiny.text, None, tiny.tokens)


def test_a_repeat_without_a_reset_breaks_the_cache_rule(tiny: TinyServer, tmp_path: Path) -> None:
    jobs = page_jobs(load_dataset("mini"), 2)
    for number, cache in enumerate(("reset", "keep")):
        settings = InferSettings(tiny.system, (tiny.url,), Load(in_flight=2), cache=cache, check_client=False)
        infer(tmp_path / str(number), jobs, settings)
        broken = write_bench_summary(tmp_path / str(number))["broken_rules"]
        assert ("cold_prefix_cache" in broken) is (cache == "keep")


def test_too_long_an_answer_is_refused_by_the_server(tiny: TinyServer, tmp_path: Path) -> None:
    system = replace(tiny.system, request=replace(tiny.system.request, max_tokens=100_000))
    settings = InferSettings(system, (tiny.url,), Load(in_flight=2), check_client=False)
    infer(tmp_path, page_jobs(load_dataset("mini"), 2), settings)
    for output in read_requests(tmp_path / "infer/requests.jsonl"):
        assert output.state is FinishState.ERROR
        assert (output.reason or "").startswith("http_status: 400")


def test_max_tokens_truncates(tiny: TinyServer, tmp_path: Path) -> None:
    system = replace(tiny.system, request=replace(tiny.system.request, max_tokens=50))
    settings = InferSettings(system, (tiny.url,), Load(in_flight=2), check_client=False)
    infer(tmp_path, page_jobs(load_dataset("mini"), 2), settings)
    for output in read_requests(tmp_path / "infer/requests.jsonl"):
        assert (output.state, output.tokens.output) == (FinishState.TRUNCATED, 50)
        assert tiny.text.startswith(output.text or "?")


def test_an_unknown_model_is_a_user_error(tiny: TinyServer, tmp_path: Path) -> None:
    system = replace(tiny.system, serve=replace(tiny.system.serve, model="other"))
    with pytest.raises(UserError, match="'other', but the server serves: tiny"):
        infer(tmp_path, page_jobs(load_dataset("mini"), 1), InferSettings(system, (tiny.url,)))


def test_two_images_are_refused(tiny: TinyServer) -> None:
    image = base64.b64encode(Path(page_jobs(load_dataset("mini"), 1)[0].image).read_bytes()).decode()
    part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}}
    body = {"model": "tiny", "messages": [{"role": "user", "content": [part, part]}]}
    reply = ask(f"{root(tiny)}/v1/chat/completions", post=body, timeout_s=60.0)
    assert reply.status == 400
    assert "At most 1 image" in reply.json()["error"]["message"]


def test_a_client_that_gives_up_leaves_the_server_usable(tiny: TinyServer, tmp_path: Path) -> None:
    jobs = page_jobs(load_dataset("mini"), 2)
    settings = InferSettings(tiny.system, (tiny.url,), Load(in_flight=2), timeout_s=0.05, check_client=False)
    infer(tmp_path / "impatient", jobs, settings)
    states = {output.state for output in read_requests(tmp_path / "impatient/infer/requests.jsonl")}
    assert states == {FinishState.TIMEOUT}
    infer(tmp_path / "patient", jobs, replace(settings, timeout_s=120.0))
    assert [o.text for o in read_requests(tmp_path / "patient/infer/requests.jsonl")] == [tiny.text] * 2
