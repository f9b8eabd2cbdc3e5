"""The verbs gate, baseline and compare from the command line: files, exit codes, messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalkit.cli.main import main
from tests.gate.runs import figure, made_scores, shifted, write_run

ROWS = made_scores(40)
QUICK = "version = 1\n[statistics]\nresamples = 300\n"
RULES = QUICK + '[[accuracy]]\nmetric = "overall"\nmargin = 0.5\n[[speed]]\nfigure = "pps"\nrelative_margin = 0.05\n'
EMULATED = {"pps": figure(10.0, provenance="emulated")}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, outside any CI."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return tmp_path


def gate(*options: str) -> int:
    return main(["gate", *options])


def test_a_run_against_itself_is_green_and_writes_the_outputs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(here / "run", ROWS, figures=EMULATED)
    (here / "gates.toml").write_text(RULES)
    assert gate("--baseline", "run", "--candidate", "run") == 0
    assert capsys.readouterr().out.startswith("PASS (no regression): run against baseline run")
    written = {path.name for path in (here / "run" / "gate").iterdir()}
    assert written == {"verdict.json", "junit.xml", "gate.sarif", "comment.md"}
    verdict = json.loads((here / "run" / "gate" / "verdict.json").read_text())
    assert (verdict["schema"], verdict["result"]["verdict"]) == ("evalkit.verdict", "pass")
    sarif = json.loads((here / "run" / "gate" / "gate.sarif").read_text())
    assert sarif["runs"][0]["results"] == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("a worse parser", 1),
        ("a slower scheduler", 1),
        ("a dropped page", 3),
        ("another data set", 3),
        ("noise", 4),
    ],
)
def test_a_regression_turns_the_gate_red(here: Path, change: str, code: int) -> None:
    write_run(here / "before", ROWS, figures=EMULATED)
    (here / "gates.toml").write_text(RULES)
    assert main(["baseline", "save", "main", "before"]) == 0
    rows, figures, sha = ROWS, EMULATED, "ab" * 32
    if change == "a worse parser":
        rows = shifted(ROWS, "table_teds", -0.2)
    elif change == "a slower scheduler":
        figures = {"pps": figure(8.0, provenance="emulated")}
    elif change == "a dropped page":
        rows = [{**ROWS[0], "prediction_state": "missing"}, *ROWS[1:]]
    elif change == "another data set":
        sha = "cd" * 32
    else:
        rows = shifted(ROWS, "table_teds", 0.11, noise=0.2)
    write_run(here / "after", rows, figures=figures, sha=sha)
    assert gate("--baseline", "baselines/main.json", "--candidate", "after") == code


def test_options_of_the_verdict(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(here / "before", ROWS)
    write_run(here / "after", shifted(ROWS, "table_teds", 0.11, noise=0.2), evalkit="0.2.0")
    (here / "rules.toml").write_text(RULES.split("[[speed]]")[0])
    common = ("--baseline", "before", "--candidate", "after", "--config", "rules.toml")
    assert gate(*common) == 3
    assert gate(*common, "--allow-difference", "evalkit") == 4
    assert gate(*common, "--allow-difference", "evalkit", "--inconclusive", "pass") == 0
    assert gate(*common, "--allow-difference", "evalkit", "--inconclusive", "fail") == 1
    capsys.readouterr()
    gate(*common, "--allow-difference", "evalkit", "--json", "--out", "elsewhere")
    assert json.loads(capsys.readouterr().out)["exit_code"] == 4
    assert (here / "elsewhere" / "junit.xml").exists()


def test_github_gets_annotations_and_a_step_summary(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(here / "before", ROWS)
    write_run(here / "after", shifted(ROWS, "table_teds", -0.2))
    (here / "gates.toml").write_text(RULES.split("[[speed]]")[0])
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(here / "summary.md"))
    assert gate("--baseline", "before", "--candidate", "after") == 1
    assert "\n::error title=FAIL overall::worse by more" in capsys.readouterr().out
    assert "**FAIL**" in (here / "summary.md").read_text()


def test_history_is_appended_and_shown(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for place in range(16):
        pps = 10.0 if place < 8 else 9.0
        write_run(here / f"run{place}", figures={"pps": figure(pps, provenance="emulated")})
        (here / "gates.toml").write_text(QUICK + '[[speed]]\nfigure = "pps"\nfloor = 1\n')
        assert gate("--baseline", "run0", "--candidate", f"run{place}", "--history", "history.jsonl") == 0
    capsys.readouterr()
    assert main(["baseline", "history", "history.jsonl", "--figure", "pps", "--plot", "pps.svg"]) == 0
    shown = capsys.readouterr().out
    assert "-- step: 10 -> 9" in shown
    assert shown.splitlines()[0].split() == ["recorded", "(UTC)", "pps", "verdict", "run"]
    assert (here / "pps.svg").exists()
    assert main(["baseline", "history", "history.jsonl", "--figure", "pps", "--json"]) == 0
    assert [step["index"] for step in json.loads(capsys.readouterr().out)["steps"]] == [8]


def test_init_writes_rules_that_the_run_passes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = {"pps": figure(10.0), "latency_p50_s": figure(2.0, "s"), "steps_per_page": figure(50.0, "steps")}
    write_run(here / "one", ROWS, figures=figures, bench={"states": {"ok": 40}})
    assert gate("init", "one") == 0
    shown = capsys.readouterr().out
    assert "smallest loss found with 80 %" in shown
    assert "correlate by 0.9" in shown
    text = (here / "gates.toml").read_text()
    assert 'stratify = "data_source"' in text
    assert "# noise = 0.02" in text
    assert gate("--baseline", "one", "--candidate", "one") == 4  # one measured run each says nothing on speed
    assert gate("--baseline", "one", "one", "--candidate", "one", "one") == 0


def test_init_from_two_runs_measures_their_differences(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(here / "one", ROWS, figures={"pps": figure(10.0)})
    write_run(here / "two", shifted(ROWS, "table_teds", 0.0, noise=0.001), figures={"pps": figure(10.2)})
    assert gate("init", "one", "two", "--config", "rules.toml") == 0
    assert "correlate" not in capsys.readouterr().out
    text = (here / "rules.toml").read_text()
    assert "margin = 0.5 " in text
    assert "noise = 0.014" in text
    assert gate("--baseline", "one", "--candidate", "two", "--config", "rules.toml") == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "give --baseline FILE|DIR|RUN and --candidate RUN, or `init RUN`"),
        (("--baseline", "run"), "give --baseline"),
        (("begin", "run"), "expected `evalkit gate init RUN"),
        (("init",), "expected `evalkit gate init RUN"),
        (("init", "run"), "gates.toml: exists already; give --force"),
        (("--baseline", "none.json", "--candidate", "run"), "none.json: no such run folder"),
        (("--baseline", "run", "--candidate", "none"), "none: no such run folder"),
        (("--baseline", "run", "--candidate", "run", "--config", "none.toml"), "`evalkit gate init RUN` writes one"),
        (("--baseline", "cut.json", "--candidate", "run"), "cut.json: 2 problems"),
    ],
)
def test_mistakes_are_one_message_and_exit_2(
    here: Path, options: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(here / "run", ROWS)
    (here / "gates.toml").write_text(RULES)
    (here / "cut.json").write_text('{"schema": "evalkit.base')
    assert gate(*options) == 2
    assert message in capsys.readouterr().err


def test_without_rules_overall_may_not_fall_by_half_a_point(here: Path) -> None:
    write_run(here / "before", ROWS)
    write_run(here / "after", shifted(ROWS, "formula_cdm", -0.1))
    assert gate("--baseline", "before", "--candidate", "before") == 0
    assert gate("--baseline", "before", "--candidate", "after") == 1


def test_baselines_are_listed_and_shown(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baseline", "list"]) == 0
    assert "no baselines in baselines; write one with" in capsys.readouterr().out
    write_run(here / "run", ROWS, figures=EMULATED)
    assert main(["baseline", "save", "main", "run"]) == 0
    (here / "baselines" / "broken.json").write_text("{")
    capsys.readouterr()
    assert main(["baseline", "list", "--json"]) == 0
    broken, row = json.loads(capsys.readouterr().out)
    assert "unreadable" in broken
    assert (row["name"], row["pages"], row["speed_runs"]) == ("main", 40, 1)
    assert main(["baseline", "list"]) == 0
    assert main(["baseline", "show", "main"]) == 0
    assert main(["baseline", "show", "main", "--json"]) == 0
    assert main(["baseline", "show", "mian"]) == 2
    assert main(["baseline", "save", "main"]) == 2


def test_compare_shows_scores_groups_figures_and_pages(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(here / "before", ROWS, figures=EMULATED)
    write_run(
        here / "after", shifted(ROWS, "table_teds", -0.1, 0.01), figures={"pps": figure(9.0, provenance="emulated")}
    )
    assert main(["compare", "before", "after", "--by", "language"]) == 0
    shown = capsys.readouterr().out
    assert "table_teds [language=english]" in shown
    assert "pps (pages/s)  10" in shown
    assert "-10.00%" in shown
    assert "table_teds: pages that moved most" in shown
    assert main(["compare", "before", "after", "--json", "--top", "2"]) == 0
    scores = {row["name"]: row for row in json.loads(capsys.readouterr().out)["scores"]}
    assert len(scores["overall"]["moves"]) == 2
    assert scores["table_teds"]["interval"][1] < 0
    assert main(["compare", "before", "after", "--by", "shelf"]) == 2


def test_compare_refuses_what_must_not_be_compared(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(here / "before", ROWS)
    write_run(here / "after", ROWS, protocol="other-1.0")
    assert main(["compare", "before", "after"]) == 3
    assert "protocol: omnidocbench-1.6 != other-1.0" in capsys.readouterr().err
    assert main(["compare", "before", "after", "--allow-difference", "protocol"]) == 0
