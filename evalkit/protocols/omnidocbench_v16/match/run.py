"""A run of consecutive predicted pieces."""

from __future__ import annotations

from dataclasses import dataclass

Span = tuple[int, int]
"""First and last piece of a run, inclusive."""


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive pieces, and the normalised distance of their joined text to a block."""

    cost: float
    first: int
    last: int

    @property
    def span(self) -> Span:
        """First and last piece."""
        return self.first, self.last
