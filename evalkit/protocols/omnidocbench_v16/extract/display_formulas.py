"""Formulas of a page, in any delimiters."""

from __future__ import annotations

import re

from evalkit.protocols.omnidocbench_v16.extract.blanking import blank
from evalkit.protocols.omnidocbench_v16.extract.formula_margin import split_margin_text, unwrap_formula, wrap_formula
from evalkit.protocols.omnidocbench_v16.normalize.delimiters import Delimiter, delimited_spans
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.records import PredItem
from evalkit.protocols.omnidocbench_v16.rules import rule

_FORMULA = (
    Delimiter(r"\$\$", "$$"),
    Delimiter(r"\\\[", "\\]"),
    Delimiter(r"\$", "$"),
    Delimiter(r"\\\(", "\\)"),
)
_DOLLARS_OR_ROUND = (Delimiter(r"\$\$", "$$"), Delimiter(r"\$", "$"), Delimiter(r"\\\(", "\\)"))
_QUAD = re.compile(r"\s*\\q?quad\s*")
_DIGIT = re.compile(r"\d")
_FRACTION = re.compile(r"\d+\s*/\s*\d+")
_NOT_ARITHMETIC = re.compile(
    r"\\(?:begin\{|end\{|mathbf|left|right|cdot|lambda|Gamma|varGamma|text|matrix|pmatrix|bmatrix)"
)
_RELATIONS = ("=", "\\approx", "≈", "\\neq", "≠", "\\leq", "≤", "\\geq", "≥")


@rule(stage="extract", order=19, example=r"a $$x$$ b $y=1$ -> the items \[x\] and \[y=1\], the text a b $y=1$")
def take_formulas(text: str) -> tuple[str, list[PredItem]]:
    """Blank the display formulas and give all formulas as items; inline ones stay in the text as well.

    Source: extract.py, md_tex_filter.
    Quirk: an inline formula is scored twice, as a formula and within its text.
    """
    items: list[PredItem] = []
    display: list[tuple[int, int]] = []
    for span in delimited_spans(text, _FORMULA):
        position = (span.start, span.end)
        line = " ".join(text[span.start : span.end].strip().split("\n"))
        formula, is_inline = in_square_brackets(line)
        if not is_inline:
            display.append(position)
        items += formula_items(formula, position, "equation_inline" if is_inline else None)
    return blank(text, display), items


@rule(stage="extract", order=20, example=r"'$$x$$' -> ('\\[x\\]', False)")
def in_square_brackets(line: str) -> tuple[str, bool]:
    """A formula in \\[...\\], and whether it counts as inline.

    Source: extract.py, md_tex_filter.
    Quirk: a display formula that holds dollar signs, as in \\text{$x$}, counts as inline, as does an empty one;
    in `$$` formulas all other dollar parts are emptied.
    """
    spans = list(delimited_spans(line, _DOLLARS_OR_ROUND))
    if not spans:
        return line, False
    is_display = spans[0].which == 0 and spans[0].inner_end > spans[0].inner_start
    pieces: list[str] = []
    last_end = 0
    for span in spans:
        kept = span.inner(line) if (span.which == 0) == is_display else ""
        pieces += line[last_end : span.start], f"\\[{kept}\\]"
        last_end = span.end
    return "".join(pieces) + line[last_end:], not is_display


def formula_items(formula: str, position: tuple[int, int], fine_category: str | None) -> list[PredItem]:
    """The items that one formula becomes: itself or its parts, then the text in its margins.

    Source: extract.py, _append_display_formula_item.
    """
    formula, margin_items = split_margin_text(formula, position)
    parts = split_compound_formula(formula)
    if not parts:
        return [PredItem("equation_isolated", formula, position, fine_category), *margin_items]
    positions = _share_position(position, len(parts))
    items = [PredItem("equation_isolated", part, at, fine_category) for part, at in zip(parts, positions, strict=True)]
    return items + margin_items


@rule(stage="extract", order=22, example=r"'\\[1+1=2 \\quad 2+2=4\\]' -> ['\\[ 1+1=2 \\]', '\\[ 2+2=4 \\]']")
def split_compound_formula(formula: str) -> list[str]:
    """Several arithmetic equations set side by side become one formula each; [] for any other formula.

    Source: extract.py, _split_compound_display_formula.
    """
    left, right, inner = unwrap_formula(formula)
    if "\\quad" not in inner and "\\qquad" not in inner:
        return []
    parts = [part.strip() for part in _QUAD.split(inner) if part.strip()]
    if len(parts) < 2 or not all(is_arithmetic(part) for part in parts):
        return []
    return [wrap_formula(part, left, right) for part in parts]


@rule(stage="extract", order=23, example=r"'3 + 4 = 7' -> True")
def is_arithmetic(part: str) -> bool:
    """A short relation of numbers.

    Source: extract.py, _looks_like_compound_arithmetic_formula.
    """
    part = " ".join(part.split())
    if not part or len(part) > POLICY.extract.compound_segment_chars or _NOT_ARITHMETIC.search(part):
        return False
    if not any(relation in part for relation in _RELATIONS):
        return False
    return len(_DIGIT.findall(part)) >= 2 or "\\frac" in part or _FRACTION.search(part) is not None


def _share_position(position: tuple[int, int], count: int) -> list[tuple[int, int]]:
    """The span cut into equal parts, the last one up to its end."""
    start, end = position
    width = max(max(end - start, count) // count, 1)
    starts = [start + index * width for index in range(count)]
    return [(at, min(end, at + width)) for at in starts[:-1]] + [(starts[-1], end)]
