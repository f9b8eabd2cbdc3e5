"""A run of consecutive predicted pieces."""

from __future__ import annotations

from dataclasses import dataclass

Span = tuple[int, int]
"""First and last piece of a run, inclusive."""


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive pieces, and the normalised distance of their joined text to a block.

    `official_s` is about how long the official looks for the best run of this block.
    """

    cost: float
    first: int
    last: int
    official_s: float = 0.0

    @property
    def span(self) -> Span:
        """First and last piece."""
        return self.first, self.last
