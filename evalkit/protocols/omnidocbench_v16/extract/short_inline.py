"""Inline formulas that are mere labels, and so are not scored as formulas."""

from __future__ import annotations

import re

from evalkit.protocols.omnidocbench_v16.extract.formula_candidates import drop_formula_delimiters
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.records import PredItem
from evalkit.protocols.omnidocbench_v16.rules import rule

_MATH = (
    "=", "<", ">", "≤", "≥", "≈", "≠", "^", "+", "-", "/", "\\cdot", "\\frac", "\\sqrt", "\\sum", "\\int", "\\times",
    "\\div", "\\approx", "\\neq", "\\leq", "\\geq", "\\xrightarrow", "\\longrightarrow",
)  # fmt: skip
_WHITESPACE = re.compile(r"\s+")
_LABEL = re.compile(r"[A-Za-z0-9._,-]+|[ΓγλμνxyzuvwMNOabcABC0-9._,-]+")


def is_short_inline_label(item: PredItem) -> bool:
    """Whether an item is an inline formula that is dropped.

    Source: extract.py, _should_drop_short_inline_formula_item.
    """
    return item.fine_category == "equation_inline" and is_label(item.content)


@rule(stage="extract", order=60, example=r"'\\[AB_1\\]' -> True")
def is_label(formula: str) -> bool:
    """A short formula of letters and digits without relation or operator; also one that begins with an arrow.

    Source: extract.py, _should_drop_short_inline_formula_item.
    """
    bare = drop_formula_delimiters(formula.strip())
    compact = _WHITESPACE.sub("", bare)
    if compact.startswith(("\\xrightarrow", "\\longrightarrow")):
        return True
    if not compact or len(compact) > POLICY.extract.short_inline_chars or any(sign in bare for sign in _MATH):
        return False
    return _LABEL.fullmatch(compact) is not None
