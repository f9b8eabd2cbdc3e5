"""What is asked outside the clock: the largest page beforehand, some pages alone afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from evalkit.bench_summary import write_bench_summary
from evalkit.stages.infer import infer
from evalkit.types import Load, Page, PageJob, RawOutput, RunFacts
from runners.asked_alone import MAX_COMPARED_CHARS
from runners.openai_client import RUNNER
from tests.fakes.chat_server import STATUS_500, Answer, Behaviour, FakeChatServer, Raw, page_jobs, serving
from tests.stages.test_infer import settings

TOO_LARGE = b'{"error": {"message": "image item with length 4200 exceeds encoder cache 3721"}}'
STATUS_400 = Raw(
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(TOO_LARGE)
    + TOO_LARGE
)
COUNTERS = "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 0\n"


def drive(server: FakeChatServer, jobs: list[PageJob], **changes: object) -> tuple[list[RawOutput], RunFacts]:
    outputs: list[RawOutput] = []
    facts = RUNNER.run(jobs, replace(settings(server.url), **changes), outputs.append)  # type: ignore[arg-type]
    return outputs, facts


def test_the_page_with_the_most_bytes_goes_first_where_no_header_can_be_read(tmp_path: Path) -> None:
    jobs = [*page_jobs(tmp_path, 3), *page_jobs(tmp_path / "b", 4, size_bytes=200)[3:]]
    with serving(FakeChatServer()) as server:
        outputs, facts = drive(server, jobs, preflight=True)
    assert server.pages[0] == "p003"
    assert sorted(server.pages[1:]) == ["p000", "p001", "p002", "p003"]
    assert len(outputs) == 4
    assert facts.server["preflight"] | {"reason": None} == {
        "page": "p003", "width_px": 0, "height_px": 0, "bytes": 200, "http_status": 200, "state": "ok", "reason": None,
    }  # fmt: skip
    assert not any("largest page" in note for note in facts.notes)


def test_pixels_in_the_header_go_before_bytes(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path, 2, size_bytes=5000)
    Image.new("RGB", (300, 200)).save(tmp_path / "wide.png")
    jobs.append(PageJob(Page("wide", "wide"), str(tmp_path / "wide.png")))
    server = FakeChatServer()
    server.behave = lambda page_id: STATUS_400 if page_id not in {"p000", "p001"} else Answer()
    with serving(server):
        _, facts = drive(server, jobs, preflight=True)
    seen = facts.server["preflight"]
    assert (seen["page"], seen["width_px"], seen["height_px"], seen["http_status"]) == ("wide", 300, 200, 400)
    assert facts.notes[0] == (
        "the server refuses the largest page, wide (300 x 200 px), with HTTP 400: "
        "image item with length 4200 exceeds encoder cache 3721. Pages like it will have no answer: "
        "raise the server's limit (context length, image tokens, encoder cache) or lower the image size"
    )


def test_a_refused_page_does_not_end_the_run_and_comes_before_other_notes(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 4)
    with serving(FakeChatServer(lambda page_id: STATUS_400)) as server:
        report = infer(tmp_path / "run", jobs, settings(server.url, preflight=True, warmup=tuple(jobs[:1])))
    assert report.states == {"error": 4}
    assert report.notes[0].startswith("the server refuses the largest page")
    assert "warm-up pages failed" in report.notes[1]
    assert write_bench_summary(tmp_path / "run")["server"]["preflight"]["http_status"] == 400


@pytest.mark.parametrize("behaviour", [STATUS_500, Answer(finish_reason="length")], ids=["500", "truncated"])
def test_only_a_refusal_is_noted(tmp_path: Path, behaviour: Behaviour) -> None:
    with serving(FakeChatServer(lambda page_id: behaviour)) as server:
        _, facts = drive(server, page_jobs(tmp_path, 2), preflight=True)
    assert not any("largest page" in note for note in facts.notes)


def test_the_page_sent_first_leaves_no_prefix_behind(tmp_path: Path) -> None:
    with serving(FakeChatServer()) as server:
        drive(server, page_jobs(tmp_path, 2), preflight=True, cache="keep")
    assert ["cache_salt" in request for request in server.requests] == [True, False, False]
    with serving(FakeChatServer(version=None)) as silent:
        _, facts = drive(silent, page_jobs(tmp_path, 2), preflight=True)
    assert len(silent.pages) == 2
    assert "no version" in facts.server["preflight"]["skipped"]


def changing(alone: Callable[[str], Behaviour]) -> FakeChatServer:
    """A server whose second answer to a page is `alone(page_id)`."""
    server = FakeChatServer(metrics_text=COUNTERS)

    def behave(page_id: str) -> Behaviour:
        return alone(page_id) if server.pages.count(page_id) > 1 else Answer((f"# {page_id}\n", "one two three four"))

    server.behave = behave
    return server


def summarised(tmp_path: Path, server: FakeChatServer) -> tuple[dict[str, Any], dict[str, Any]]:
    """`alone` and the check of a run over 8 pages, and what the summary makes of it."""
    with serving(server):
        infer(tmp_path / "run", page_jobs(tmp_path / "images", 8), settings(server.url, sample_alone=3))
    summary = write_bench_summary(tmp_path / "run")
    (check,) = [check for check in summary["checks"] if check.name == "same_alone"]
    return summary, {"alone": summary["client"]["alone"], "check": check}


def test_the_same_answers_alone_pass(tmp_path: Path) -> None:
    server = changing(lambda page_id: Answer((f"# {page_id}\none two three four",)))
    summary, found = summarised(tmp_path, server)
    assert found["alone"] == {
        "pages": 3, "equal": 3, "differing": [], "similarity": 1.0, "lowest_similarity": 1.0, "failed": {},
    }  # fmt: skip
    assert (found["check"].passed, found["check"].value, found["check"].limit) == (True, 1.0, 1.0)
    assert len(server.pages) == 11
    assert summary["states"] == {"ok": 8}


def test_a_few_other_words_advise(tmp_path: Path) -> None:
    summary, found = summarised(tmp_path, changing(lambda page_id: Answer((f"# {page_id}\none two three fore",))))
    assert found["alone"]["equal"] == 0
    assert len(found["alone"]["differing"]) == 3
    assert found["check"].passed is False
    assert "same_alone" not in summary["broken_rules"]
    assert any("3 of 3 pages asked again alone" in line for line in summary["advice"])


def test_the_words_of_another_page_make_the_run_invalid(tmp_path: Path) -> None:
    summary, found = summarised(tmp_path, changing(lambda page_id: Answer(("QXZ " * 20,))))
    assert found["check"].passed is False
    assert summary["broken_rules"] == ["same_alone"]
    assert write_bench_summary(tmp_path / "run", allowed=("same_alone",))["valid"]


def test_a_page_that_fails_alone_is_not_compared(tmp_path: Path) -> None:
    summary, found = summarised(tmp_path, changing(lambda page_id: Answer(finish_reason="length")))
    assert found["alone"]["pages"] == 0
    assert [why.partition(":")[0] for why in found["alone"]["failed"].values()] == ["length"] * 3
    assert found["check"].passed is None
    assert summary["valid"]


def test_very_long_answers_are_compared_by_their_beginnings(tmp_path: Path) -> None:
    long = "a" * MAX_COMPARED_CHARS
    server = FakeChatServer()
    server.behave = lambda page_id: Answer((long, "b" if server.pages.count(page_id) > 1 else "c"))
    with serving(server):
        _, facts = drive(server, page_jobs(tmp_path, 2), sample_alone=1)
    assert (facts.client["alone"]["equal"], facts.client["alone"]["similarity"]) == (0, 1.0)


def test_the_sample_is_asked_one_at_a_time_by_seed(tmp_path: Path) -> None:
    samples = []
    for seed in (0, 0, 1):
        with serving(FakeChatServer()) as server:
            drive(server, page_jobs(tmp_path, 12), sample_alone=3, seed=seed)
        assert len(set(server.pages[12:])) == 3
        samples.append(server.pages[12:])
    assert samples[0] == samples[1] != samples[2]


@pytest.mark.parametrize(
    "changes",
    [{"load": Load(in_flight=1)}, {"sample_alone": 0}, {}],
    ids=["one in flight", "not asked for", "no ok page"],
)
def test_nothing_is_asked_again_without_a_reason(tmp_path: Path, changes: dict[str, object]) -> None:
    good = bool(changes)
    with serving(FakeChatServer(lambda page_id: Answer() if good else STATUS_500)) as server:
        _, facts = drive(server, page_jobs(tmp_path, 4), **{"sample_alone": 3, **changes})
    assert len(server.pages) == 4
    assert facts.client["alone"] is None


def test_a_server_that_is_gone_is_not_asked_again(tmp_path: Path) -> None:
    server = FakeChatServer()
    server.behave = lambda page_id: server.die(after=3) or Answer()  # type: ignore[func-returns-value]
    with serving(server):
        _, facts = drive(server, page_jobs(tmp_path, 8), sample_alone=3, load=Load(in_flight=2))
    if len(server.pages) < 8:
        assert facts.client["alone"] is None
        assert facts.notes[-1].startswith("stopped: the server")
