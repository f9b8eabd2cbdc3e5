"""Limits on work: where hostile input would take too long, something is left out, and the page says what.

A limit counts work, not seconds, so that a page is scored alike on every machine; the external program latexmlc is the
one exception.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

FORMULA_ALIGNMENT = "formula_alignment"
"""A way to match the page's formulas in reading order was not tried."""
LOGIC_BRACES = "logic_braces"
"""Nested case environments of a formula were left as they are."""
TABLE_TEXT = "table_text"
"""The text of nested table cells was not read to the end."""
LATEX_TEXT = "latex_text"
"""A piece of LaTeX was not turned into text."""
LATEXMLC = "latexmlc"
"""latexmlc was stopped; the LaTeX table counts as not converted."""

_met: ContextVar[set[str] | None] = ContextVar("met", default=None)


@contextmanager
def watch_limits() -> Iterator[set[str]]:
    """The names of the limits that are met while the block runs."""
    met: set[str] = set()
    token = _met.set(met)
    try:
        yield met
    finally:
        _met.reset(token)


def limit_met(name: str) -> None:
    """Note that something was left out. Not to be called by what remembers its results."""
    met = _met.get()
    if met is not None:
        met.add(name)
