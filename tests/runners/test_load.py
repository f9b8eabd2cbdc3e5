"""Arrivals, page order, routing and client processes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.errors import UserError
from evalkit.types import FinishState, Load, RawOutput, RunFacts
from runners.load import Board, arrival_times_s, check_load, ordered, process_count, slots_of
from runners.openai_client import RUNNER
from tests.fakes.chat_server import Answer, Behaviour, CutAfter, FakeChatServer, page_jobs, serving
from tests.stages.test_infer import SYSTEM, settings


def drive(urls: tuple[str, ...], jobs: list, **changes: object) -> tuple[list[RawOutput], RunFacts]:  # type: ignore[type-arg]
    base = settings(urls[0] if urls else "")
    outputs: list[RawOutput] = []
    facts = RUNNER.run(jobs, replace(base, endpoints=urls, **changes), outputs.append)  # type: ignore[arg-type]
    return outputs, facts


def test_constant_arrivals_are_absolute() -> None:
    assert arrival_times_s(Load("constant", rate_per_s=4.0), 5, 0) == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_poisson_arrivals_have_their_rate_and_seed() -> None:
    times = arrival_times_s(Load("poisson", rate_per_s=10.0), 5000, 1)
    assert times is not None
    assert times == arrival_times_s(Load("poisson", rate_per_s=10.0), 5000, 1)
    assert times != arrival_times_s(Load("poisson", rate_per_s=10.0), 5000, 2)
    assert times == sorted(times)
    assert 5000 / times[-1] == pytest.approx(10.0, rel=0.05)


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (Load("closed", 0), "1 or more requests in flight, not 0"),
        (Load("poisson"), "poisson arrivals need a rate above 0"),
        (Load("constant", rate_per_s=-1.0), "constant arrivals need a rate above 0"),
        (Load("sawtooth"), "must be one of closed, constant, poisson, not 'sawtooth'"),
    ],
)
def test_a_load_that_cannot_be_made_is_a_user_error(load: Load, message: str) -> None:
    with pytest.raises(UserError, match=message):
        check_load(load)


def test_page_order_is_the_data_set_s_or_shuffled_by_seed(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path, 20)
    assert ordered(jobs, "dataset", 3) == jobs
    assert ordered(jobs, "shuffled", 3) == ordered(jobs, "shuffled", 3)
    assert ordered(jobs, "shuffled", 3) != ordered(jobs, "shuffled", 4)
    assert sorted(ordered(jobs, "shuffled", 3), key=str) == sorted(jobs, key=str)
    with pytest.raises(UserError, match="page order"):
        ordered(jobs, "random", 3)


@given(st.integers(1, 2000), st.integers(1, 8))
def test_the_slots_of_all_processes_are_the_requests_in_flight(in_flight: int, processes: int) -> None:
    slots = [slots_of(Load("closed", in_flight), process, processes) for process in range(processes)]
    assert sum(slots) == in_flight
    assert max(slots) - min(slots) <= 1


def test_more_than_64_in_flight_take_more_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(16)))
    assert [process_count(Load("closed", n), None) for n in (1, 64, 65, 128, 512, 5000)] == [1, 1, 2, 2, 8, 8]
    assert process_count(Load("closed", 512), 3) == 3
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1})
    assert process_count(Load("closed", 512), None) == 2


def test_the_board_gives_each_number_once_and_the_idlest_endpoint() -> None:
    board = Board.create(3)
    other = Board(board.descriptor, 3)
    assert [board.take(), other.take(), board.take()] == [0, 1, 2]
    assert [board.choose_endpoint(), other.choose_endpoint(), board.choose_endpoint()] == [0, 1, 2]
    other.finished(1)
    assert board.choose_endpoint() == 1
    board.close()


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_a_closed_loop_holds_its_number_in_flight_whatever_the_processes(tmp_path: Path, processes: int) -> None:
    jobs = page_jobs(tmp_path, 30)
    with serving(FakeChatServer(lambda page_id: Answer(chunks=tuple("abcdefgh")))) as server:
        outputs, facts = drive((server.url,), jobs, processes=processes)
    assert server.most_in_flight <= 4
    assert Counter(output.page_id for output in outputs) == Counter(job.page.page_id for job in jobs)
    assert facts.client["processes"] == processes


def test_pages_go_out_in_order(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path, 12)
    with serving(FakeChatServer()) as server:
        drive((server.url,), jobs, load=Load("closed", 1), order="shuffled", seed=5)
        assert server.pages == [job.page.page_id for job in ordered(jobs, "shuffled", 5)]


def test_constant_arrivals_do_not_wait_for_answers(tmp_path: Path) -> None:
    with serving(FakeChatServer()) as server:
        outputs, _ = drive((server.url,), page_jobs(tmp_path, 10), load=Load("constant", rate_per_s=100.0), processes=2)
    assert sorted(output.arrival_s or 0.0 for output in outputs) == pytest.approx([n / 100 for n in range(10)])
    assert all((output.send_s or 0.0) >= (output.arrival_s or 0.0) for output in outputs)


def test_several_servers_share_the_pages(tmp_path: Path) -> None:
    with serving(FakeChatServer()) as first, serving(FakeChatServer()) as second:
        outputs, facts = drive((first.url, second.url), page_jobs(tmp_path, 24), load=Load("closed", 8))
        assert len(first.pages) + len(second.pages) == 24
        assert min(len(first.pages), len(second.pages)) >= 4  # the first eight go to the one with fewer outstanding
    assert Counter(output.extra["endpoint"] for output in outputs) == {0: len(first.pages), 1: len(second.pages)}
    assert facts.server["endpoints"] == [first.url, second.url]


def test_one_of_several_servers_going_away_costs_only_its_pages(tmp_path: Path) -> None:
    mortal = FakeChatServer()

    def behave(page_id: str) -> Behaviour:
        mortal.die(after=1)
        return CutAfter(1)

    mortal.behave = behave
    with serving(mortal), serving(FakeChatServer()) as other:
        outputs, facts = drive((mortal.url, other.url), page_jobs(tmp_path, 12), load=Load("closed", 2))
    assert Counter(output.state for output in outputs) == {FinishState.ERROR: 1, FinishState.OK: 11}
    assert {output.extra["endpoint"] for output in outputs if output.state is FinishState.OK} == {1}
    assert facts.notes[1:] == (f"{mortal.url} refused connections: it got no more pages",)


def test_all_of_several_servers_going_away_leave_the_rest_for_a_resumed_run(tmp_path: Path) -> None:
    servers = FakeChatServer(), FakeChatServer()

    def behave(page_id: str) -> Behaviour:
        for server in servers:
            server.die(after=0)
        return CutAfter(1)

    for server in servers:
        server.behave = behave
    with serving(servers[0]) as first, serving(servers[1]) as second:
        outputs, facts = drive((first.url, second.url), page_jobs(tmp_path, 12), load=Load("closed", 1), processes=1)
    assert [output.state for output in outputs] == [FinishState.ERROR]
    assert f"stopped: connections to {first.url} and {second.url} are refused; run again to go on" in facts.notes


def test_an_endpoint_that_refuses_is_chosen_no_more() -> None:
    board = Board.create(3)
    assert [board.refuse(0), board.refuse(0)] == [True, True]
    assert {board.choose_endpoint() for _ in range(6)} == {1, 2}
    board.finished(0)
    assert (board.refuse(2), board.refusing()) == (True, [0, 2])
    assert (board.refuse(1), board.refusing()) == (False, [0, 1, 2])
    board.close()
    alone = Board.create(1)
    assert (alone.refuse(0), alone.refusing()) == (False, [])
    alone.close()


def test_warm_up_pages_are_sent_first_and_are_no_outputs(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path, 5)
    with serving(FakeChatServer()) as server:
        outputs, facts = drive((server.url,), jobs[2:], warmup=tuple(jobs[:2]))
        assert sorted(server.pages[:2]) == ["p000", "p001"]
    assert {output.page_id for output in outputs} == {"p002", "p003", "p004"}
    assert facts.server["warmup"] == {"pages": ["p000", "p001"], "ok": 2}


@pytest.mark.parametrize(
    ("cache", "resettable", "resets", "salted"),
    [
        ("auto", True, 3, False),
        ("auto", False, 3, True),
        ("reset", True, 3, False),
        ("reset", False, 3, False),
        ("salt", True, 0, True),
        ("keep", True, 0, False),
    ],
)
def test_caches_are_emptied_or_salted(tmp_path: Path, cache: str, resettable: bool, resets: int, salted: bool) -> None:
    with serving(FakeChatServer(resettable=resettable)) as server:
        _, facts = drive((server.url,), page_jobs(tmp_path, 3), cache=cache)
    salts = [request.get("cache_salt") for request in server.requests]
    assert sum(path.startswith("/reset") for path in server.posts) == resets
    assert (len(set(salts)) == 3 and None not in salts) if salted else salts == [None] * 3
    assert any("could not be reset" in note for note in facts.notes) is (cache == "reset" and not resettable)


def test_an_emulated_server_is_known_by_its_header(tmp_path: Path) -> None:
    with serving(FakeChatServer(emulated=True)) as server:
        outputs, facts = drive((server.url,), page_jobs(tmp_path, 1))
    assert facts.emulated
    assert outputs[0].extra["emulated"] is True


def test_a_key_comes_from_the_environment_and_is_stored_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = replace(SYSTEM, request=replace(SYSTEM.request, api_key_env="TOY_KEY"))
    with serving(FakeChatServer()) as server:
        monkeypatch.delenv("TOY_KEY", raising=False)
        with pytest.raises(UserError, match="environment variable TOY_KEY, which is not set"):
            drive((server.url,), page_jobs(tmp_path, 1), system=system)
        monkeypatch.setenv("TOY_KEY", "secret-value")
        outputs, facts = drive((server.url,), page_jobs(tmp_path, 1), system=system)
        assert server.headers[-1]["authorization"] == "Bearer secret-value"
    assert "secret-value" not in repr((outputs, facts))


def test_big_bodies_arrive_whole_and_early_answers_end_a_request(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path, 3, size_bytes=3_000_000)
    with serving(FakeChatServer()) as server:
        outputs, _ = drive((server.url,), jobs)
        assert sorted(server.pages) == ["p000", "p001", "p002"]
    assert [output.state for output in outputs] == ["ok"] * 3


def test_the_client_is_shown_to_have_headroom(tmp_path: Path) -> None:
    with serving(FakeChatServer()) as server:
        _, facts = drive((server.url,), page_jobs(tmp_path, 8), check_client=True)
    assert facts.client["stub_pps"] > 0
