"""Lines and regions of a page put together: paragraphs, reading order and tables from geometry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.types import BBox
from runners.parsers.grid import find_grids, grid_of
from runners.parsers.lines import TextLine, join_text, paragraphs
from runners.parsers.regions import Region, assemble, reading_order
from runners.parsers.tesseract import paragraph_blocks

PAGE = BBox(0, 0, 1000, 1400)


def line(text: str, x: float, y: float, width: float = 400, tall: float = 20) -> TextLine:
    return TextLine(text, BBox(x, y, x + width, y + tall))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("a word", "and more", "a word and more"),
        ("hyphen-", "ated", "hyphenated"),
        ("Anglo-", "Saxon", "Anglo- Saxon"),
        ("中文", "继续", "中文继续"),
        ("", "x", "x"),
    ],
)
def test_join_text(left: str, right: str, expected: str) -> None:
    assert join_text(left, right) == expected


def test_indent_and_white_space_begin_paragraphs() -> None:
    lines = [
        line("first", 40, 0, 360),
        line("goes on", 0, 24),
        line("second", 40, 48, 360),
        line("third after a gap", 0, 110),
    ]
    assert paragraphs(lines) == ["first goes on", "second", "third after a gap"]


def test_two_columns_are_read_one_after_the_other_below_a_common_title() -> None:
    regions = [
        Region("text", BBox(520, 100, 900, 300)),
        Region("text", BBox(100, 320, 480, 600)),
        Region("title", BBox(100, 20, 900, 60)),
        Region("text", BBox(100, 100, 480, 300)),
        Region("text", BBox(520, 320, 900, 600)),
    ]
    order = [(region.bbox.x1, region.bbox.y1) for region in reading_order(regions)]
    assert order == [(100, 20), (100, 100), (100, 320), (520, 100), (520, 320)]


def test_lines_outside_every_region_are_kept() -> None:
    inside, outside = line("inside", 100, 100), line("outside", 100, 900)
    found = assemble([Region("text", BBox(90, 90, 600, 200))], [inside, outside], PAGE)
    assert [item.text for region in found for item in region.lines] == ["inside", "outside"]


def test_a_page_sized_figure_full_of_text_is_not_a_figure() -> None:
    lines = [line(f"a line of running text, number {index}", 100, 100 + 30 * index) for index in range(12)]
    found = assemble([Region("figure", BBox(0, 0, 1000, 1400), 0.9)], lines, PAGE)
    assert {region.kind for region in found} == {"text"}


def cells(rows: list[list[str | None]], y: float = 100) -> list[TextLine]:
    return [
        line(text, 100 + 200 * column, y + 26 * row, 80)
        for row, texts in enumerate(rows)
        for column, text in enumerate(texts)
        if text is not None
    ]


def test_aligned_cells_form_a_table_with_empty_and_spanning_cells() -> None:
    rows: list[list[str | None]] = [["a", "b", "c"], ["1", "2", "3"], ["4", None, "6"], ["7", "8", "9"]]
    spanning = line("over two", 100, 204, 280)
    grid = grid_of([*cells(rows), spanning, line("x", 500, 204, 80)])
    assert grid is not None
    assert grid.html() == (
        "<table><tr><td>a</td><td>b</td><td>c</td></tr><tr><td>1</td><td>2</td><td>3</td></tr>"
        "<tr><td>4</td><td></td><td>6</td></tr><tr><td>7</td><td>8</td><td>9</td></tr>"
        '<tr><td colspan="2">over two</td><td>x</td></tr></table>'
    )


def test_columns_of_running_text_are_no_table() -> None:
    text = "some words that run on and on in a column"
    assert find_grids(cells([[text, text]] * 8)) == []


def test_table_cells_are_escaped() -> None:
    grid = grid_of(cells([["<b>", "&"], ["1", "2"], ["3", "4"]]))
    assert grid is not None
    assert "&lt;b&gt;" in grid.html()
    assert "&amp;" in grid.html()


boxes = st.tuples(st.integers(0, 900), st.integers(0, 1300), st.integers(1, 300), st.integers(1, 60))


@given(st.lists(boxes, max_size=25), st.lists(boxes, max_size=6))
def test_every_line_is_kept_exactly_once_where_no_figure_takes_it(
    line_boxes: list[tuple[int, int, int, int]], region_boxes: list[tuple[int, int, int, int]]
) -> None:
    lines = [line(str(i), x, y, w, h) for i, (x, y, w, h) in enumerate(line_boxes)]
    regions = [Region("text", BBox(x, y, x + w, y + h)) for x, y, w, h in region_boxes]
    found = assemble(regions, lines, PAGE)
    assert sorted(int(item.text) for region in found for item in region.lines) == list(range(len(lines)))


def test_tesseract_tsv_becomes_paragraphs() -> None:
    header = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"
    words = [
        "5\t1\t1\t1\t1\t1\t10\t10\t50\t12\t96\tTwo",
        '5\t1\t1\t1\t1\t2\t70\t10\t50\t12\t96\t"words',
        "5\t1\t1\t1\t2\t1\t10\t30\t50\t12\t96\tagain",
        "5\t1\t2\t1\t1\t1\t10\t90\t50\t12\t96\tNext",
    ]
    blocks = list(paragraph_blocks("\n".join([header, *words])))
    assert [block.text for block in blocks] == ['Two "words again', "Next"]
    assert blocks[0].bbox == BBox(10, 10, 120, 42)
