"""Differences, tables, formulas and SVG of a page view: what they show, and what they let through."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.differences import MOST_CHARS, differ
from reports.formulas import MOST_CHARS as MOST_FORMULA
from reports.formulas import to_mathml
from reports.inline_svg import clean_svg
from reports.markup import printable, render
from reports.page_order import PageSet, badness, chosen_pages, worst_first
from reports.page_rows import PageRows
from reports.page_view import drawing, predicted_boxes, shown_page
from reports.pictures.accuracy_speed import pareto_front
from reports.pictures.spread import survival
from reports.pictures.timeline import branches_of
from reports.run_files import read_run, safe_name
from reports.tables import MOST_CELLS, MOST_SPAN, compare_tables, read_table
from reports.truth import Box, find_image, read_truth
from tests.fakes.made_runs import MadeRun, made_dataset, make_run


def text_of(pieces: object) -> str:
    return "".join(piece.text for piece in pieces)  # type: ignore[attr-defined]


def changed(pieces: object) -> list[str]:
    return [piece.text for piece in pieces if piece.changed]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("gt", "pred", "gt_changed", "pred_changed"),
    [
        ("the red house", "the red house", [], []),
        ("the red house", "the blue house", ["red"], ["blue"]),
        ("the house", "the old house", [], ["old "]),
        ("天气很好", "夭气很好", ["天"], ["夭"]),
        ("", "x", [], ["x"]),
        ("x", "", ["x"], []),
    ],
)
def test_words_that_differ_are_marked(gt: str, pred: str, gt_changed: list[str], pred_changed: list[str]) -> None:
    found = differ(gt, pred)
    assert (changed(found.gt), changed(found.pred)) == (gt_changed, pred_changed)


@given(st.text(max_size=60), st.text(max_size=60))
def test_differences_lose_and_invent_nothing(gt: str, pred: str) -> None:
    found = differ(gt, pred)
    assert (text_of(found.gt), text_of(found.pred)) == (gt, pred)
    assert [p.text for p in found.gt if not p.changed and p.text] == [] or gt != ""
    assert "".join(p.text for p in found.gt if not p.changed) == "".join(p.text for p in found.pred if not p.changed)


def test_long_texts_are_cut_and_not_compared() -> None:
    found = differ("a b " * 300_000, "b a " * 300_000)
    assert not found.compared
    assert found.cut == 2 * (1_200_000 - MOST_CHARS)
    assert len(text_of(found.gt)) == MOST_CHARS


def test_table_keeps_text_and_spans_only() -> None:
    table = read_table(
        "<table border=1 onclick=x()><tr style='position:fixed'><th rowspan=2><b>Head</b></th>"
        "<td onmouseover=alert(1)><a href='javascript:x'>one</a><script>alert(2)</script></td></tr>"
        "<tr><td colspan=9999><img src=http://x>two<style>p{}</style></td></tr></table>"
    )
    assert table is not None
    cells = [(cell.text, cell.row, cell.column, cell.rowspan, cell.colspan) for row in table.rows for cell in row]
    assert cells == [("Head", 0, 0, 2, 1), ("one", 0, 1, 1, 1), ("two", 1, 1, 1, MOST_SPAN)]


@pytest.mark.parametrize(
    ("value", "span"), [("3", 3), ("0", 1), ("-2", 1), ("60", MOST_SPAN), ("61", MOST_SPAN), ("1e9", 1), ("٣", 1)]
)
def test_spans_are_bounded(value: str, span: int) -> None:
    table = read_table(f'<table><tr><td colspan="{value}">a</td></tr></table>')
    assert table is not None
    assert table.rows[0][0].colspan == span


def test_huge_tables_are_cut() -> None:
    table = read_table("<table>" + "<tr><td>x</td></tr>" * (MOST_CELLS + 5))
    assert table is not None
    assert table.cut
    assert sum(map(len, table.rows)) == MOST_CELLS


def test_a_cell_of_five_megabytes_is_cut() -> None:
    table = read_table("<table><tr><td>" + "x" * 5_000_000 + "</td></tr></table>")
    assert table is not None
    assert table.cut
    assert len(table.rows[0][0].text) < 1000


@pytest.mark.parametrize("source", ["", "no table", "<tabl", "<table></table>", "<table><tr></tr></table>"])
def test_no_table(source: str) -> None:
    assert read_table(source) is None


def test_cells_that_differ_are_marked_on_both_sides() -> None:
    first = read_table("<table><tr><td>a</td><td>b</td></tr></table>")
    second = read_table("<table><tr><td>a</td><td>c</td></tr><tr><td>d</td></tr></table>")
    assert first is not None
    assert second is not None
    left, right = compare_tables(first, second)
    assert [[cell.changed for cell in row] for row in left.rows] == [[False, True]]
    assert [[cell.changed for cell in row] for row in right.rows] == [[False, True], [True]]


def test_formula_as_mathml() -> None:
    found = to_mathml(r"$$\frac{a}{b}$$")
    assert found is not None
    assert "<mfrac><mrow><mi>a</mi></mrow><mrow><mi>b</mi></mrow></mfrac>" in found


@pytest.mark.parametrize(
    "source",
    [
        r"\href{javascript:alert(1)}{x}",
        r"\text{<script>alert(1)</script>}",
        r"\color{red;background:url(http://x)}{x}",
        r"\style{position:fixed}{x}",
        r"\class{evil}{x}",
        r"\unicode{x202E}x",
        r"\includegraphics{http://x/y.png}",
    ],
)
def test_formula_lets_nothing_through(source: str) -> None:
    found = to_mathml(source) or ""
    for part in ("<script", "href", "style=", "class=", "url(", "javascript:", "http://x", "<img"):
        assert part not in found.replace("http://www.w3.org/1998/Math/MathML", "")


@pytest.mark.parametrize(
    "source",
    ["x" * (MOST_FORMULA + 1), "{" * 400 + "}" * 400, r"\left(" * 60, r"\frac", r"x^y^z", "", "  ", r"\begin{matrix}"],
)
def test_formula_that_is_too_much_or_no_formula(source: str) -> None:
    assert to_mathml(source) is None


@given(st.text(alphabet=r"\{}^_&$ abfrcsqtleigh()", max_size=120))
def test_formula_never_raises(source: str) -> None:
    found = to_mathml(source)
    assert found is None or found.startswith("<math")


def test_svg_keeps_shapes_only() -> None:
    found = clean_svg(
        '<svg xmlns="http://www.w3.org/2000/svg" onload="x()"><script>x()</script><rect x="1" style="fill:red"/>'
        '<image href="http://x"/><text fill="url(http://x)">a&lt;b</text><foreignObject><p>p</p></foreignObject></svg>'
    )
    assert found == '<svg xmlns="http://www.w3.org/2000/svg"><rect x="1"/><text>a&lt;b</text></svg>'
    assert clean_svg("<svg") is None
    assert clean_svg("<p/>") is None


def test_unseen_characters_are_written_out() -> None:
    assert printable("a\u202eb\x00\ud800c\u200f") == "a⟦U+202E⟧b⟦U+0000⟧⟦U+D800⟧c⟦U+200F⟧"
    assert printable("plain\ttext\n天气") == "plain\ttext\n天气"


def test_rows_of_a_page_are_found_by_place(tmp_path: Path) -> None:
    made = MadeRun(pages=5, pairs_per_page=3)
    run = read_run(make_run(tmp_path / "run", made_dataset(tmp_path, 5), made), "run")
    part = PageRows(run).read("page_3.png")
    assert part.request["page_id"] == part.prediction["page_id"] == "page_3.png"
    assert [(pair["page_id"], score["pair"]) for pair, score in part.pairs] == [("page_3.png", 9 + n) for n in range(3)]
    assert PageRows(run).read("nowhere.png").pairs == ()


def test_rows_that_are_broken_are_passed_over(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", made_dataset(tmp_path, 3), MadeRun(pages=3))
    pairs = folder / "evaluate" / "pairs.jsonl"
    lines = pairs.read_text(encoding="utf-8").splitlines()
    lines[1] = '{"page_id": "page_0.png", "element": '
    lines[2] = '{"page_id": "page_0.png", "element": 7, "gt": null}'
    lines[3] = "not json"
    pairs.write_text("\n".join([*lines, '{"page_id": "page_2']), encoding="utf-8")
    rows = PageRows(read_run(folder, "run"))
    assert len(shown_page(rows.read("page_0.png")).pairs) == 1
    assert len(shown_page(rows.read("page_2.png")).pairs) == 4


def test_boxes_stay_on_the_page() -> None:
    prediction = {
        "blocks": [
            {"kind": "text", "bbox": {"x1": -1e9, "y1": 5, "x2": 1e9, "y2": 1e300}},
            {"kind": "text", "bbox": {"x1": None, "y1": 5, "x2": 7, "y2": 9}},
            {"kind": "text", "bbox": [1, 2, 3, 4]},
            "no block",
        ]
    }
    found = drawing(None, [], None)
    assert found is None
    boxes = predicted_boxes(prediction)
    assert len(boxes) == 1
    truth = read_truth(Path("nowhere.json"), {"x"})
    assert truth == {}
    shown = drawing(None, [Box(0, 0, 100, 200, "page"), *boxes], None)
    assert shown is not None
    assert all(0 <= box.x1 <= box.x2 <= shown.width for box in shown.pred)


@pytest.mark.parametrize(
    "page_id", ["../../secret.png", "/etc/passwd", "..", "", "images/../../secret.png", "a\x00.png"]
)
def test_images_are_found_inside_the_data_set_only(page_id: str, tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(b"x")
    (tmp_path / "data" / "images").mkdir(parents=True)
    assert find_image(tmp_path / "data", page_id) is None


def test_swapped_sizes_follow_the_image(tmp_path: Path) -> None:
    dataset = made_dataset(tmp_path, 1)
    rows = json.loads(dataset.read_text())
    rows[0]["page_info"] |= {"width": 280, "height": 200}
    dataset.write_text(json.dumps(rows))
    page = read_truth(dataset, {"page_0.png"})["page_0.png"]
    assert (page.width_px, page.height_px) == (200, 280)


def test_worst_pages_come_first_and_every_run_gets_some(runs: list[Path]) -> None:
    first, second = read_run(runs[0], "a"), read_run(runs[1], "b")
    order = [badness(page) for page in worst_first(first)]
    assert order == sorted(order, reverse=True)
    pages = PageSet("made", "", tuple(page.page_id for page in first.pages), (first, second))
    chosen = chosen_pages(pages, 4)
    assert len(chosen) == 4
    assert {worst_first(first)[0].page_id, worst_first(second)[0].page_id} <= set(chosen)
    assert chosen_pages(pages, 99) == list(pages.page_ids)


def test_pareto_front() -> None:
    assert pareto_front([(1, 5), (2, 4), (1.5, 3), (3, 1), (3, 0.5)]) == [(1, 5), (2, 4), (3, 1)]
    assert pareto_front([]) == []


def test_survival_is_the_share_at_or_above() -> None:
    xs, ys = survival([0, 50, 50, 100])
    assert dict(zip(xs, ys, strict=True)) == {0: 100, 50: 75, 100: 25}


@pytest.mark.parametrize(
    "extra", [{}, {"server_metrics": None}, {"server_metrics": {"x": 3}}, {"server_metrics": {"x": {}}}]
)
def test_no_branches(extra: dict[str, object]) -> None:
    assert branches_of(extra) == ([], "")


@pytest.mark.parametrize(
    ("text", "name"), [("a b/c", "a_b_c"), ("..", "run"), ("", "run"), (".hidden", "hidden"), ("天气", "__")]
)
def test_file_names_are_safe(text: str, name: str) -> None:
    assert safe_name(text) == name


def test_templates_escape_what_they_are_given() -> None:
    found = {"emulated": [], "one_sided": ["<b>"], "scores": [], "figures": [], "latency": ""}
    assert "<b>" not in render("compare.html", root="", first="<b>", second="", **found)
