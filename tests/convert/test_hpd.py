"""HPD's block stream: the vendor's cleaning by vectors, repairs, and streams cut or forged at will."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import registry
from evalkit.converters.hpd import FORK, PLAIN
from evalkit.converters.hpd_clean import clean_official, clean_only
from evalkit.converters.hpd_math import math_spans
from evalkit.converters.hpd_stream import read_stream
from evalkit.types import BBox, FinishState, Page, Prediction, RawOutput

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "hpd_vectors.json").read_text(encoding="utf-8"))
PAGE = Page("p.png", "p", 1000, 2000)
EXAMPLE = (
    "<BLOCK>header [88, 31, 410, 47]<CHILD>Annual Review 2024"
    "<BLOCK>title [88, 70, 900, 110]<CHILD># Rainfall by basin"
    "<BLOCK>text [88, 128, 488, 240]<CHILD>Rainfall rose by \\(3.2\\%\\) over the year."
    "<BLOCK>equation [120, 250, 460, 300]<CHILD>\\[\nR = \\sum_{i=1}^{n} w_i r_i \\tag{1}\n\\]"
    "<BLOCK>table_caption [88, 315, 488, 330]<CHILD>Table 1. Basins"
    "<BLOCK>table [88, 335, 488, 520]<CHILD><table><tr><td colspan=2>Basin</td></tr>"
    "<tr><td>North</td><td>12.5</td></tr></table>"
    "<BLOCK>list [510, 128, 900, 240]\n<BLOCK>text [510, 128, 900, 180]<CHILD>- dry season"
    "<BLOCK>image [510, 260, 900, 520]<BLOCK>page_number [480, 960, 520, 975]<CHILD>17"
)
TOKENS = ["<BLOCK>", "<CHILD>", "<FORK>", "text [1, 2, 3, 4]", "\\[", "\n\\]", "\\(", "\\)", "$", "$$", "\\left(", "÷"]
TOKENS += ["\\right)", "\\dots", "\\quad", "<table>", "\\tag{", "a", "\n", " ", "速"]
UNITS = [
    "<BLOCK>",
    "\\left(",
    "\\(",
    "\\[",
    "$",
    "\\quad",
    "\\dots ",
    "\\quad \\dots ",
    ")\\dots ",
    "\\tag{",
    "<table ",
]
UNITS += ["a [1, ", "1\n", " ", "The image contains no text or characters. ", "\\(\\)", "÷", "((", "速 "]


def converted(text: str | None, variant: str = "official", page: Page = PAGE) -> Prediction:
    return FORK.convert(RawOutput("p.png", text, FinishState.OK), page, variant)


@pytest.mark.parametrize("vector", VECTORS["block"], ids=lambda vector: vector["case"])
def test_block_vectors(vector: dict[str, str]) -> None:
    assert clean_official(vector["in"]) == vector["out"]


@pytest.mark.parametrize("vector", VECTORS["page"], ids=lambda vector: vector["case"])
def test_page_vectors(vector: dict[str, str]) -> None:
    """Where two variants of the vendor's code differ, `official` is the one that makes the benchmark's markdown."""
    assert converted(vector["in"]).markdown == vector.get("out_export_variant", vector["out"])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("\\[", "\\(\\]"),
        ("\\(x \\supset y\\) \\(z\\)", "\\(x \\sqsupset y\\)\n\n\\(z\\)"),
        ("\\(\\left( \\left( a \\right) \\sqrt{b} \\right)\\)", "\\(\\left( ( a ) \\sqrt{b} \\right)\\)"),
        ("\\(\\right) a \\left(\\)", "\\(\\right) a \\left(\\)"),
        ("\\(f(x) \\quad \\dots\\)", "\\(f(x)\\)"),
        ("\\(x \\right. \\ldots\\)", "\\(x \\right.\\)"),
        ("\\(a, \\ldots\\)", "\\(a, \\ldots\\)"),
        ("x \\qquad \\quad", "x"),
        ("a − b ∗ c", "\\( a - b * c \\)"),
        ("log x = 2", "\\( log x = 2 \\)"),
        ("\\[\na = b \\\\\nc = d\n\\]", "\\[\na = b \\\\\nc = d\n\\]"),
        ("1 + 1 = 2\n\\(x\\)\n2 + 2 = 4", "\\( 1 + 1 = 2 \\)\n\\(x\\)\n\\( 2 + 2 = 4 \\)"),
        ("1 + \\(x\\)", "1 + \\(x\\)"),
        ("<td>3+4</td>", "<td>3+4</td>"),
        ("A text [1, 2, 3, 4]<CHILD>B", "A B"),
        (
            "x The image contains no text or characters. It is a graphical element "
            "(a horizontal line with a vertical line), so the correct OCR output is an empty string. y",
            "x  y",
        ),
    ],
)
def test_official_cleaning(content: str, expected: str) -> None:
    assert clean_official(content) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("- 12 -", "- 12 -"),
        ("12 ÷ 4 = 3", "12 ÷ 4 = 3"),
        ("\\(A \\supset B\\)", "\\(A \\supset B\\)"),
        ("\\[\nE = mc^2\n\\]", "\\[\nE = mc^2\n\\]"),
        ("\\[ x \\]", "\\[ x \\]"),
        ("\\[\nx + y", "\\[\nx + y\n\\]"),
        ("\\[", ""),
        ("[Non-Text]", ""),
        ("A<FORK>B", "A"),
        ("A line<BLO", "A line"),
        ("<table border=1><tr><td>1", "<table border=1><tr><td>1</table>"),
        ("<table><tr><td><table><tr><td>1", "<table><tr><td><table><tr><td>1</table></table>"),
        ("</table><table>", "</table><table></table>"),
    ],
)
def test_clean_only_repairs(content: str, expected: str) -> None:
    assert clean_only(content) == expected


def test_blocks_carry_kind_box_and_source() -> None:
    prediction = converted(EXAMPLE, "clean")
    table = next(block for block in prediction.blocks if block.kind == "table")
    assert table.bbox == BBox(88.0, 670.0, 488.0, 1040.0)
    assert table.html is not None
    assert table.source is not None
    start, end = table.source
    assert EXAMPLE[start:end].startswith("<BLOCK>table [88, 335")
    assert [block.kind for block in prediction.blocks][-2:] == ["image", "page_number"]
    assert prediction.markdown is not None
    assert prediction.markdown.startswith("Annual Review 2024\n\n# Rainfall by basin\n\n")


@pytest.mark.parametrize(
    ("header", "kind", "place"),
    [
        ("text [1, 2, 3, 4]", "text", (1, 2, 3, 4)),
        (" text\n[1,2,3,4] ", "text", (1, 2, 3, 4)),
        ("text [1, 2, 3]", "text", None),
        ("text [left, 2, 3, 4]", "text", None),
        ("text [1, 2, 3, 4", "text", None),
        ("text", "text", None),
        ("[1, 2, 3, 4]", "unknown", None),
        ("text [99999999999999999999, 2, 3, 4]", "text", None),
        ("", "unknown", None),
    ],
)
def test_headers(header: str, kind: str, place: tuple[int, int, int, int] | None) -> None:
    (block,) = read_stream(f"noise<BLOCK>{header}<CHILD>A")
    assert (block.kind, block.place, block.content) == (kind, place, "A")


@pytest.mark.parametrize(
    ("text", "fork", "plain"),
    [
        (None, None, None),
        ("", "", ""),
        (" \n", "", ""),
        ("# As it is", "", "# As it is"),
        ("<BLOCK>text [0, 0, 1, 1]<CHILD>A", "A", "A"),
    ],
)
def test_text_without_blocks(text: str | None, fork: str | None, plain: str | None) -> None:
    raw = RawOutput("p.png", text, FinishState.OK)
    assert FORK.convert(raw, PAGE).markdown == fork
    assert PLAIN.convert(raw, PAGE).markdown == plain
    if not fork:
        assert FORK.convert(raw, PAGE).reason


def test_no_box_without_the_page_size() -> None:
    assert all(block.bbox is None for block in converted(EXAMPLE, page=Page("p.png", "p")).blocks)


@pytest.mark.parametrize("variant", ["official", "clean"])
def test_a_cut_at_any_place_keeps_what_was_complete(variant: str) -> None:
    whole = [block.text for block in converted(EXAMPLE, variant).blocks]
    for end in range(len(EXAMPLE)):
        texts = [block.text for block in converted(EXAMPLE[:end], variant).blocks]
        assert texts[:-1] == whole[: max(0, len(texts) - 1)], end


@given(st.lists(st.sampled_from(TOKENS)))
def test_any_mixture_of_tokens_is_read(tokens: list[str]) -> None:
    for variant in FORK.variants:
        prediction = converted("".join(tokens), variant)
        assert prediction.markdown is not None
        assert all(block.text is None or "<CHILD>" not in block.text for block in prediction.blocks)


@given(st.text(alphabet="\\()[]$ab \n"))
def test_math_spans_do_not_overlap(text: str) -> None:
    spans = list(math_spans(text))
    assert all(left[1] <= right[0] for left, right in pairwise(spans))
    assert all(0 <= start < end <= len(text) for start, end, _ in spans)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("variant", ["official", "clean"])
def test_a_megabyte_of_anything_is_read(unit: str, variant: str) -> None:
    """A pass with quadratic cost would not end within the time limit of the suite."""
    hostile = "<BLOCK>text [0, 0, 1, 1]<CHILD>A<BLOCK>text [0, 0, 1, 1]<CHILD>" + unit * (1_000_000 // len(unit))
    markdown = converted(hostile, variant).markdown
    assert markdown is not None
    assert markdown.startswith("A")


@pytest.mark.parametrize("name", ["hpd", "hpd_plain", "markdown"])
def test_registered(name: str) -> None:
    converter = registry.load("converter", name)
    assert converter.name == name
    assert "official" in converter.variants


@pytest.mark.parametrize(("text", "markdown"), [("# A\n", "# A\n"), ("", ""), (None, None)])
def test_markdown_passes_through(text: str | None, markdown: str | None) -> None:
    prediction = registry.load("converter", "markdown").convert(RawOutput("p.png", text, FinishState.ERROR), PAGE)
    assert prediction.markdown == markdown
    assert bool(prediction.reason) == (not text)
