"""Answers by decoding step: numbers, times and tokens of every piece, and the long file that holds them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalkit.api import rows
from evalkit.bench_summary import write_bench_summary
from evalkit.stages.infer import infer
from evalkit.step_file import write_steps
from evalkit.types import Observation, Provenance, RawOutput, RunFacts
from metrics.phases import phase_figures
from metrics.step_rows import PageSteps, step_rows
from tests.fakes.chat_server import Answer, FakeChatServer, page_jobs, serving
from tests.metrics.test_speed_figures import AR, HIERARCHICAL, page, seen
from tests.stages.test_infer import settings


def streamed(**extra: Any) -> RawOutput:
    """Three pieces that came 1, 1.5 and 3 s after the request was sent at 2 s."""
    return page("p", 2.0, 5.0, first_s=3.0, tokens=6, chunk_times_s=[3.0, 3.5, 5.0], chunk_chars=[4, 2, 9], **extra)


def steps_of(output: RawOutput, **changes: Any) -> PageSteps:
    (found,) = step_rows(seen(output, **changes))
    return found


SPECULATION = {"num_spec_steps": 3, "num_accepted_draft_tokens": 3, "num_draft_tokens": 9}
TOLD = {"server_metrics": {"speculative_decoding": SPECULATION}}
CASES = [
    ("no tokens told", AR, {}, [1, 2, 3], None, "estimated"),
    ("tokens are steps", AR, {"chunk_tokens": [1, 3, 6]}, [1, 3, 6], [1, 2, 3], "measured"),
    ("pieces are steps", HIERARCHICAL, {"chunk_tokens": [2, 4, 6], **TOLD}, [1, 2, 3], [2, 2, 2], "measured"),
    ("pieces may hold several steps", HIERARCHICAL, {"chunk_tokens": [2, 4, 6]}, [1, 2, 3], [2, 2, 2], "estimated"),
    ("counts that fall are none", AR, {"chunk_tokens": [3, 1, 6]}, [1, 2, 3], None, "estimated"),
    ("counts of some pieces are none", AR, {"chunk_tokens": [3, 6]}, [1, 2, 3], None, "estimated"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("system", "extra", "steps", "tokens", "source"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_steps_are_measured_where_the_server_tells(
    system: Any, extra: dict[str, Any], steps: list[int], tokens: list[int] | None, source: str
) -> None:
    found = steps_of(streamed(**extra), system=system)
    assert (list(found.steps), found.tokens, found.provenance) == (steps, tokens, source)
    assert (found.times_s, found.chars) == ([1.0, 1.5, 3.0], [4, 2, 9])


def test_what_was_not_streamed_has_no_steps_and_an_emulated_drive_says_so() -> None:
    assert list(step_rows(seen(page("p", 1, 2, chunk_times_s=[2.0], chunk_chars=[4])))) == []
    assert list(step_rows(seen(page("p", 1, 2)))) == []
    emulated = steps_of(streamed(chunk_tokens=[1, 2, 3]), facts=RunFacts("server", 0.0, emulated=True))
    assert emulated.provenance is Provenance.EMULATED


def test_the_long_file_has_a_row_a_piece(tmp_path: Path) -> None:
    name = 'a "quoted"\u2028page'
    pages = [
        PageSteps(name, [1, 3], [0.5, 0.75], [7, 1], [1, 2], Provenance.MEASURED),
        PageSteps("b", range(1, 2), [1e-06], [3], None, Provenance.ESTIMATED),
    ]
    write_steps(tmp_path / "steps.jsonl", pages)
    assert rows(tmp_path / "steps.jsonl") == [
        {"page_id": name, "step": 1, "time_s": 0.5, "chars": 7, "tokens": 1, "provenance": "measured"},
        {"page_id": name, "step": 3, "time_s": 0.75, "chars": 1, "tokens": 2, "provenance": "measured"},
        {"page_id": "b", "step": 1, "time_s": 1e-06, "chars": 3, "tokens": None, "provenance": "estimated"},
    ]


@pytest.mark.parametrize("asked", [False, True])
def test_tokens_of_chunks_are_asked_for_on_demand(tmp_path: Path, asked: bool) -> None:
    with serving(FakeChatServer(lambda page_id: Answer(("ab", "cde")))) as server:
        infer(tmp_path, page_jobs(tmp_path / "images", 2), settings(server.url, chunk_usage=asked))
    options = {"include_usage": True, **({"continuous_usage_stats": True} if asked else {})}
    assert [request["stream_options"] for request in server.requests] == [options] * 2
    write_bench_summary(tmp_path)
    found = rows(tmp_path / "bench/steps.jsonl")
    assert sorted((row["page_id"], row["step"], row["chars"], row["tokens"]) for row in found) == [
        ("p000", 1, 2, None), ("p000", 2, 3, None), ("p001", 1, 2, None), ("p001", 2, 3, None),
    ]  # fmt: skip


def phases(*outputs: RawOutput, **changes: Any) -> tuple[float | None, float | None, float | None, str]:
    observation: Observation = seen(*outputs, **changes)
    found = phase_figures(observation, outputs)
    return found.before_s, found.decode_s, found.share, found.provenance


def test_phases_are_the_client_s_estimate_unless_the_server_tells() -> None:
    one, two = page("a", 0, 4, first_s=1.0), page("b", 0, 10, first_s=3.0)
    assert phases(one, two) == (2.0, 5.0, pytest.approx(4 / 14), "estimated")
    times = {"evalkit_emulated": {"started_s": 2.0, "first_token_s": 2.5, "ended_s": 4.0}}
    told = [replace(output, extra={"server_metrics": times}) for output in (one, two)]
    assert phases(*told) == (0.5, 1.5, 0.25, "measured")
    assert phases(told[0], two)[3] == "estimated"


@pytest.mark.parametrize("outputs", [(), (page("a", 0, 4),), (page("a", 0, 4, first_s=3.99),)])
def test_pages_that_came_as_a_whole_have_no_phases(outputs: tuple[RawOutput, ...]) -> None:
    assert phases(*outputs) == (None, None, None, "estimated")
