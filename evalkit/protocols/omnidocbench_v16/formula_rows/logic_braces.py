"""Braces over rows of statements written as `cases`."""

from __future__ import annotations


def normalize_logic_braces(latex: str) -> str:
    """The formula with `cases` that list statements rewritten as a braced left-aligned array; else unchanged."""
    raise NotImplementedError
