"""What is ranked with what, which marks a row carries, and how the rows leave as files."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from evalkit.stages.report import standings_of
from reports.columns import BY_NAME, written
from reports.exports import latex, to_csv, to_json, to_latex, to_markdown
from reports.leaderboard import Section, sections
from reports.run_files import read_runs
from tests.fakes.made_runs import MadeRun, Words, made_dataset, make_run


@pytest.fixture(scope="module")
def shown(runs: list[Path]) -> list[Section]:
    return sections(read_runs(runs)[0], standings_of(runs))


def titles(section: Section) -> list[str]:
    return [row.run.title for row in section.rows]


def cell(section: Section, title: str, column: str) -> object:
    row = next(row for row in section.rows if row.run.title == title)
    return next(cell for cell in row.cells if cell.column.name == column)


def test_rows_of_other_signatures_and_emulated_rows_stand_apart(shown: list[Section]) -> None:
    assert [(section.title, titles(section)) for section in shown] == [
        ("Measured", ["Good parser", "Broken rules", "Poor parser"]),
        ("Measured", ["Other options"]),
        ("Emulated", ["Emulated parser"]),
    ]
    assert len({(section.emulated, section.signature) for section in shown}) == 3


def test_the_best_is_marked_within_its_section_only(shown: list[Section]) -> None:
    assert cell(shown[0], "Good parser", "overall").best  # type: ignore[attr-defined]
    assert not cell(shown[0], "Poor parser", "overall").best  # type: ignore[attr-defined]
    assert not cell(shown[2], "Emulated parser", "overall").best  # type: ignore[attr-defined]


def test_speed_that_broke_a_rule_is_struck_out_and_never_best(shown: list[Section]) -> None:
    broken = cell(shown[0], "Broken rules", "pps")
    assert broken.void  # type: ignore[attr-defined]
    assert not broken.best  # type: ignore[attr-defined]
    assert not cell(shown[0], "Broken rules", "overall").void  # type: ignore[attr-defined]


def test_marks(shown: list[Section]) -> None:
    marks = {row.run.title: [mark.text for mark in row.marks] for section in shown for row in section.rows}
    assert marks["Good parser"] == []
    assert marks["Broken rules"] == ["speed invalid"]
    assert marks["Emulated parser"] == ["emulated"]


def test_systems_that_differ_are_in_groups_of_their_own(shown: list[Section]) -> None:
    tiers = {row.run.title: row.tier for row in shown[0].rows}
    assert tiers["Good parser"] == 1
    assert tiers["Poor parser"] > tiers["Good parser"]  # type: ignore[operator]


def test_every_score_has_an_interval_around_it_and_a_tooltip_with_definition_and_signature(
    shown: list[Section],
) -> None:
    found = cell(shown[0], "Poor parser", "text_edit")
    low, high = found.interval  # type: ignore[attr-defined]
    assert low < found.value < high  # type: ignore[attr-defined]
    assert BY_NAME["text_edit"].definition in found.tooltip  # type: ignore[attr-defined]
    assert "text_edit|avg:page|protocol:omnidocbench-1.6" in found.tooltip  # type: ignore[attr-defined]


def test_an_empty_cell_says_why(shown: list[Section]) -> None:
    found = cell(shown[0], "Good parser", "latency_p95_s")
    assert (found.text, found.tooltip) == ("–", "Latency p95, s: too few pages")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("overall", 94.912, "94.91"),
        ("text_edit", 0.03456, "0.0346"),
        ("table_teds", 0.9123, "91.23"),
        ("tps", 2401.6, "2,402"),
        ("pps", 0.0123456, "0.0123"),
        ("pps", 1.5, "1.500"),
        ("overall", None, "–"),
    ],
)
def test_written(name: str, value: float | None, text: str) -> None:
    assert written(BY_NAME[name], value) == text


def test_json_holds_full_precision_and_what_each_row_is(shown: list[Section]) -> None:
    rows = {row["system"]: row for row in json.loads(to_json(shown))}
    assert rows["Good parser"]["overall"] == cell(shown[0], "Good parser", "overall").value  # type: ignore[attr-defined]
    assert rows["Emulated parser"]["provenance"] == "emulated"
    assert rows["Broken rules"]["speed_valid"] is False
    assert rows["Other options"]["signature"] != rows["Good parser"]["signature"]


@pytest.mark.parametrize("title", ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)"])
def test_csv_runs_no_formula(title: str, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", made_dataset(tmp_path, 3), MadeRun(pages=3, words=Words(title)))
    found = list(csv.DictReader(io.StringIO(to_csv(sections(read_runs([run])[0], {})))))
    assert found[0]["system"] == f"'{title}"
    assert float(found[0]["overall"]) > 0


def test_markdown_and_latex_escape_titles_and_leave_invalid_speed_out(tmp_path: Path) -> None:
    title = "a|b & c_d <img src=x> $x$ \\input{/etc/passwd}"
    made = MadeRun(pages=3, words=Words(title), broken_rules=("coverage",))
    shown = sections(read_runs([make_run(tmp_path / "run", made_dataset(tmp_path, 3), made)])[0], {})
    markdown = to_markdown(shown)
    assert "<img" not in markdown
    assert "a\\|b" in markdown
    assert "~~" in markdown
    table = to_latex(shown)
    assert r"a|b \& c\_d" in table
    assert r"\input" not in table
    speed = next(cell for cell in shown[0].rows[0].cells if cell.column.name == "pps")
    assert speed.text not in table


def test_latex_text_prints_as_it_is() -> None:
    assert latex("50% #1 {x}^~\\") == r"50\% \#1 \{x\}\textasciicircum{}\textasciitilde{}\textbackslash{}"


def test_a_run_that_cannot_be_read_costs_its_own_row(runs: list[Path], tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    (broken / "evaluate").mkdir(parents=True)
    (broken / "evaluate" / "summary.json").write_text("{not json", encoding="utf-8")
    found, unreadable = read_runs([runs[0], broken, tmp_path / "nowhere"])
    assert [run.title for run in found] == ["Good parser"]
    assert [one.folder.name for one in unreadable] == ["broken", "nowhere"]
    assert "not valid JSON" in unreadable[0].reason


def test_runs_of_one_name_get_keys_of_their_own(runs: list[Path], tmp_path: Path) -> None:
    same = make_run(tmp_path / "good", made_dataset(tmp_path, 3), MadeRun(pages=3))
    assert [run.key for run in read_runs([runs[0], same])[0]] == ["good", "good-2"]
