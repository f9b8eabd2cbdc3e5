"""The infer stage against scripted servers: every fault costs its page, every run can be gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from evalkit.bench_summary import observe
from evalkit.errors import UserError
from evalkit.requests_log import read_requests, read_sessions
from evalkit.stages.infer import infer, infer_report
from evalkit.store import locked
from evalkit.types import FinishState, InferSettings, Load, OutputFacts, RawOutput, RequestFacts, ServeFacts, System
from tests.fakes.chat_server import (
    HTML,
    STATUS_500,
    Answer,
    Behaviour,
    CutAfter,
    FakeChatServer,
    Hang,
    Raw,
    page_jobs,
    serving,
)

SYSTEM = System(
    name="fake",
    title="Fake",
    runner="openai",
    serve=ServeFacts(model="fake"),
    request=RequestFacts(prompt="document parsing.", max_tokens=100, sampling={"temperature": 0}),
)


def settings(url: str, **changes: object) -> InferSettings:
    base = InferSettings(
        system=SYSTEM,
        endpoints=(url,),
        load=Load(in_flight=4),
        timeout_s=20.0,
        check_client=False,
        preflight=False,
        sample_alone=0,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def by_page(run: Path) -> dict[str, RawOutput]:
    return {output.page_id: output for output in read_requests(run / "infer" / "requests.jsonl")}


def test_every_page_gets_one_row_with_times_tokens_and_text(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 9)
    with serving(FakeChatServer()) as server:
        report = infer(tmp_path / "run", jobs, settings(server.url))
    outputs = by_page(tmp_path / "run")
    assert report.states == {"ok": 9}
    assert report.missing == 0
    assert sorted(outputs) == [job.page.page_id for job in jobs]
    for output in outputs.values():
        assert output.text == "# Title\nbody"
        assert (output.tokens.input, output.tokens.output) == (100, 4)
        assert output.arrival_s is not None
        assert output.send_s is not None
        assert output.first_s is not None
        assert output.last_s is not None
        assert 0 <= output.arrival_s <= output.send_s <= output.first_s <= output.last_s
        assert output.extra["chunk_chars"] == [8, 4]
        assert len(output.extra["chunk_times_s"]) == 2
        assert output.extra["session"] == 0


def test_what_is_sent_is_the_system_s_request(tmp_path: Path) -> None:
    with serving(FakeChatServer()) as server:
        infer(tmp_path / "run", page_jobs(tmp_path / "images", 1), settings(server.url))
    request = server.requests[0]
    assert request["model"] == "fake"
    assert request["temperature"] == 0
    assert request["max_tokens"] == 100
    assert request["stream_options"] == {"include_usage": True}
    image, prompt = request["messages"][0]["content"]
    assert image["image_url"]["url"].startswith("data:image/png;base64,")
    assert prompt == {"type": "text", "text": "document parsing."}


def test_an_answer_that_is_not_streamed_has_no_first_chunk_time(tmp_path: Path) -> None:
    with serving(FakeChatServer()) as server:
        infer(tmp_path / "run", page_jobs(tmp_path / "images", 1), settings(server.url, stream=False))
    (output,) = by_page(tmp_path / "run").values()
    assert (output.state, output.text, output.first_s) == (FinishState.OK, "# Title\nbody", None)


MALFORMED = Raw(
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    b'data: {"choices": [{"delta": {"content": "half"}}]}\n\ndata: {"choices": [{"de\n\ndata: [DONE]\n\n'
)
IN_BAND = Raw(
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    b'data: {"error": {"message": "EngineCore died", "code": 500}}\n\ndata: [DONE]\n\n'
)
TOO_LONG_HEAD = Raw(b"HTTP/1.1 200 OK\r\n" + b"X-Filler: " + b"a" * 70_000)
LONG_EVENT = Raw(
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: " + b"a" * 6_000_000 + b"\n\ndata: [DONE]\n\n"
)
TWO_ANSWERS = Raw(HTML.data + STATUS_500.data)
FAULTS: list[tuple[str, Behaviour, FinishState, str, str | None]] = [
    ("status_500", STATUS_500, FinishState.ERROR, "http_status: 500 CUDA error", None),
    ("html", HTML, FinishState.ERROR, "not_json: text/html", None),
    ("cut_rudely", CutAfter(3), FinishState.ERROR, "cut: the server closed the connection before its end", None),
    ("cut_politely", CutAfter(3, politely=True), FinishState.ERROR, "cut: the stream ended early", None),
    ("cut_at_once", Raw(b""), FinishState.ERROR, "cut: the server closed the connection without an answer", None),
    ("malformed_chunk", MALFORMED, FinishState.ERROR, "malformed: event 2 is not valid JSON", None),
    ("no_http", Raw(b"SSH-2.0-OpenSSH_9.2\r\n"), FinishState.ERROR, "malformed: not an HTTP answer", None),
    ("endless_head", TOO_LONG_HEAD, FinishState.ERROR, "malformed: ", None),
    ("in_band_error", IN_BAND, FinishState.ERROR, "server_error: EngineCore died", None),
    ("endless_event", LONG_EVENT, FinishState.ERROR, "malformed: an event of over 4 MiB", None),
    ("two_answers", TWO_ANSWERS, FinishState.ERROR, "not_json: text/html", None),
    ("max_tokens", Answer(finish_reason="length"), FinishState.TRUNCATED, "length: ", "# Title\nbody"),
    ("loop_stopped", Answer(finish_reason="repetition"), FinishState.TRUNCATED, "repetition: ", "# Title\nbody"),
    ("aborted", Answer(finish_reason="abort"), FinishState.ERROR, "stopped: finish_reason abort", None),
    ("empty", Answer(chunks=()), FinishState.INVALID, "empty: ", ""),
    ("hang", Hang(), FinishState.TIMEOUT, "timeout: no complete answer in 3 s", None),
]


@pytest.mark.parametrize(
    ("behaviour", "state", "reason", "text"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS]
)
def test_a_fault_costs_its_page_and_is_named(
    tmp_path: Path, behaviour: Behaviour, state: FinishState, reason: str, text: str | None
) -> None:
    def behave(page_id: str) -> Behaviour:
        return behaviour if page_id == "p001" else Answer()

    timeout_s = 3.0 if state is FinishState.TIMEOUT else 60.0
    with serving(FakeChatServer(behave)) as server:
        report = infer(tmp_path / "run", page_jobs(tmp_path / "images", 4), settings(server.url, timeout_s=timeout_s))
    outputs = by_page(tmp_path / "run")
    assert outputs["p001"].state is state
    assert (outputs["p001"].reason or "").startswith(reason)
    assert outputs["p001"].text == text
    assert [outputs[page].state for page in ("p000", "p002", "p003")] == [FinishState.OK] * 3
    assert report.missing == 0


@pytest.mark.parametrize("count", ["many", 1e300, 10**40])
def test_usage_that_is_no_count_is_absent(tmp_path: Path, count: object) -> None:
    odd = {"prompt_tokens": -3, "completion_tokens": count, "prompt_tokens_details": {"cached_tokens": True}}
    with serving(FakeChatServer(lambda page_id: Answer(usage=odd))) as server:
        infer(tmp_path / "run", page_jobs(tmp_path / "images", 1), settings(server.url))
    (output,) = by_page(tmp_path / "run").values()
    assert output.state is FinishState.OK
    assert (output.tokens.input, output.tokens.output, output.tokens.cached_input) == (None, None, None)


@pytest.mark.parametrize(
    "chunks",
    [("\ud800 lone surrogate",), ("\x00\x1b[31m",), ("x" * 2_000_000,), tuple("ab" * 3000)],
    ids=["surrogate", "control", "2 MB chunk", "6000 chunks"],
)
def test_hostile_text_is_kept_as_it_is(tmp_path: Path, chunks: tuple[str, ...]) -> None:
    with serving(FakeChatServer(lambda page_id: Answer(chunks=chunks))) as server:
        infer(tmp_path / "run", page_jobs(tmp_path / "images", 2), settings(server.url))
    for output in by_page(tmp_path / "run").values():
        assert (output.state, output.text) == (FinishState.OK, "".join(chunks))


def test_server_figures_that_json_cannot_hold_are_left_out(tmp_path: Path) -> None:
    odd = {"speculative_decoding": {"num_spec_steps": float("nan"), "draft_acceptance_rate": float("inf")}}
    with serving(FakeChatServer(lambda page_id: Answer(metrics=odd))) as server:
        infer(tmp_path / "run", page_jobs(tmp_path / "images", 1), settings(server.url))
    (output,) = by_page(tmp_path / "run").values()
    assert output.state is FinishState.OK
    assert "server_metrics" not in output.extra


def test_ctrl_c_keeps_what_is_done(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 6)
    script = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background has it ignored\n"
        "from pathlib import Path\n"
        "from tests.stages.test_infer import page_jobs, settings\n"
        "from evalkit.stages.infer import infer\n"
        "def progress(done, total):\n"
        "    if done == 5: os.killpg(0, signal.SIGINT)\n"
        "infer(Path(sys.argv[1]), page_jobs(Path(sys.argv[2]), 6), settings(sys.argv[3]), on_progress=progress)\n"
    )
    with serving(FakeChatServer(lambda page_id: Hang() if page_id == "p004" else Answer())) as running:
        words = [sys.executable, "-c", script, str(tmp_path / "run"), str(tmp_path / "images"), running.url]
        done = subprocess.run(words, capture_output=True, text=True, timeout=30, start_new_session=True, check=False)
    assert "KeyboardInterrupt" in done.stderr
    assert len(by_page(tmp_path / "run")) == 5
    with serving(FakeChatServer()) as running:
        assert infer(tmp_path / "run", jobs, settings(running.url)).states == {"ok": 6}
        assert running.pages == ["p004"]


@pytest.mark.parametrize("during", ["asked alone", "tokens counted"])
def test_ctrl_c_after_the_last_page_keeps_the_drive(tmp_path: Path, during: str) -> None:
    script = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background has it ignored\n"
        "from pathlib import Path\n"
        "from tests.stages.test_infer import page_jobs, settings\n"
        "from evalkit.stages.infer import infer\n"
        "infer(Path(sys.argv[1]), page_jobs(Path(sys.argv[2]), 6), settings(sys.argv[3], sample_alone=2))\n"
    )
    running: list[subprocess.Popen[str]] = []

    def interrupt() -> None:
        os.killpg(running[0].pid, signal.SIGINT)

    def behave(page_id: str) -> Behaviour:
        if during == "asked alone" and server.pages.count(page_id) > 1:
            interrupt()
            return Hang()
        return Answer()

    def tokenize(prompt: str) -> dict[str, int]:
        if during == "tokens counted":
            interrupt()
        return {"count": len(prompt.split())}

    server = FakeChatServer(behave, tokenize=tokenize)
    with serving(server):
        words = [sys.executable, "-c", script, str(tmp_path / "run"), str(tmp_path / "images"), server.url]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
            running.append(process)
            _, told = process.communicate(timeout=30)
    assert "DriveInterruptedError" in told
    (session,) = read_sessions(tmp_path / "run/infer")
    assert session.facts is not None
    assert session.facts["notes"][-1].startswith("interrupted after the last page")
    assert session.facts["client"]["alone"] is None
    observation = observe(tmp_path / "run")
    assert (observation.sessions, len(observation.outputs)) == (1, 6)
    with serving(FakeChatServer()) as again:
        assert infer(tmp_path / "run", page_jobs(tmp_path / "images", 6), settings(again.url)).sessions == 1
        assert again.pages == []


def test_pages_that_failed_are_pages_without_an_answer(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 3)
    with serving(FakeChatServer(lambda page_id: HTML if page_id == "p001" else Answer())) as running:
        report = infer(tmp_path / "run", jobs, settings(running.url))
    assert (report.missing, report.unanswered) == (0, 1)
    assert infer_report(tmp_path / "run", jobs).unanswered == 1


def test_an_answer_without_the_system_s_marker_is_invalid(tmp_path: Path) -> None:
    marked = replace(SYSTEM, output=OutputFacts(marker="<BLOCK>"))
    with serving(FakeChatServer()) as server:
        infer(tmp_path / "run", page_jobs(tmp_path / "images", 1), settings(server.url, system=marked))
    (output,) = by_page(tmp_path / "run").values()
    assert (output.state, output.reason) == (FinishState.INVALID, "no_marker: the answer has no <BLOCK>")


def test_a_missing_or_odd_image_costs_its_page(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 3)
    Path(jobs[0].image).unlink()
    Path(jobs[1].image).write_bytes(b"not an image")
    with serving(FakeChatServer()) as server:
        infer(tmp_path / "run", jobs, settings(server.url))
    outputs = by_page(tmp_path / "run")
    assert outputs["p000"].reason == "image: No such file or directory"
    assert outputs["p001"].reason == "image: not an image file"
    assert outputs["p002"].state is FinishState.OK


def test_nobody_at_the_address_is_a_user_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no server answers at http://127\.0\.0\.1:9"):
        infer(tmp_path / "run", page_jobs(tmp_path / "images", 1), settings("http://127.0.0.1:9"))


def test_a_model_that_is_not_served_is_a_user_error(tmp_path: Path) -> None:
    with serving(FakeChatServer(model="other")) as server, pytest.raises(UserError, match="serves: other"):
        infer(tmp_path / "run", page_jobs(tmp_path / "images", 1), settings(server.url))


def test_a_drive_that_never_began_forbids_no_other_settings(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 2)
    with serving(FakeChatServer(model="other")) as server, pytest.raises(UserError):
        infer(tmp_path / "run", jobs, settings(server.url))
    with serving(FakeChatServer()) as server:
        assert infer(tmp_path / "run", jobs, settings(server.url, load=Load(in_flight=2))).sessions == 1


def test_a_second_run_asks_for_nothing(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 3)
    with serving(FakeChatServer()) as server:
        infer(tmp_path / "run", jobs, settings(server.url))
        before = (tmp_path / "run/infer/requests.jsonl").read_bytes()
        report = infer(tmp_path / "run", jobs, settings(server.url))
        assert len(server.requests) == 3
    assert (tmp_path / "run/infer/requests.jsonl").read_bytes() == before
    assert (report.states, report.sessions) == ({"ok": 3}, 1)


def test_failed_pages_are_asked_again_only_when_told(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 3)
    with serving(FakeChatServer(lambda page_id: STATUS_500 if page_id == "p001" else Answer())) as server:
        infer(tmp_path / "run", jobs, settings(server.url))
    with serving(FakeChatServer()) as server:
        assert infer(tmp_path / "run", jobs, settings(server.url)).states == {"ok": 2, "error": 1}
        assert infer(tmp_path / "run", jobs, settings(server.url), retry_failed=True).states == {"ok": 3}
        assert server.pages == ["p001"]
    assert [session.pages for session in read_sessions(tmp_path / "run/infer")] == [3, 1]


def test_other_settings_need_another_run(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 2)
    with serving(FakeChatServer()) as server:
        infer(tmp_path / "run", jobs, settings(server.url))
        with pytest.raises(UserError, match=r"load: .*'in_flight': 4.* before, .*'in_flight': 8.* now"):
            infer(tmp_path / "run", jobs, settings(server.url, load=Load(in_flight=8)))


def test_a_folder_that_another_process_writes_to_is_refused(tmp_path: Path) -> None:
    with locked(tmp_path / "run/infer"), pytest.raises(UserError, match="another evalkit process"):
        infer(tmp_path / "run", page_jobs(tmp_path / "images", 1), settings("http://127.0.0.1:9"))


def test_a_file_in_place_of_the_run_folder_is_a_user_error(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("not a folder")
    with pytest.raises(UserError, match="cannot write"):
        infer(tmp_path / "run", page_jobs(tmp_path / "images", 1), settings("http://127.0.0.1:9"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_a_user_error(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    with pytest.raises(UserError, match="cannot write"):
        infer(folder / "run", page_jobs(tmp_path / "images", 1), settings("http://127.0.0.1:9"))


def test_a_full_disk_stops_the_run_with_a_message_and_keeps_what_is_written(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 40)
    script = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from tests.stages.test_infer import page_jobs, settings\n"
        "from evalkit.stages.infer import infer\n"
        "from evalkit.errors import UserError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "def progress(done, total):\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))\n"
        "try:\n"
        "    infer(Path(sys.argv[1]), page_jobs(Path(sys.argv[2]), 40), settings(sys.argv[3]), on_progress=progress)\n"
        "except UserError as error:\n"
        "    print(error)\n"
    )
    with serving(FakeChatServer()) as server:
        words = [sys.executable, "-c", script, str(tmp_path / "run"), str(tmp_path / "images"), server.url]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
        assert "cannot write" in done.stdout, done.stderr
        kept = len(by_page(tmp_path / "run"))
        assert 0 < kept < 40
        report = infer(tmp_path / "run", jobs, settings(server.url))
    assert report.states == {"ok": 40}
    assert len(json_rows(tmp_path / "run/infer/requests.jsonl")) == 40


def json_rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()[1:]]


@pytest.mark.parametrize("rows_before_the_kill", [0, 1, 7, 19, 30])
def test_after_a_kill_the_run_ends_with_every_page_once(tmp_path: Path, rows_before_the_kill: int) -> None:
    jobs = page_jobs(tmp_path / "images", 32)
    log = tmp_path / "run/infer/requests.jsonl"
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from tests.stages.test_infer import page_jobs, settings\n"
        "from evalkit.stages.infer import infer\n"
        "def progress(done, total):\n"
        "    if done >= int(sys.argv[4]):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "if sys.argv[4] == '0': progress(0, 0)\n"
        "infer(Path(sys.argv[1]), page_jobs(Path(sys.argv[2]), 32), settings(sys.argv[3]), on_progress=progress)\n"
    )
    with serving(FakeChatServer(lambda page_id: Answer(chunks=(f"text of {page_id}",)))) as server:
        words = [sys.executable, "-c", script, str(tmp_path / "run"), str(tmp_path / "images"), server.url]
        killed = subprocess.run([*words, str(rows_before_the_kill)], timeout=60, check=False)
        assert killed.returncode == -signal.SIGKILL
        if rows_before_the_kill:
            with open(log, "ab") as file:
                file.write(b'{"page_id": "p0')  # a row that the kill cut short
        infer(tmp_path / "run", jobs, settings(server.url))
        infer(tmp_path / "undisturbed", jobs, settings(server.url))
    rows = json_rows(log)
    assert sorted(row["page_id"] for row in rows) == [job.page.page_id for job in jobs]
    resumed, undisturbed = by_page(tmp_path / "run"), by_page(tmp_path / "undisturbed")
    assert {k: (v.text, v.state) for k, v in resumed.items()} == {k: (v.text, v.state) for k, v in undisturbed.items()}
    sessions = read_sessions(tmp_path / "run/infer")
    assert [session.facts is None for session in sessions] == ([True, False] if rows_before_the_kill else [False])


def test_a_server_that_goes_away_leaves_the_rest_for_a_resumed_run(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 12)
    mortal = FakeChatServer()
    mortal.behave = lambda page_id: mortal.die(after=5) or CutAfter(1)
    with serving(mortal):
        report = infer(tmp_path / "run", jobs, settings(mortal.url, load=Load(in_flight=1)))
    assert report.missing > 0
    assert any(f"stopped: connections to {mortal.url} are refused" in note for note in report.notes)
    answered = 12 - report.missing
    with serving(FakeChatServer()) as server:
        report = infer(tmp_path / "run", jobs, settings(server.url, load=Load(in_flight=1)))
        assert len(server.requests) == 12 - answered
    assert report.missing == 0
