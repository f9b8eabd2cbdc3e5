"""Layout in reports: the table's values, published rows apart, hostile labels, and boxes judged by hand."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html

from evalkit.stages.report import make_report, published_rows, standings_of
from evalkit.store import write_json
from reports.exports import to_json
from reports.layout_scores import MODES, LayoutScores, Members, read_layout
from reports.layout_table import layout_tables, unmapped_labels
from reports.layout_verdicts import MOST_JUDGED, covered_areas, judged
from reports.leaderboard import sections
from reports.page_view import drawing
from reports.run_files import read_runs
from reports.truth import Box, TruthPage
from tests.fakes.made_layout import LAYOUT_SIGNATURE as SIGNATURE
from tests.fakes.made_layout import MEMBERS, layout_file
from tests.fakes.made_runs import MadeRun, Words, made_dataset, make_run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("layout")
    dataset = made_dataset(folder, 2)
    files = {
        "low": layout_file(0.6, unmapped={"stamp": 3, "seal": 1}, unscored={"page_0.png": "box is not finite"}),
        "high": layout_file(0.81234),
        "model": layout_file(0.99),
        "bare": None,
        "other": layout_file(0.9, signature=SIGNATURE.replace("abc", "def")),
    }
    runs = []
    for name, layout in files.items():
        run = make_run(
            folder / name, dataset, MadeRun(name, pages=2, emulated=name == "model", words=Words(f"{name} system"))
        )
        if layout is not None:
            write_json(run / "evaluate" / "layout" / "layout.json", layout)
        runs.append(run)
    return runs


def test_rows_by_mode_with_published_ones_of_the_same_protocol_last(made: list[Path]) -> None:
    tables = layout_tables(read_runs(made)[0], published_rows())
    assert [table.mode for table in tables] == list(MODES)
    first = tables[0]
    assert [(section.kind, [row.title for row in section.rows]) for section in first.sections[:-1]] == [
        ("measured", ["high system", "low system"]),
        ("measured", ["other system"]),
        ("emulated", ["model system"]),
    ]
    assert [[mark.text for mark in section.rows[0].marks] for section in first.sections] == [
        [], [], ["emulated"], ["published"],
    ]  # fmt: skip
    published = first.sections[-1]
    assert (published.kind, published.source) == ("published", "PaDoc paper, Table 1")
    assert [section.sections[-1].source for section in tables[1:]] == [
        "PaDoc paper, Table 5",
        "PaDoc paper, Table 6",
        "PaDoc paper, Table 7",
    ]


def test_values_of_measured_and_published_rows(made: list[Path]) -> None:
    tables = layout_tables(read_runs(made)[0], published_rows())
    high = tables[0].sections[0].rows[0]
    assert [cell.text for cell in high.cells[:8]] == ["81.2", "86.2", "91.2", "88.2", "71.2", "76.2", "81.2", "78.2"]
    assert high.cells[0].value == pytest.approx(81.234)
    assert [cell.text for cell in high.cells[16:20]] == ["–"] * 4
    assert f"9 pages\n{high.cells[0].tooltip.splitlines()[1]}\n{SIGNATURE}" in high.cells[0].tooltip
    assert [cell.text for cell in tables[3].sections[0].rows[0].cells[:1]] == ["78.2"]
    stated = {row.title: row for row in tables[0].sections[-1].rows}
    assert [cell.text for cell in stated["Dolphin-v2 3.8B"].cells[:8]] == [
        "79.5", "87.6", "90.8", "89.1", "86.6", "93.9", "92.2", "93.0",
    ]  # fmt: skip
    assert [cell.text for cell in stated["Dolphin-v2 3.8B"].cells[-4:]] == ["88.3", "94.8", "92.9", "93.8"]


def test_best_within_a_section_of_two_only(made: list[Path]) -> None:
    first = layout_tables(read_runs(made)[0], published_rows())[0]
    best = {
        row.title: sum(cell.best for cell in row.cells)
        for section in first.sections
        for row in section.rows
        if section.kind != "published"
    }
    assert best == {"high system": 20, "low system": 0, "other system": 0, "model system": 0}


def test_without_layout_there_is_no_table(made: list[Path]) -> None:
    assert layout_tables(read_runs([made[3]])[0], published_rows()) == []
    found = make_report([made[3]], made[3].parent / "report-bare").read_text(encoding="utf-8")
    assert "PageIoU)" not in found


def test_the_leaderboard_s_column_is_filled_with_a_signature_of_its_own(made: list[Path]) -> None:
    shown = sections(read_runs(made)[0], standings_of(made))
    cells = {
        row.run.title: next(cell for cell in row.cells if cell.column.name == "page_iou")
        for section in shown
        for row in section.rows
    }
    high = cells["high system"]
    assert (high.text, high.value, high.link) == ("81.23", 0.81234, "#layout")
    assert high.column.definition in high.tooltip
    assert high.tooltip.endswith(f"{SIGNATURE}|mode:countable-acceptable")
    exported = {row["system"]: row for row in json.loads(to_json(shown))}
    assert exported["high system"]["page_iou"] == 0.81234
    assert exported["high system"]["page_iou_signature"] == f"{SIGNATURE}|mode:countable-acceptable"
    assert exported["bare system"]["page_iou_signature"] is None
    assert not any(cell.best for cell in cells.values()), "signatures differ"
    assert cells["bare system"].tooltip == "PageIoU: no boxes were scored"


def test_unmapped_labels_and_unscored_pages_are_listed(made: list[Path]) -> None:
    found = unmapped_labels(read_runs(made)[0])
    assert [(one.title, one.labels, one.left_out, one.unscored) for one in found] == [
        ("low system", (("stamp", 3), ("seal", 1)), 0, 1)
    ]
    index = make_report(made, made[0].parent / "report").read_text(encoding="utf-8")
    assert "<code>stamp</code> (3 boxes), <code>seal</code> (1 box); 1 page not scored" in index
    assert index.count('class="tab"') >= 4


def test_hostile_labels_are_escaped_and_cut(tmp_path: Path) -> None:
    attack = "<img src=x onerror=window.hacked=1>\u202e" + "x" * 500
    run = make_run(tmp_path / "run", made_dataset(tmp_path, 2), MadeRun(pages=2, words=Words(group=attack)))
    many = {attack: 2, **{f"label {number}": 1 for number in range(1000)}}
    write_json(run / "evaluate" / "layout" / "layout.json", layout_file(0.5, unmapped=many, labels={attack: attack}))
    report = make_report([run], tmp_path / "report").parent
    for page in report.rglob("*.html"):
        root: Any = html.document_fromstring(page.read_bytes())
        assert not root.xpath("//img | //*[@onerror]")
        assert "\u202e" not in page.read_text(encoding="utf-8")
    text = (report / "index.html").read_text(encoding="utf-8")
    assert "&lt;img src=x onerror=window.hacked=1&gt;⟦U+202E⟧" in text
    assert "x" * 61 not in text.split('id="layout"')[1].split('id="runs"')[0]
    assert "and 961 more" in text


@pytest.mark.parametrize("content", ["[]", "{}", '{"signature": "s", "averages": {"m": {"text": {"iou": "x"}}}}', "{"])
def test_a_broken_layout_file_costs_its_own_run(tmp_path: Path, content: str) -> None:
    dataset = made_dataset(tmp_path, 2)
    runs = [make_run(tmp_path / name, dataset, MadeRun(name, pages=2)) for name in ("good", "broken")]
    (runs[1] / "evaluate" / "layout").mkdir()
    (runs[1] / "evaluate" / "layout" / "layout.json").write_text(content, encoding="utf-8")
    found, unreadable = read_runs(runs)
    assert [run.key for run in found] == ["good"]
    assert "layout.json" in unreadable[0].reason


LAYOUT = LayoutScores(
    SIGNATURE,
    {},
    {"para": "text", "tab": "table", "seal": "other", "wrap": "none"},
    {name: Members(frozenset(found["include"]), frozenset(found["accept"])) for name, found in MEMBERS.items()},
)


def box(kind: str, x1: float, y1: float, x2: float, y2: float) -> Box:
    return Box(x1, y1, x2, y2, kind)


def verdicts(gt: list[Box], pred: list[Box]) -> tuple[list[str], list[str]]:
    found = judged(gt, pred, LAYOUT)
    assert found is not None
    return [one.verdict for one in found[0]], [one.verdict for one in found[1]]


P, T = "para", "text_block"
VERDICTS = [
    ("equal", [box(T, 0, 0, 10, 10)], [box(P, 0, 0, 10, 10)], ["hit"], ["hit"]),
    ("half of it", [box(T, 0, 0, 10, 10)], [box(P, 0, 0, 5, 10)], ["hit"], ["hit"]),
    ("less than half", [box(T, 0, 0, 10, 10)], [box(P, 0, 0, 4.9, 10)], ["miss"], ["hit"]),
    ("two quarters", [box(T, 0, 0, 10, 10)], [box(P, 0, 0, 5, 5), box(P, 5, 5, 10, 10)], ["hit"], ["hit", "hit"]),
    ("one quarter twice", [box(T, 0, 0, 10, 10)], [box(P, 0, 0, 5, 5)] * 2, ["miss"], ["hit", "hit"]),
    ("touching", [box(T, 0, 0, 10, 10)], [box(P, 10, 0, 20, 10)], ["miss"], ["excess"]),
    ("too large", [box(T, 0, 0, 10, 10)], [box(P, 0, 0, 30, 10)], ["hit"], ["excess"]),
    ("two truths in one", [box(T, 0, 0, 10, 10), box("title", 20, 0, 30, 10)], [box(P, 0, 0, 30, 10)],
     ["hit", "hit"], ["hit"]),
    ("other class", [box("table", 0, 0, 10, 10)], [box(P, 0, 0, 10, 10)], ["miss"], ["excess"]),
    ("accepted", [box("header", 0, 0, 10, 10)], [box(P, 0, 0, 10, 10)], ["neutral"], ["hit"]),
    ("accepted left out", [box("header", 0, 0, 10, 10)], [], ["neutral"], []),
    ("accepted elsewhere", [box("table_caption", 0, 0, 9, 9)], [box("tab", 0, 0, 9, 9)], ["neutral"], ["hit"]),
    ("other on anything", [box("abandon", 0, 0, 9, 9)], [box("seal", 0, 0, 9, 9)], ["neutral"], ["hit"]),
    ("other hits no class", [box(T, 0, 0, 9, 9)], [box("seal", 0, 0, 9, 9)], ["miss"], ["hit"]),
    ("other on nothing", [], [box("seal", 0, 0, 9, 9)], [], ["excess"]),
    ("not counted, not known", [box(T, 0, 0, 9, 9)], [box("wrap", 0, 0, 9, 9), box("what", 0, 0, 9, 9)],
     ["miss"], ["neutral", "neutral"]),
    ("without area", [box(T, 5, 5, 5, 9)], [box(P, 1, 1, 9, 1)], ["neutral"], ["neutral"]),
    ("unknown category", [box("novel", 0, 0, 9, 9)], [box(P, 0, 0, 9, 9)], ["neutral"], ["excess"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("gt", "pred", "of_gt", "of_pred"), [row[1:] for row in VERDICTS], ids=[v[0] for v in VERDICTS]
)
def test_verdicts_by_hand(gt: list[Box], pred: list[Box], of_gt: list[str], of_pred: list[str]) -> None:
    assert verdicts(gt, pred) == (of_gt, of_pred)


def test_pages_that_cannot_be_judged() -> None:
    many = [box(P, place, 0, place + 1, 1) for place in range(MOST_JUDGED + 1)]
    assert judged([], many, LAYOUT) is None
    assert judged([], many[1:], LAYOUT) is not None
    assert judged([], [], None) is None
    assert judged([], [], LayoutScores(SIGNATURE, {})) is None


CORNERS = st.tuples(*[st.integers(0, 12)] * 4).map(lambda c: (min(c[::2]), min(c[1::2]), max(c[::2]), max(c[1::2])))


@settings(max_examples=100, deadline=None)
@given(st.lists(CORNERS, max_size=6), st.lists(CORNERS, max_size=6))
def test_covered_areas_agree_with_counted_squares(targets: list[Any], covers: list[Any]) -> None:
    page = np.zeros((12, 12), bool)
    for x1, y1, x2, y2 in covers:
        page[y1:y2, x1:x2] = True
    counted = [int(page[y1:y2, x1:x2].sum()) for x1, y1, x2, y2 in targets]
    found = covered_areas(np.array(targets, float).reshape(-1, 4), np.array(covers, float).reshape(-1, 4))
    assert found == pytest.approx(counted)


def test_a_page_view_says_what_each_box_is_and_how(made: list[Path]) -> None:
    report = make_report(made[1:2], made[1].parent / "report-high").parent
    page = next((report / "pages").rglob("high/*.html")).read_text(encoding="utf-8")
    root: Any = html.document_fromstring(page)
    # Truth: text 10 40 190 70, table, formula. Prediction: "book" (text) 8 38 188 72, on 5340 of its 6120 square px.
    assert root.xpath("//*[local-name()='g'][@class='gt']/*/@class") == ["hit", "miss", "miss"]
    assert root.xpath("//*[local-name()='g'][@class='pred']/*/@class") == ["hit"]
    legend = " ".join(root.xpath("//details[@class='verdicts']")[0].text_content().split())
    assert re.search(
        "1 hit 2 miss 0 excess neither by 50 % .* at least 50 % .* less than 50 % .* A display aid", legend
    )
    assert {"gt", "pred", "gt-line", "pred-line", "verdicts"} == set(root.xpath("//input/@data-layer"))


def test_a_page_view_without_layout_scores_is_as_before(made: list[Path]) -> None:
    shown = drawing(TruthPage("p", (box(T, 0, 0, 9, 9),), 20, 20, None), [box(P, 0, 0, 9, 9)], None)
    assert shown is not None
    assert shown.verdicts is None
    assert [one.verdict for one in (*shown.gt, *shown.pred)] == ["", ""]
    report = make_report(made[3:4], made[3].parent / "report-none").parent
    page = next((report / "pages").rglob("bare/*.html")).read_text(encoding="utf-8")
    assert 'data-layer="verdicts"' not in page


def test_older_layout_files_have_no_category_table(tmp_path: Path) -> None:
    write_json(tmp_path / "evaluate" / "layout" / "layout.json", layout_file(0.5, membership=None))
    found = read_layout(tmp_path)
    assert found is not None
    assert not found.members
    assert read_layout(tmp_path / "nowhere") is None
