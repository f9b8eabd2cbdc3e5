"""Delimited spans are those of the lazy regular expressions, and are found in linear time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.protocols.omnidocbench_v16.normalize.delimiters import (
    Delimiter,
    delimited_spans,
    remove_delimited,
    replace_delimited,
    unwrap_delimited,
)

PIECES = st.lists(st.sampled_from(["$", "$$", "\\(", "\\)", "\\[", "\\]", "\\", "\n", "a", "{", "}", "|"]), max_size=30)
FOUR_KINDS = (Delimiter(r"\$\$", "$$"), Delimiter(r"\\\[", "\\]"), Delimiter(r"\$", "$"), Delimiter(r"\\\(", "\\)"))
CASES = [
    pytest.param(
        FOUR_KINDS,
        re.compile(r"\$\$(?:.*?)\$\$|\\\[(?:.*?)\\\]|\$(?:.*?)\$|\\\((?:.*?)\\\)", re.DOTALL),
        id="four kinds over lines",
    ),
    pytest.param(
        (Delimiter(r"\$", "$", multiline=False), Delimiter(r"\\\(", "\\)", multiline=False)),
        re.compile(r"\$(?:.*?)\$|\\\((?:.*?)\\\)"),
        id="two kinds on a line",
    ),
    pytest.param(
        (Delimiter(r"\\\[", "\\]", multiline=False, min_content=1, unescaped=True),),
        re.compile(r"\\\[(?:.+?)(?<!\\)\\\]"),
        id="content and no backslash before the end",
    ),
]


@pytest.mark.parametrize(("delimiters", "pattern"), CASES)
@given(pieces=PIECES)
def test_equals_the_regular_expression(
    delimiters: tuple[Delimiter, ...], pattern: re.Pattern[str], pieces: list[str]
) -> None:
    text = "".join(pieces)
    found = [(span.start, span.end) for span in delimited_spans(text, delimiters)]
    assert found == [match.span() for match in pattern.finditer(text)]


def test_replacing_removing_and_unwrapping() -> None:
    braces = (Delimiter(r"\\b\{", "}"),)
    assert replace_delimited(r"a\b{c}d\b{e", braces, str.upper) == r"aCd\b{e"
    assert remove_delimited(r"a\b{c}d\b{}e", braces) == "ade"
    assert unwrap_delimited(r"a\b{ c }d", braces) == "a c d"


@pytest.mark.parametrize("opening", ["\\(", "\\[", "$", "\\( \\[ "])
def test_many_openings_without_a_closing_end_soon(opening: str) -> None:
    assert remove_delimited("x" + opening * 50_001, FOUR_KINDS).startswith("x")
