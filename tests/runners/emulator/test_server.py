"""The emulated server over HTTP: its answers, its account of them, and how it looks to a client of vLLM."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from evalkit.errors import InvalidFileError, UserError
from evalkit.types import BranchTokens
from runners.branch_tokens import branch_lengths, split_hpd, token_ends, tokens_in
from runners.emulator.exposition import RELEASES
from runners.emulator.recorded import load_answers
from runners.emulator.server import EmulatorServer
from tests.runners.emulator.asking import BY_PAGE, FORK, PLAIN, ROWS, SHORT, STREAMS, ask, body

FIXTURES = Path(__file__).parents[2] / "data" / "vllm"


@pytest.fixture(scope="module")
def server() -> Iterator[EmulatorServer]:
    with EmulatorServer(STREAMS, speed=1000) as running:
        yield running


@pytest.mark.parametrize(("mode", "prompt"), [("fork", FORK), ("plain", PLAIN)])
def test_every_page_is_answered_as_recorded(server: EmulatorServer, mode: str, prompt: str) -> None:
    for row in ROWS:
        told = ask(server, row["page_id"], prompt)
        recorded = row[mode]
        assert told.text == recorded["text"]
        assert told.usage["completion_tokens"] == recorded["tokens"]["output"]
        assert told.usage["prompt_tokens"] == recorded["tokens"]["input"]
        assert (told.finish, told.done) == ("stop", True)


def test_a_trajectory_comes_in_chunks_of_several_tokens(server: EmulatorServer) -> None:
    told = ask(server, SHORT, PLAIN)
    steps = told.usage["evalkit_emulated"]["decoding_steps"]
    assert 3 * len(told.pieces) < told.usage["completion_tokens"]
    assert len(told.pieces) <= steps


def test_a_forked_page_is_released_when_its_branches_ended(server: EmulatorServer) -> None:
    told = ask(server, SHORT, FORK)
    assert told.pieces == re.findall(r"<BLOCK>(?:(?!<BLOCK>).)*", BY_PAGE[SHORT]["fork"]["text"], re.DOTALL)


def test_a_whole_answer(server: EmulatorServer) -> None:
    reply = httpx.post(f"{server.url}/chat/completions", json=body(stream=False), timeout=60).json()
    assert reply["object"] == "chat.completion"
    assert reply["choices"][0]["message"]["content"] == BY_PAGE[SHORT]["fork"]["text"]
    assert reply["choices"][0]["finish_reason"] == "stop"
    assert reply["usage"]["evalkit_emulated"]["provenance"] == "emulated"


def test_what_a_request_says_of_itself_is_what_the_trace_says(server: EmulatorServer) -> None:
    told = ask(server, SHORT, FORK)
    row = server.trace()["requests"][-1]
    figures = told.usage["evalkit_emulated"]
    assert figures == told.metrics["evalkit_emulated"] == {key: row[key] for key in figures}
    assert sum(branch["tokens"] for branch in figures["branches"]) == told.usage["completion_tokens"]
    assert sum(branch["steps"] for branch in figures["branches"]) == figures["decoding_steps"] == figures["drafts"]
    assert figures["accepted_tokens"] == sum(figures["accepted_per_position"])
    assert figures["arrival_s"] <= figures["started_s"] < figures["first_token_s"] <= figures["ended_s"]


def test_a_warm_up_can_be_left_out_of_the_trace() -> None:
    with EmulatorServer(STREAMS, speed=1000) as running:
        for page in (SHORT, "en_blank_leaf.png", "zh_scan_notice.jpg"):
            ask(running, page)
        whole, rest = (httpx.get(f"{running.root}/trace{query}").json() for query in ("", "?skip=2"))
        assert httpx.get(f"{running.root}/trace?skip=x").status_code == 400
    assert (whole["totals"]["requests"], rest["totals"]["requests"]) == (3, 1)
    assert rest["requests"] == whole["requests"][2:]


def test_branch_lengths_counted_by_a_client_are_those_of_the_engine(server: EmulatorServer) -> None:
    for row in ROWS:
        text = row["fork"]["text"]
        reply = httpx.post(f"{server.root}/tokenize", json={"prompt": text, "return_token_strs": True}).json()
        counted = branches(row["page_id"], text, reply)
        figures = ask(server, row["page_id"]).usage["evalkit_emulated"]
        assert counted.critical_path == figures["critical_path_tokens"]
        assert counted.sequential == figures["completion_tokens"]


def branches(page_id: str, text: str, reply: dict[str, Any]) -> BranchTokens:
    ends = token_ends(reply["token_strs"], text)
    assert ends is not None
    assert len(ends) == reply["count"]
    return branch_lengths(page_id, reply["count"] + 1, split_hpd(text), lambda span: tokens_in(ends, span))


def test_the_same_seed_gives_the_same_answer_and_steps() -> None:
    found = []
    for seed in (4, 4, 5):
        with EmulatorServer(STREAMS, speed=1000, seed=seed) as running:
            figures = [ask(running, row["page_id"]).usage["evalkit_emulated"] for row in ROWS[:6]]
        found.append([(row["decoding_steps"], row["accepted_per_position"]) for row in figures])
    assert found[0] == found[1] != found[2]


def test_counters_agree_with_the_sum_of_the_requests() -> None:
    with EmulatorServer(STREAMS, speed=1000, release="0.32.0") as running, ThreadPoolExecutor(16) as threads:
        told = list(threads.map(lambda row: ask(running, row["page_id"]), ROWS))
        text = httpx.get(f"{running.root}/metrics").text
        trace = running.trace()
    usage = [answer.usage for answer in told]
    figures = [answer.usage["evalkit_emulated"] for answer in told]
    assert counter(text, "generation_tokens") == sum(row["completion_tokens"] for row in usage)
    assert counter(text, "prompt_tokens") == sum(row["prompt_tokens"] for row in usage)
    assert counter(text, "spec_decode_num_drafts") == sum(row["drafts"] for row in figures)
    assert counter(text, "spec_decode_num_accepted_tokens") == sum(row["accepted_tokens"] for row in figures)
    for position in range(6):
        wanted = sum(row["accepted_per_position"][position] for row in figures)
        assert counter(text, "spec_decode_num_accepted_tokens_per_pos", f'position="{position}"') == wanted
    assert counter(text, "request_success", 'finished_reason="stop"') == len(ROWS)
    assert trace["totals"]["pps"] == pytest.approx(len(ROWS) / trace["totals"]["window_s"])
    assert trace["engine"]["forks"] == sum(len(row["branches"]) - 1 for row in figures)


def counter(text: str, name: str, label: str = "") -> float:
    lines = [line for line in text.splitlines() if line.startswith(f"vllm:{name}_total{{") and label in line]
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


@pytest.mark.parametrize(
    ("release", "fixture", "deployment"),
    [
        ("0.17.1", "metrics_0171_internvl.txt", "hpd-ar"),
        ("0.32.0", "metrics_032_internvl_medusa.txt", "hpd-parsing"),
    ],
)
def test_series_have_the_names_and_types_of_a_real_vllm(release: str, fixture: str, deployment: str) -> None:
    with EmulatorServer(STREAMS, speed=1000, release=release, deployment_name=deployment) as running:
        ask(running)
        shown = httpx.get(f"{running.root}/metrics").text
    real = (FIXTURES / fixture).read_text(encoding="utf-8")
    assert types(shown) == types(real)
    assert "Emulated by evalkit" in shown


def types(text: str) -> set[str]:
    return {line for line in text.splitlines() if line.startswith("# TYPE ")}


def test_releases_are_those_of_the_fixtures() -> None:
    assert RELEASES == ("0.17.1", "0.32.0")


def test_without_drafts_steps_are_tokens_and_there_are_no_draft_series() -> None:
    with EmulatorServer(STREAMS, speed=1000, deployment_name="hpd-ar") as running:
        told = ask(running, SHORT, PLAIN)
        text = httpx.get(f"{running.root}/metrics").text
    figures = told.usage["evalkit_emulated"]
    assert figures["decoding_steps"] == figures["critical_path_steps"] == told.usage["completion_tokens"]
    assert figures["drafts"] == 0
    assert "spec_decode" not in text


def test_small_addresses(server: EmulatorServer) -> None:
    def get(path: str) -> httpx.Response:
        return httpx.get(server.root + path)

    assert (get("/health").status_code, get("/health").content) == (200, b"")
    assert get("/ping").status_code == 200
    version = get("/version").json()
    assert version == {"version": "0.17.1+evalkit.emulated", "emulated": True}
    assert get("/v1/models").json()["data"][0]["id"] == "HPD-Parsing"
    assert get("/load").json() == {"server_load": 0}
    assert get("/nothing").status_code == 404
    for path in ("/reset_prefix_cache", "/reset_mm_cache", "/reset_encoder_cache"):
        assert httpx.post(server.root + path).status_code == 200
    assert all(get(path).headers["x-evalkit-emulated"] == "1" for path in ("/health", "/metrics", "/nothing", "/trace"))


def test_a_repeated_page_hits_the_caches_until_they_are_reset() -> None:
    with EmulatorServer(STREAMS, speed=1000) as running:
        hits = []
        for reset in (False, False, True):
            if reset:
                httpx.post(f"{running.root}/reset_prefix_cache")
            hits.append(ask(running).usage["prompt_tokens_details"]["cached_tokens"])
        hits.append(ask(running, cache_salt="other").usage["prompt_tokens_details"]["cached_tokens"])
        text = httpx.get(f"{running.root}/metrics").text
    assert [hit > 1800 for hit in hits] == [False, True, False, False]
    assert counter(text, "prefix_cache_hits") == hits[1]
    assert counter(text, "mm_cache_hits") == 3


def test_the_token_limit_cuts_the_answer(server: EmulatorServer) -> None:
    told = ask(server, SHORT, PLAIN, max_tokens=50)
    assert (told.finish, told.usage["completion_tokens"]) == ("length", 50)
    assert BY_PAGE[SHORT]["plain"]["text"].startswith(told.text)
    assert 0 < len(told.text) < len(BY_PAGE[SHORT]["plain"]["text"])


def test_usage_can_come_with_every_chunk(server: EmulatorServer) -> None:
    options = {"include_usage": True, "continuous_usage_stats": True}
    reply = httpx.post(f"{server.url}/chat/completions", json=body(prompt=PLAIN, stream_options=options), timeout=60)
    events = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: {")]
    counts = [event["usage"]["completion_tokens"] for event in events if event.get("usage")]
    assert counts == sorted(counts)
    assert counts[-1] == BY_PAGE[SHORT]["plain"]["tokens"]["output"]


def image(data: bytes) -> dict[str, Any]:
    import base64

    return {"type": "image_url", "image_url": {"url": "data:image/png;base64," + base64.b64encode(data).decode()}}


def with_content(*parts: dict[str, Any]) -> dict[str, Any]:
    return body() | {"messages": [{"role": "user", "content": list(parts)}]}


REFUSED = [
    ("model", body(model="other"), 404, "does not exist"),
    ("two images", with_content(image(b"\x89PNG\r\n\x1a\n1"), image(b"\x89PNG\r\n\x1a\n2")), 400, "At most 1 image"),
    ("broken image", with_content(image(b"hello")), 400, "cannot identify image"),
    ("remote image", with_content({"type": "image_url", "image_url": {"url": "http://x/y.png"}}), 400, "data URLs"),
    ("no messages", body(messages=[]), 400, "messages"),
    ("too many tokens", body(max_tokens=20_000), 400, "too large"),
    ("no tokens", body(max_tokens=0), 400, "at least 1"),
    ("unknown fault", body(evalkit_fault="nonsense"), 400, "nonsense"),
]


@pytest.mark.parametrize(
    ("request_body", "status", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_refused_requests(server: EmulatorServer, request_body: dict[str, Any], status: int, message: str) -> None:
    reply = httpx.post(f"{server.url}/chat/completions", json=request_body, timeout=60)
    assert reply.status_code == status
    assert message in reply.json()["error"]["message"]
    assert reply.json()["error"]["code"] == status


def test_a_body_that_is_no_json(server: EmulatorServer) -> None:
    reply = httpx.post(f"{server.url}/chat/completions", content=b"{" * 10_000, timeout=60)
    assert reply.status_code == 400


def test_an_unknown_image_is_answered_by_choice_or_refused() -> None:
    unknown = with_content(image(b"\x89PNG\r\n\x1a\nunknown"), {"type": "text", "text": FORK})
    with EmulatorServer(STREAMS, speed=1000) as running:
        replies = [httpx.post(f"{running.url}/chat/completions", json=unknown | {"stream": False}) for _ in range(2)]
    texts = [reply.json()["choices"][0]["message"]["content"] for reply in replies]
    assert texts[0] == texts[1] != ""
    with EmulatorServer(STREAMS, speed=1000, unknown="refuse") as running:
        assert httpx.post(f"{running.url}/chat/completions", json=unknown).status_code == 404


def test_answers_of_another_system_by_prompt(tmp_path: Path) -> None:
    sha256 = BY_PAGE[SHORT]["image_sha256"]
    rows = [
        {"page_id": SHORT, "image_sha256": sha256, "text": "# all", "tokens": {"input": 10, "output": 3}},
        {
            "page_id": SHORT,
            "image_sha256": sha256,
            "prompt": "Layout:",
            "text": "boxes",
            "tokens": {"input": 9, "output": 2},
        },
    ]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with EmulatorServer(path, speed=1000) as running:
        assert ask(running, SHORT, "Layout:").text == "boxes"
        told = ask(running, SHORT, "Convert the page.")
    assert (told.text, told.usage["prompt_tokens"], told.usage["completion_tokens"]) == ("# all", 10, 3)


def test_answers_of_a_finished_run(tmp_path: Path) -> None:
    run = tmp_path / "run" / "infer"
    run.mkdir(parents=True)
    row = {"page_id": SHORT, "text": "from a run", "tokens": {"input": 12, "output": 4}}
    run.joinpath("requests.jsonl").write_text(
        '{"schema": "x", "version": 1}\n' + json.dumps(row) + "\n", encoding="utf-8"
    )
    with pytest.raises(UserError, match="--images"):
        load_answers(tmp_path / "run")
    with EmulatorServer(tmp_path / "run", images=STREAMS.parent / "images", speed=1000) as running:
        assert ask(running).text == "from a run"


def test_every_mistake_of_an_answers_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"page_id": "a"}\nnot json\n[1]\n', encoding="utf-8")
    with pytest.raises(InvalidFileError) as caught:
        load_answers(path)
    assert sorted(problem.partition(":")[0] for problem in caught.value.problems) == ["line 1", "line 2", "line 3"]


def test_two_servers_at_once_and_a_port_in_use(server: EmulatorServer) -> None:
    with EmulatorServer(STREAMS, speed=1000) as other:
        assert other.url != server.url
        port = int(other.root.rsplit(":", 1)[1])
        with pytest.raises(OSError):
            EmulatorServer(STREAMS, port=port).start()
