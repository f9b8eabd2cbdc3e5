"""The whole job: several loads of one run, several GPUs, systems that fail, and folders that cannot be written."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from evalkit.cli.main import main
from evalkit.errors import UserError
from evalkit.load_plan import LoadPlan, parse_edges
from evalkit.requests_log import SCHEMA, read_requests, read_sessions
from evalkit.run_problem import FILE as PROBLEM_FILE
from evalkit.stages.bench import bench
from evalkit.stages.bench_plan import BenchPlan, systems_of
from evalkit.stages.system_server import unread_answers
from evalkit.store import locked, read_json, read_jsonl
from evalkit.summary_table import bench_table
from runners.systems import load_system
from tests.fakes.chat_server import STATUS_500, Answer, FakeChatServer, serving
from tests.fakes.engine_program import write_engine
from tests.fakes.vllm_module import write_environment

UNSCORED = replace(BenchPlan(), cdm=False, workers=1, limit=3)


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> FakeChatServer:
    monkeypatch.setattr("tests.fakes.chat_server.page_of", lambda request: "page")
    answer = Answer(chunks=("<BLOCK>text [0, 0, 9, 9]<CHILD>a",))
    return FakeChatServer(lambda page_id: answer, model="HPD-Parsing", version="0.17.1+hpdparsing")


def plan_of(server: FakeChatServer, out: Path, load: LoadPlan) -> BenchPlan:
    return replace(UNSCORED, systems=("hpd-ar",), out=out, load=load, urls={"hpd-ar": server.url})


def test_several_loads_are_driven_and_the_largest_is_scored(tmp_path: Path, server: FakeChatServer) -> None:
    out, run = tmp_path / "out", tmp_path / "out" / "hpd-ar"
    with serving(server):
        result = bench(plan_of(server, out, LoadPlan((1, 3, 2))))
        assert result.complete, result.systems
        asked = len(server.requests)
        again = bench(plan_of(server, out, LoadPlan((1, 3, 2))))
        assert len(server.requests) == asked
        assert again.systems[0].sweep == result.systems[0].sweep
        more = bench(plan_of(server, out, LoadPlan((3, 4))))
        assert more.systems[0].problem is not None
        assert "begun with other settings" in more.systems[0].problem
    points = read_json(run / "sweep.json")["sweep"]["points"]
    assert [(point["in_flight"], point["run"]) for point in points] == [(1, "bs-1"), (2, "bs-2"), (3, ".")]
    assert (run / "evaluate/summary.json").exists()
    assert not (run / "bs-1/evaluate").exists()
    loads = [read_sessions(run / name / "infer")[0].settings["load"]["in_flight"] for name in (".", "bs-1", "bs-2")]
    assert loads == [3, 1, 2]
    lines = bench_table(result).splitlines()
    head = lines.index("hpd-ar, by requests in flight:")
    assert [line.split()[0] for line in lines[head + 2 : head + 5]] == ["1", "2", "3"]
    page = (out / "report/runs/hpd-ar.html").read_text(encoding="utf-8")
    assert 'id="loads"' in page


def test_a_resumed_sweep_drives_only_what_is_left(tmp_path: Path, server: FakeChatServer) -> None:
    with serving(server):
        bench(plan_of(server, tmp_path / "out", LoadPlan((2,))))
        first = len(server.requests)
        bench(plan_of(server, tmp_path / "out", LoadPlan((2, 1))))
    run = tmp_path / "out/hpd-ar"
    assert len(read_sessions(run / "infer")) == 1
    # warm-up, the largest page and the three pages; asked alone, with one in flight, are none
    assert len(server.requests) - first == 2 + 1 + 3


def test_poisson_arrivals_and_repeats(tmp_path: Path, server: FakeChatServer) -> None:
    load = LoadPlan(shape="poisson", rate_per_s=500.0, repeats=2)
    with serving(server):
        result = bench(replace(plan_of(server, tmp_path / "out", load), order="shuffled", seed=3, warmup=0))
    (row,) = result.systems
    assert row.agreement is not None
    assert [point.run for point in row.agreement.points] == [".", "run-2"]
    assert result.complete is row.agreement.agrees
    settings = read_sessions(tmp_path / "out/hpd-ar/run-2/infer")[0].settings
    assert (settings["load"]["shape"], settings["order"], settings["seed"]) == ("poisson", "shuffled", 3)


def test_a_load_that_cannot_be_driven_leaves_the_scores(tmp_path: Path, server: FakeChatServer) -> None:
    load = LoadPlan((2,), max_latency_s=5.0, latency_figure="ttft_p50_s", max_in_flight=2)
    with serving(server):
        plan = replace(plan_of(server, tmp_path / "out", load), limit=6, stream=False)
        result = bench(plan)
    (row,) = result.systems
    assert row.summary is not None
    assert row.load_problem == "the search ends at 1 in flight: ttft_p50_s is not known there"
    assert not result.complete
    assert "hpd-ar: not every load was driven: the search ends at 1" in bench_table(result)


def test_bs_of_the_command_line_takes_a_list(
    tmp_path: Path, server: FakeChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "bench",
        "--systems",
        "hpd-ar",
        "--limit",
        "3",
        "--no-cdm",
        "--workers",
        "1",
        "--out",
        str(tmp_path / "out"),
    ]
    with serving(server):
        assert main([*words, "--url", f"hpd-ar={server.url}", "--bs", "1,2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [point["in_flight"] for point in told["systems"][0]["sweep"]["points"]] == [1, 2]
    assert main([*words, "--bs", "1,many"]) == 2
    assert "--bs 1,many: expected a number" in capsys.readouterr().err


def test_a_baseline_at_another_load_costs_the_speedup_and_nothing_else(
    tmp_path: Path, server: FakeChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(server):
        bench(plan_of(server, tmp_path / "out", LoadPlan((2, 1))))
        plan = replace(UNSCORED, systems=("hpd-parsing",), out=tmp_path / "out", load=LoadPlan((3, 1)))
        result = bench(replace(plan, urls={"hpd-parsing": server.url}))
    assert result.complete, result.systems
    assert "hpd-parsing is not set against hpd-ar: 2 in flight and 3 in flight are different" in capsys.readouterr().err
    runs = {name: read_json(tmp_path / "out/hpd-parsing" / name / "bench/summary.json") for name in (".", "bs-1")}
    assert [summary["speedup"] is None for summary in runs.values()] == [True, False]


def test_pages_that_fail_at_another_load_leave_the_job_incomplete(tmp_path: Path, server: FakeChatServer) -> None:
    good = server.behave("page")
    untimed = 2 + 1  # warm-up and the largest page, before each drive; after the first, 3 pages are asked again alone
    server.behave = lambda page_id: good if len(server.pages) <= untimed + 3 + 3 + untimed else STATUS_500
    with serving(server):
        result = bench(plan_of(server, tmp_path / "out", LoadPlan((3, 1))))
    (row,) = result.systems
    assert (row.missing_pages, row.load_problem) == (0, "3 pages of bs-1 have no answer")
    assert not result.complete
    assert "not every load was driven: 3 pages of bs-1" in bench_table(result)


def test_the_table_says_what_is_emulated_and_what_is_invalid(tmp_path: Path, server: FakeChatServer) -> None:
    server.emulated = True
    with serving(server):
        plan = replace(plan_of(server, tmp_path / "out", LoadPlan((1,))), systems=("hpd-ar", "hpd-ar"))
        result = bench(plan)
    (row,) = result.systems
    assert row.emulated
    invalid = replace(row, broken_rules=("client_lag", "same_alone"))
    line = bench_table(replace(result, systems=(invalid,))).splitlines()[1]
    assert line.startswith("hpd-ar* ")
    assert line.endswith("speed is invalid: client_lag, same_alone")
    assert "speed is invalid" not in bench_table(replace(result, systems=(replace(row, broken_rules=()),)))


@pytest.mark.parametrize(("name", "read"), [("hpd-parsing", True), ("hpd-ar", True), ("dots.ocr", False)])
def test_a_system_that_cannot_read_emulated_answers_is_told_so(name: str, read: bool) -> None:
    assert (unread_answers(load_system(name)) is None) == read


def test_a_run_that_another_process_works_on_is_left_alone(tmp_path: Path, server: FakeChatServer) -> None:
    out = tmp_path / "out"
    with serving(server), locked(out / "hpd-ar" / "bench"):
        result = bench(plan_of(server, out, LoadPlan((2,))))
    assert "another evalkit process is writing to this run" in (result.systems[0].problem or "")
    assert (server.requests, (out / "hpd-ar/run.json").exists()) == ([], False)


def test_pages_that_failed_are_asked_again_on_request_only(tmp_path: Path, server: FakeChatServer) -> None:
    good = server.behave("page")
    server.behave = lambda page_id: STATUS_500 if len(server.pages) == 2 + 1 + 3 else good
    with serving(server):
        plan = plan_of(server, tmp_path / "out", LoadPlan((2,)))
        first = bench(plan)
        asked = len(server.requests)
        assert bench(plan).systems[0].missing_pages == first.systems[0].missing_pages == 1
        assert len(server.requests) == asked
        again = bench(replace(plan, retry_failed=True))
    assert "1 pages without an answer (--retry-failed)" in bench_table(first)
    assert again.complete, again.systems
    sessions = [row["extra"]["session"] for row in read_jsonl(tmp_path / "out/hpd-ar/infer/requests.jsonl", SCHEMA, 1)]
    assert sessions == [0, 0, 0, 1]
    assert "coverage" in again.systems[0].broken_rules  # speed is that of the first drive, over all pages


def test_every_gpu_gets_a_server_and_pages_go_where_the_fewest_wait(tmp_path: Path) -> None:
    """GPU 0 answers its page when all others are answered: with two in flight they must all go to GPU 1."""
    engine = write_engine(tmp_path, "first_gpu_waits", waits_for=5)
    plan = replace(
        UNSCORED,
        systems=("hpd-ar",),
        out=tmp_path / "out",
        limit=6,
        load=LoadPlan((2,)),
        emulate="never",
        launcher="vllm",
        launch={"vllm": str(engine), "model": "/models/toy"},
        gpus=2,
        warmup=0,
        server_cache="keep",
    )
    result = bench(plan)
    run = tmp_path / "out/hpd-ar"
    assert result.systems[0].problem is None
    outputs = read_requests(run / "infer/requests.jsonl")
    assert [output.state for output in outputs] == ["ok"] * 6
    assert Counter(output.extra["endpoint"] for output in outputs) == {0: 1, 1: 5}
    assert outputs[-1].extra["endpoint"] == 0
    facts = read_sessions(run / "infer")[0].facts
    assert facts is not None
    servers = facts["server"]["launch"]["servers"]
    assert [server["env"]["CUDA_VISIBLE_DEVICES"] for server in servers] == ["0", "1"]
    assert len(set(facts["server"]["endpoints"])) == 2
    assert [(run / "server" / gpu / "server.log").exists() for gpu in ("0", "1")] == [True, True]
    assert list((tmp_path / "state/evalkit/servers").iterdir()) == []


def test_a_system_that_fails_has_a_row_with_its_reason(
    tmp_path: Path, server: FakeChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = [
        "bench",
        "--systems",
        "hpd-ar,hpd-parsing",
        "--limit",
        "3",
        "--no-cdm",
        "--workers",
        "1",
        "--out",
        str(out),
    ]
    engine = write_engine(tmp_path, "oom")
    with serving(server):
        code = main(
            [*words, "--url", f"hpd-ar={server.url}", "--emulate", "never", "--launcher", "vllm", "--vllm", str(engine)]
        )
    assert code == 3
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if line.startswith("hpd-parsing")]
    assert "no result: the server of hpd-parsing ended before it answered" in line
    page = (out / "report/index.html").read_text(encoding="utf-8")
    assert page.count("The GPU has too little free memory.") == 1
    assert main(["report", str(out), "--out", str(tmp_path / "again")]) == 0
    assert "The GPU has too little free memory." in (tmp_path / "again/index.html").read_text(encoding="utf-8")
    server.behave = lambda page_id: Answer(chunks=("<BLOCK>text [0, 0, 9, 9]<CHILD>a",))
    with serving(server):
        urls = [word for name in ("hpd-ar", "hpd-parsing") for word in ("--url", f"{name}={server.url}")]
        assert main([*words, *urls]) == 0
    assert not (out / "hpd-parsing" / PROBLEM_FILE).exists()
    assert "has too little free memory" not in (out / "report/index.html").read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_written_is_refused_at_once(
    tmp_path: Path, server: FakeChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    words = ["bench", "--systems", "hpd-ar", "--limit", "3", "--no-cdm", "--url", "hpd-ar=http://127.0.0.1:9"]
    assert main([*words, "--out", str(tmp_path / "file" / "out")]) == 2
    assert capsys.readouterr().err == (
        f"evalkit bench: {tmp_path}/file/out: cannot write there (Not a directory). Choose another folder with --out\n"
    )
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "hpd-ar").write_text("")
    with pytest.raises(UserError, match="out/hpd-ar: cannot write there"):
        bench(replace(UNSCORED, systems=("hpd-ar",), out=tmp_path / "out", urls={"hpd-ar": "http://127.0.0.1:9"}))


def test_the_engine_s_python_api_runs_the_whole_job(tmp_path: Path) -> None:
    write_environment(tmp_path / "engine", sys.executable)
    plan = replace(
        UNSCORED,
        systems=("hpd-ar", "tesseract"),
        out=tmp_path / "out",
        limit=2,
        load=LoadPlan((1, 2)),
        offline=True,
        launch={"vllm": str(tmp_path / "engine"), "model": "good"},
        edges=(0, 5, 100),
    )
    assert [system.runner for system in systems_of(plan)] == ["vllm-offline", "local"]
    result = bench(replace(plan, systems=("hpd-ar",)))
    assert result.complete, result.systems
    summary = read_json(tmp_path / "out/hpd-ar/bench/summary.json")
    assert (summary["mode"], summary["states"]) == ("offline", {"ok": 2})
    own = summary["buckets"]["own"]
    assert own["edges"] == [0, 5, 100]
    assert [(row["name"], row["pages"]) for row in own["by_own_length"]] == [("0-5", 0), ("5-100", 2), ("100+", 0)]
    assert read_json(tmp_path / "out/hpd-ar/bs-1/bench/summary.json")["mode"] == "offline"
    assert (tmp_path / "out/hpd-ar/server/engine.log").exists()


def test_a_dry_run_shows_what_would_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    engine = write_engine(tmp_path / "engine")
    words = ["bench", "--systems", "hpd-parsing,hpd-ar,tesseract", "--bs", "16,1", "--gpus", "2", "--dry-run"]
    assert main([*words, "--emulate", "never", "--launcher", "vllm", "--vllm", str(engine), "--weights", "/w"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "# HPD-Parsing, autoregressive: 28 pages of mini, 1, 16 in flight"
    assert [line for line in lines if "CUDA" in line] == [
        "export CUDA_VISIBLE_DEVICES=0",
        "export CUDA_VISIBLE_DEVICES=1",
    ] * 2
    assert sum(line.startswith(f"{engine} serve /w ") for line in lines) == 4
    assert lines[-2:] == ["# Tesseract 5: 28 pages of mini, 1, 16 in flight", "# no server"]
    assert main([*words, "--emulate", "always"]) == 0
    assert capsys.readouterr().out.count("# emulated: no GPU is used") == 2
    assert main([*words, "--launcher", "vllm", "--vllm", str(tmp_path / "none")]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith(f"# cannot be started: {tmp_path}/none: no vllm program there") for line in lines) == 2
    assert lines[-1] == "# no server"
    assert [path.name for path in tmp_path.iterdir()] == ["engine"]


@pytest.mark.parametrize(
    ("text", "edges"), [(None, ()), ("0,500,2000", (0, 500, 2000)), ("500", (0, 500)), ("0", (0,))]
)
def test_edges_of_buckets_begin_with_0(text: str | None, edges: tuple[int, ...]) -> None:
    assert parse_edges(text) == edges


@pytest.mark.parametrize("text", ["", "a", "5,3", "5,5", "-1,3"])
def test_edges_that_do_not_ascend_are_refused(text: str) -> None:
    with pytest.raises(UserError, match="--edges"):
        parse_edges(text)
