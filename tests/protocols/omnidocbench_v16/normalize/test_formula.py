"""Formula normalising: hostile nesting, and removals that join what was apart."""

from __future__ import annotations

import pytest

from evalkit.protocols.omnidocbench_v16.normalize.braces import (
    closing_braces,
    remove_command_with_group,
    remove_starred_command_with_group,
)
from evalkit.protocols.omnidocbench_v16.normalize.formula import normalize_formula
from evalkit.protocols.omnidocbench_v16.normalize.groups import simplify_groups


def test_closing_braces() -> None:
    assert closing_braces("a{b{c}}}{") == {1: 6, 3: 5}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"a\phantom{b{c}}d", "ad"),
        (r"\pha\phantom{x}ntom{y}z", "z"),
        (r"a\phantom{b", "a{b"),
        (r"\phantom{a}\phantom{b\phantom{c}", r"{b\phantom{c}"),
        (r"\phantom x", r"\phantom x"),
    ],
)
def test_remove_command_with_group(text: str, expected: str) -> None:
    assert remove_command_with_group(text, "\\phantom") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"x\tag{1}\tag* {2}y", "xy"),
        (r"x\tags{1}", r"x\tags{1}"),
        (r"x\tag 1 \tag{2}", r"x\tag 1 "),
        (r"x\tag{1\tag{2}", "x{1"),
        (r"x\tag * y", r"x\tag * y"),
    ],
)
def test_remove_starred_command_with_group(text: str, expected: str) -> None:
    assert remove_starred_command_with_group(text, "\\tag") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{" * 161 + "}", "{"),
        ("{" + "a=" * 80 + "}", "a=" * 80),
        ("{" + "a=" * 80 + "b}", "{" + "a=" * 80 + "b}"),
        ("{" + "a" * 200 + "}", "a" * 200),
        ("{{ab}", "{ab"),
        ("{{a=b}", "a=b"),
        (r"{a\{x=1}\b}", r"a\x=1\b"),
        (r"\frac{ab}{c|d}", r"\fracab{c|d}"),
    ],
)
def test_simplify_groups(text: str, expected: str) -> None:
    assert simplify_groups(text) == expected


@pytest.mark.parametrize(
    "unit", ["{", "}", "{a", "{}", r"\phantom{", r"\tag{", r"\tag{1}", r"\hspace{", "$", r"\(", "{=}"]
)
def test_endless_repetition_ends_soon(unit: str) -> None:
    assert isinstance(normalize_formula(unit * 10_000), str)


@pytest.mark.parametrize(
    ("opening", "closing"), [("{a|", "b}"), ("{a=", "c}"), (r"\pha", r"ntom{}"), (r"\phantom{", "}")]
)
def test_deep_nesting_ends_soon(opening: str, closing: str) -> None:
    assert isinstance(normalize_formula(opening * 10_000 + closing * 10_000), str)
