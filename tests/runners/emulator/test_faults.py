"""Faults on purpose: what the client sees, and what the trace says was done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from evalkit.errors import UserError
from runners.emulator.faults import FAULT_HEADER, Fault, FaultKind, FaultRule, parse_rule
from runners.emulator.server import EmulatorServer
from tests.runners.emulator.asking import BY_PAGE, FORK, PLAIN, SHORT, STREAMS, ask, body, take_apart

RULES = [
    ("hang", FaultRule(Fault(FaultKind.HANG))),
    ("error@3", FaultRule(Fault(FaultKind.ERROR, 500), number=3)),
    ("error:503@every:2", FaultRule(Fault(FaultKind.ERROR, 503), every=2)),
    ("cut:5@page:a.png", FaultRule(Fault(FaultKind.CUT, 5), page="a.png")),
]


@pytest.mark.parametrize(("text", "rule"), RULES)
def test_rules_are_read(text: str, rule: FaultRule) -> None:
    assert parse_rule(text) == rule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "Known: crash, cut"),
        ("cut:x", "not a number"),
        ("hang@0", "request number"),
        ("hang@soon", "every:N"),
    ],
)
def test_bad_rules_are_explained(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_rule(text)


@pytest.mark.parametrize(
    ("text", "hit"), [("hang@3", [3]), ("hang@every:2", [2, 4]), ("hang", [1, 2, 3, 4]), ("hang@page:q", [])]
)
def test_rules_hit_the_requests_they_name(text: str, hit: list[int]) -> None:
    assert [number for number in range(1, 5) if parse_rule(text).hits(number, "p")] == hit


@pytest.fixture(scope="module")
def server() -> Iterator[EmulatorServer]:
    with EmulatorServer(STREAMS, speed=1000) as running:
        yield running


def test_an_error_status(server: EmulatorServer) -> None:
    reply = httpx.post(f"{server.url}/chat/completions", json=body(), headers={FAULT_HEADER: "error:503"})
    assert (reply.status_code, reply.json()["error"]["code"]) == (503, 503)
    assert server.trace()["requests"][-1]["state"] == "error"


def test_a_request_that_hangs(server: EmulatorServer) -> None:
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{server.url}/chat/completions", json=body(evalkit_fault="hang"), timeout=0.2)
    assert server.trace()["requests"][-1]["fault"] == "hang"
    assert ask(server).done


@pytest.mark.parametrize("prompt", [FORK, PLAIN])
def test_a_stream_that_is_cut(server: EmulatorServer, prompt: str) -> None:
    received = read_until_broken(server, body(prompt=prompt, evalkit_fault="cut:2"))
    told = take_apart(received.decode())
    assert len(told.pieces) <= 2
    assert not told.done
    row = server.trace()["requests"][-1]
    assert (row["state"], row["fault"]) == ("cut", "cut")


def read_until_broken(server: EmulatorServer, request: dict[str, Any]) -> bytes:
    received = b""
    with httpx.stream("POST", f"{server.url}/chat/completions", json=request) as reply:
        try:
            for data in reply.iter_bytes():
                received += data
        except httpx.HTTPError:
            return received
    raise AssertionError("the stream came to its end")


def test_a_chunk_that_is_no_json(server: EmulatorServer) -> None:
    reply = httpx.post(f"{server.url}/chat/completions", json=body(evalkit_fault="malformed:1"))
    lines = [line[6:] for line in reply.text.splitlines() if line.startswith("data: ") and line != "data: [DONE]"]
    broken = [line for line in lines if not is_json(line)]
    assert len(broken) == 1
    assert lines.index(broken[0]) == 2


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def test_repetition_to_the_token_limit(server: EmulatorServer) -> None:
    told = ask(server, SHORT, PLAIN, evalkit_fault="repeat", max_tokens=1200)
    assert (told.finish, told.usage["completion_tokens"]) == ("length", 1200)
    assert told.text.startswith(BY_PAGE[SHORT]["plain"]["text"])
    tail = BY_PAGE[SHORT]["plain"]["text"][-20:]
    assert told.text.count(tail) > 5


def test_in_a_forked_page_one_branch_loops(server: EmulatorServer) -> None:
    told = ask(server, SHORT, FORK, evalkit_fault="repeat", max_tokens=1200)
    lengths = [branch["tokens"] for branch in told.usage["evalkit_emulated"]["branches"]]
    assert told.finish == "length"
    assert sum(length == 1200 for length in lengths) == 1
    assert told.text.startswith(BY_PAGE[SHORT]["fork"]["text"])


def test_wrong_usage_beside_a_true_trace(server: EmulatorServer) -> None:
    told = ask(server, evalkit_fault="wrong_usage:3")
    true = BY_PAGE[SHORT]["fork"]["tokens"]["output"]
    assert told.usage["completion_tokens"] == 3 * true
    assert server.trace()["requests"][-1]["completion_tokens"] == true


def test_branches_out_of_order(server: EmulatorServer) -> None:
    page = "en_exam_mathematics.png"
    told = ask(server, page, FORK, evalkit_fault="out_of_order")
    recorded = BY_PAGE[page]["fork"]["text"]
    assert told.text != recorded
    assert sorted(told.text) == sorted(recorded)


def test_a_slow_first_token(server: EmulatorServer) -> None:
    plain, slow = ask(server), ask(server, evalkit_fault="slow_first:300")
    assert slow.text == plain.text
    row = server.trace()["requests"][-1]
    # 300 emulated seconds at 1000 times the speed
    assert row["first_sent_wall_s"] - row["received_wall_s"] >= 0.3


def test_a_server_that_crashes_at_a_request() -> None:
    with EmulatorServer(STREAMS, speed=100, faults=["crash@2"]) as running:
        assert ask(running).done
        with pytest.raises(httpx.HTTPError):
            ask(running)
        running.stop()
        assert running.crashed
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{running.root}/health")
        assert [row["state"] for row in running.trace()["requests"]] == ["ok", "crash"]


def test_a_client_that_goes_away_frees_the_engine() -> None:
    with EmulatorServer(STREAMS, speed=1) as running:
        request = body("en_index_dense.png", PLAIN)
        with httpx.stream("POST", f"{running.url}/chat/completions", json=request) as reply:
            next(reply.iter_bytes())
        rows = wait_for_row(running)
    assert [row["state"] for row in rows] == ["aborted"]
    assert running.trace()["engine"]["generated_tokens"] < BY_PAGE["en_index_dense.png"]["plain"]["tokens"]["output"]


def wait_for_row(running: EmulatorServer) -> list[dict[str, object]]:
    for _ in range(1000):
        if rows := running.trace()["requests"]:
            return list(rows)
    return []
