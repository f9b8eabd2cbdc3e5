"""bench/summary.json from the files of the infer stage, whole, interrupted and asked again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from evalkit.bench_summary import observe, read_bench_summary, write_bench_summary
from evalkit.errors import UserError
from evalkit.requests_log import FILE
from evalkit.stages.infer import infer
from evalkit.store import read_json
from evalkit.types import Load
from tests.fakes.chat_server import STATUS_500, Answer, CutAfter, FakeChatServer, page_jobs, serving
from tests.stages.test_infer import settings


def test_a_summary_is_plain_json_that_names_units_and_definitions(tmp_path: Path) -> None:
    with serving(FakeChatServer()) as server:
        infer(tmp_path, page_jobs(tmp_path / "images", 8), settings(server.url))
    write_bench_summary(tmp_path)
    summary = read_json(tmp_path / "bench/summary.json")
    assert summary == read_bench_summary(tmp_path)
    assert (summary["version"], summary["mode"], summary["provenance"]) == (1, "server", "measured")
    assert summary["states"] == {"ok": 8}
    for name, figure in summary["figures"].items():
        assert figure["name"] == name
        assert figure["unit"]
        assert figure["definition"]
        assert (figure["value"] is None) == bool(figure["reason"])
        assert figure["provenance"] in {"measured", "estimated"}


def test_a_drive_that_was_cut_short_and_resumed_has_no_rates(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 12)
    mortal = FakeChatServer()
    mortal.behave = lambda page_id: mortal.die(after=3) or CutAfter(1)  # type: ignore[func-returns-value]
    with serving(mortal):
        infer(tmp_path, jobs, settings(mortal.url, load=Load(in_flight=1), cache="keep"))
    with serving(FakeChatServer()) as server:
        report = infer(tmp_path, jobs, settings(server.url, load=Load(in_flight=1), cache="keep"))
    assert report.sessions == 2
    summary = write_bench_summary(tmp_path)
    assert summary["sessions"] == 2
    assert "uninterrupted" in summary["broken_rules"]
    assert summary["figures"]["pps"].reason == "the run was interrupted and resumed"
    assert summary["figures"]["latency_p50_s"].value is not None
    assert set(summary["states"]) == {"ok", "error"}


def test_a_full_drive_that_remains_stands_for_the_run(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 8)
    with serving(FakeChatServer(lambda page_id: STATUS_500)) as server:
        infer(tmp_path, jobs, settings(server.url))
    with serving(FakeChatServer()) as server:
        infer(tmp_path, jobs, settings(server.url), retry_failed=True)
    observation = observe(tmp_path)
    assert observation.sessions == 1
    assert [output.state for output in observation.outputs] == ["ok"] * 8


def test_a_log_without_its_end_is_an_interrupted_run(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 8)
    with serving(FakeChatServer()) as server:
        infer(tmp_path, jobs, settings(server.url))
        log = tmp_path / "infer" / FILE
        lines = log.read_bytes().splitlines(keepends=True)
        log.write_bytes(b"".join(lines[:5]))
        sessions = tmp_path / "infer/sessions.jsonl"
        sessions.write_bytes(b"".join(sessions.read_bytes().splitlines(keepends=True)[:2]))
        (tmp_path / "infer/_done.json").unlink()
        infer(tmp_path, jobs, settings(server.url))
    observation = observe(tmp_path)
    assert (observation.sessions, len(observation.outputs)) == (2, 8)


def test_a_whole_drive_stands_when_failed_pages_were_asked_again(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 8)
    with serving(FakeChatServer(lambda page_id: STATUS_500 if page_id == "p002" else Answer())) as server:
        infer(tmp_path, jobs, settings(server.url))
    before = observe(tmp_path)
    with serving(FakeChatServer()) as server:
        infer(tmp_path, jobs, settings(server.url), retry_failed=True)
    after = observe(tmp_path)
    assert after.sessions == 1
    assert after.outputs == before.outputs
    assert "coverage" in write_bench_summary(tmp_path)["broken_rules"]


def test_runs_of_different_loads_are_not_compared(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path / "images", 4)
    with serving(FakeChatServer()) as server:
        for name, in_flight in (("base", 2), ("same", 2), ("other", 4)):
            infer(tmp_path / name, jobs, settings(server.url, load=Load(in_flight=in_flight)))
    assert write_bench_summary(tmp_path / "same", baseline=tmp_path / "base")["speedup"].pages == 4
    with pytest.raises(UserError, match="4 in flight are different loads"):
        write_bench_summary(tmp_path / "other", baseline=tmp_path / "base")


def as_command(run: Path, slots: int) -> None:
    """Turn the facts of a run into those of programs that take so many pages at a time."""
    log = run / "infer/sessions.jsonl"
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    for row in rows:
        if row.get("facts"):
            row["facts"] |= {"mode": "command", "client": {"slots": slots}, "samples": []}
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_local_processes_count_as_many_as_there_were(tmp_path: Path) -> None:
    with serving(FakeChatServer()) as server:
        infer(tmp_path, page_jobs(tmp_path / "images", 8), settings(server.url, load=Load(in_flight=16)))
    as_command(tmp_path, slots=2)
    summary = write_bench_summary(tmp_path)
    assert summary["load"] == Load(in_flight=2)
    assert not summary["stream"]
    assert summary["figures"]["ttft_mean_s"].reason == "answers were not streamed"
    latencies_s = [output.last_s - output.send_s for output in observe(tmp_path).outputs]  # type: ignore[operator]
    groups = [group for group in summary["buckets"]["hpd"]["by_own_length"] if group.pages]
    assert [group.request_throughput for group in groups] == pytest.approx([2 * 8 / sum(latencies_s)])


def test_fewer_pages_than_slots_fill_only_so_many(tmp_path: Path) -> None:
    with serving(FakeChatServer()) as server:
        infer(tmp_path, page_jobs(tmp_path / "images", 3), settings(server.url, load=Load(in_flight=16)))
    summary = write_bench_summary(tmp_path)
    latencies_s = [output.last_s - output.send_s for output in observe(tmp_path).outputs]  # type: ignore[operator]
    groups = [group for group in summary["buckets"]["hpd"]["by_own_length"] if group.pages]
    assert [group.request_throughput for group in groups] == pytest.approx([3 * 3 / sum(latencies_s)])


def test_rules_are_allowed_by_name(tmp_path: Path) -> None:
    with serving(FakeChatServer(lambda page_id: STATUS_500)) as server:
        infer(tmp_path, page_jobs(tmp_path / "images", 2), settings(server.url))
    assert write_bench_summary(tmp_path)["broken_rules"] == ["coverage"]
    assert write_bench_summary(tmp_path, allowed=("coverage",))["valid"]
    with pytest.raises(UserError, match="no validity rule is called speed"):
        write_bench_summary(tmp_path, allowed=("speed",))


def test_without_an_infer_stage_there_is_a_message(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="run evalkit infer first"):
        write_bench_summary(tmp_path)
    assert read_bench_summary(tmp_path) is None


def test_characters_come_from_the_converted_markdown(tmp_path: Path) -> None:
    with serving(FakeChatServer()) as server:
        infer(tmp_path, page_jobs(tmp_path / "images", 2), settings(server.url))
    folder = tmp_path / "convert"
    folder.mkdir()
    rows = ['{"schema": "evalkit.predictions", "version": 1}']
    rows += [f'{{"page_id": "p00{number}", "markdown": "# Ti tle\\n\\nab", "blocks": []}}' for number in range(2)]
    (folder / "predictions.jsonl").write_text("\n".join(rows) + "\n")
    observation = observe(tmp_path)
    assert observation.chars == {"p000": 8, "p001": 8}
    assert replace(observation, chars={}).pages == 2
