"""A whole report: its files, the same bytes twice, its pictures, its comparison, and the verb that makes it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from markupsafe import escape

from evalkit.cli.main import main
from evalkit.errors import InvalidFileError, UserError
from evalkit.stages.report import find_runs, make_report
from evalkit.store import write_json
from reports.columns import COLUMNS
from reports.heatmap import heat_maps
from reports.load_rows import load_table
from reports.pictures.canvas import looks
from reports.pictures.content import accepted_shares
from reports.pictures.gallery import gallery
from reports.pictures.loads import draw as draw_loads
from reports.pictures.loads import load_points
from reports.pictures.parts import step_counts
from reports.pictures.phases import by_length
from reports.problems import read_problems
from reports.published import published_table
from reports.request_times import PhaseTimes, phase_times
from reports.run_card import card, checks, plain_text
from reports.run_files import read_run
from tests.fakes.made_runs import MadeRun, Words, made_dataset, make_run


def every_file(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_files_of_a_report(report: Path) -> None:
    found = every_file(report)
    assert {"index.html", "leaderboard.csv", "leaderboard.json", "leaderboard.md", "leaderboard.tex"} <= found.keys()
    assert {f"runs/{name}.html" for name in ("good", "poor", "broken", "model", "other")} <= found.keys()
    assert sum(name.startswith("pages/made-abc/") and name.endswith(".html") for name in found) == 5 * 12
    assert sum(name.endswith(".webp") for name in found) == 12


def test_the_same_runs_give_the_same_bytes(runs: list[Path], report: Path, tmp_path: Path) -> None:
    make_report(runs, tmp_path)
    assert every_file(tmp_path) == every_file(report)


def test_a_report_made_again_leaves_no_page_of_the_last(runs: list[Path], tmp_path: Path) -> None:
    make_report(runs[:2], tmp_path)
    make_report(runs[:1], tmp_path, worst_pages=3)
    assert len(list((tmp_path / "pages").rglob("*.html"))) == 3
    assert [file.name for file in (tmp_path / "runs").iterdir()] == ["good.html"]


def test_every_column_has_its_definition_in_the_index(report: Path) -> None:
    text = (report / "index.html").read_text(encoding="utf-8")
    for column in COLUMNS:
        assert str(escape(column.definition)) in text


def test_every_signature_is_in_the_index(report: Path) -> None:
    text = (report / "index.html").read_text(encoding="utf-8")
    rows = json.loads((report / "leaderboard.json").read_text(encoding="utf-8"))
    assert all(row["signature"] in text for row in rows)


def test_pictures_are_drawn_or_say_why_not(runs: list[Path]) -> None:
    pictures = {picture.name: picture for picture in gallery([read_run(run, run.name) for run in runs])}
    drawn = {name for name, picture in pictures.items() if picture.svg}
    assert drawn == {
        "accuracy-speed", "speedup-content", "by-length", "phases", "parts", "accepted", "spread", "timeline",
    }  # fmt: skip
    assert pictures["loads"].reason is not None
    for picture in pictures.values():
        assert picture.svg is None or (picture.caption and "style=" not in picture.svg)


def test_a_run_without_speed_still_has_a_report(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", made_dataset(tmp_path, 3), MadeRun(pages=3))
    for part in ("bench", "infer", "convert"):
        for file in (run / part).iterdir():
            file.unlink()
    index = make_report([run], tmp_path / "report")
    assert "speed was not measured" in index.read_text(encoding="utf-8")


def test_a_run_with_speed_alone_still_has_a_report(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", made_dataset(tmp_path, 3), MadeRun(pages=3))
    for file in (run / "evaluate").iterdir():
        file.unlink()
    assert "no scores" in make_report([run], tmp_path / "report").read_text(encoding="utf-8")


def test_the_data_set_may_be_gone(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", tmp_path / "gone.json", MadeRun(pages=2))
    index = make_report([run], tmp_path / "report")
    assert "Matched pairs" in next((index.parent / "pages").rglob("*.html")).read_text(encoding="utf-8")


def test_nothing_to_report(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no run can be shown"):
        make_report([tmp_path / "nowhere"], tmp_path / "report")
    with pytest.raises(UserError, match="neither a run folder nor a folder of runs"):
        find_runs([tmp_path])


def test_runs_are_found_one_level_down(runs: list[Path]) -> None:
    assert find_runs([runs[0].parent, runs[0]]) == sorted(runs)


def test_the_verb_prints_the_first_page(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(runs[0]), "--out", str(tmp_path), "--pages", "1"]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "index.html")
    assert main(["report", str(runs[0]), "--pages", "-1"]) == 2


def test_comparison_as_a_page(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(runs[1]), str(runs[0]), "--html", str(tmp_path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert {score["name"] for score in shown["scores"]} >= {"overall", "text_edit"}
    assert 'class="num verdict better"' in text
    links = [part.split('"')[0] for part in text.split('href="pages/')[1:]]
    assert links
    assert all((tmp_path / "pages" / link.split("#")[0]).exists() for link in links)


def test_heat_map_counts_pages(runs: list[Path]) -> None:
    shown = heat_maps([read_run(runs[0], "good")])[0]
    rows = {(attribute, value): cells[0] for attribute, value, cells in shown.rows}
    assert rows["language", "english"].pages == 4
    assert rows["data_source", "book"].pages == 12
    assert rows["data_source", "book"].shade == 8


def test_steps_taken_apart(runs: list[Path]) -> None:
    found = step_counts(read_run(runs[0], "good"))
    assert found == {"one trajectory": 1000, "forks": 500, "drafts": pytest.approx(1000 / 5.2), "both": 90}


def test_accepted_shares_sum_to_all_steps(runs: list[Path]) -> None:
    found = accepted_shares(read_run(runs[0], "good"))
    assert found == [pytest.approx(share) for share in (3 / 12, 1 / 12, 2 / 12, 6 / 12)]


def test_loads_join_runs_of_one_system(tmp_path: Path) -> None:
    dataset = made_dataset(tmp_path, 2)
    runs = []
    for in_flight in (16, 64):
        run = make_run(tmp_path / f"bs-{in_flight}", dataset, MadeRun("one", 2))
        path = run / "bench" / "summary.json"
        row = json.loads(path.read_text())
        row["load"]["in_flight"] = in_flight
        path.write_text(json.dumps(row))
        runs.append(read_run(run, run.name))
    assert [load for load, _ in load_points(runs)["bs-16"]] == [16, 64]
    offline = replace(runs[1], speed=replace(runs[1].speed, mode="offline"))  # type: ignore[type-var]
    assert [len(points) for points in load_points([runs[0], offline]).values()] == [1, 1]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            {"extra": {"server_metrics": {"x": {"started_s": 1, "first_token_s": 2, "ended_s": 5}}}},
            PhaseTimes(50, 1, 3, True),
        ),
        ({"send_s": 1.0, "first_s": 2.0, "last_s": 4.0}, PhaseTimes(50, 1, 2, False)),
        ({"send_s": 1.0, "first_s": 4.0, "last_s": 4.0}, None),
        ({"state": "error", "send_s": 1.0, "first_s": 2.0, "last_s": 4.0}, None),
        ({"tokens": {"output": None}, "send_s": 1.0, "first_s": 2.0, "last_s": 4.0}, None),
    ],
)
def test_phase_times(row: dict[str, object], expected: PhaseTimes | None) -> None:
    assert phase_times({"state": "ok", "tokens": {"output": 50}, **row}) == expected


def test_phases_by_length() -> None:
    times = [PhaseTimes(10, 1, 2, True), PhaseTimes(999, 3, 4, True), PhaseTimes(8500, 5, 6, True)]
    assert by_length(times) == [("0-1k", 2, 3, 2), ("8k+", 5, 6, 1)]


def test_published_rows_stand_apart_and_own_systems_are_marked(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", made_dataset(tmp_path, 2), MadeRun(pages=2))
    record = json.loads((run / "run.json").read_text())
    record["system"]["published"] = ["HPD-Parsing"]
    (run / "run.json").write_text(json.dumps(record))
    base = {"benchmark_version": "OmniDocBench v1.6 Full", "source": "paper", "hardware": "A800"}
    scores = [
        {**base, "system": "Other", "overall": 90.0},
        {**base, "system": "HPD-Parsing", "overall": 94.91, "pps": 4.5},
        {**base, "system": "Nothing stated"},
    ]
    rows = published_table({"scores": scores}, [read_run(run, "run")])
    assert [(row.system, row.own) for row in rows] == [("HPD-Parsing", True), ("Other", False)]


def test_run_card_names_data_prompt_flags_and_states(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", made_dataset(tmp_path, 2), MadeRun(pages=2, words=Words(text="the prompt")))
    facts = {name: value for part in card(read_run(run, "run")) for name, value in part.facts}
    assert facts["sha256"] == "abc"
    assert facts["prompt"] == "the prompt"
    assert facts["flags"] == "max-num-seqs 256"
    assert facts["requests"] == "ok 2"
    assert facts["time-outs"] == "0"


@pytest.mark.parametrize(
    ("check", "state"),
    [
        ({"passed": True}, "kept"),
        ({"passed": None}, "not checked"),
        ({"passed": False}, "broken"),
        ({"passed": False, "allowed": True}, "waived"),
        ({"passed": False, "advises": True}, "advice"),
        ({"passed": True, "advises": True}, "kept"),
    ],
)
def test_run_card_says_how_each_rule_was_kept(tmp_path: Path, check: dict[str, bool | None], state: str) -> None:
    folder = make_run(tmp_path / "run", made_dataset(tmp_path, 2), MadeRun(pages=2))
    path = folder / "bench" / "summary.json"
    summary = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(summary | {"checks": [summary["checks"][0] | check]}), encoding="utf-8")
    assert [(row["state"], row["limit"]) for row in checks(read_run(folder, "run"))] == [(state, "≥ 1")]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ({}, ""),
        (True, "yes"),
        ({"a": [1, None]}, "a 1, –"),
        (0.25, "0.25"),
        ("x" * 3000, "x" * 2000 + " …"),
    ],
)
def test_plain_text(value: object, text: str) -> None:
    assert plain_text(value) == text


def point(in_flight: int, run: str, *broken: str) -> dict[str, object]:
    figures = {"pps": in_flight / 10, "tps": 5.0, "latency_p95_s": None}
    return {"in_flight": in_flight, "run": run, "valid": not broken, "broken_rules": broken, "figures": figures}


def test_the_drives_of_a_sweep_stand_on_the_run_s_page(tmp_path: Path) -> None:
    run = make_run(tmp_path / "one", made_dataset(tmp_path, 2), MadeRun("one", 2))
    assert load_table(read_run(run, "one")) is None
    points = [point(1, "bs-1", "coverage"), point(4, ".")]
    sweep = {"points": points, "figure": "latency_p95_s", "limit": 8.0, "largest": 4}
    write_json(run / "sweep.json", {"version": 1, "sweep": sweep})
    table = load_table(read_run(run, "one"))
    assert table is not None
    assert [(row.name, row.cells[0], row.broken) for row in table.rows] == [
        ("1 in flight", "0.1", "coverage"),
        ("4 in flight (the run's own)", "0.4", ""),
    ]
    assert table.verdict == "Largest number in flight with latency_p95_s within 8 s: 4."
    picture = draw_loads([read_run(run, "one")], looks([read_run(run, "one")]))
    assert picture.reason is not None  # one valid point is no line
    page = (make_report([run], tmp_path / "report").parent / "runs" / "one.html").read_text(encoding="utf-8")
    assert table.verdict in page


def test_repeated_drives_say_whether_they_agree(tmp_path: Path) -> None:
    run = make_run(tmp_path / "one", made_dataset(tmp_path, 2), MadeRun("one", 2))
    found = {"points": [point(4, "."), point(4, "run-2")], "reasons": ["pps differs by up to 9.0% from the mean"]}
    write_json(run / "agreement.json", {"version": 1, "agreement": found})
    table = load_table(read_run(run, "one"))
    assert table is not None
    assert [row.name for row in table.rows] == ["the run's own", "run-2"]
    assert table.verdict == "Do they agree? pps differs by up to 9.0% from the mean."


@pytest.mark.parametrize("text", ['{"sweep": {"points": [{}]}}', '{"sweep": 3}', "[]"])
def test_a_sweep_file_that_is_none_costs_its_run(tmp_path: Path, text: str) -> None:
    run = make_run(tmp_path / "one", made_dataset(tmp_path, 2), MadeRun("one", 2))
    (run / "sweep.json").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidFileError, match=r"sweep\.json"):
        read_run(run, "one")


def test_a_system_without_a_result_has_a_row_with_the_reason(runs: list[Path], tmp_path: Path) -> None:
    failed = tmp_path / "failed"
    row = {"title": "<b>Lost</b>", "problem": "no GPU \u202e<script>", "at_utc": "2031-02-03"}
    write_json(failed / "problem.json", row)
    write_json(tmp_path / "odd" / "problem.json", ["not one"])
    text = make_report([runs[0], failed], tmp_path / "report").read_text(encoding="utf-8")
    assert "&lt;b&gt;Lost&lt;/b&gt;" in text
    assert "no GPU ⟦U+202E⟧&lt;script&gt;" in text
    assert "is not shown" not in text
    assert [problem.folder for problem in read_problems([failed, tmp_path / "odd", runs[0]])] == [failed]
    with pytest.raises(UserError, match="no run can be shown"):
        make_report([failed], tmp_path / "none")
