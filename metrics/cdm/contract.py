"""The seam of CDM: what a backend is, and how two of them are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from evalkit.types import PairScore

Pair = tuple[str, str]
Progress = Callable[[int, int], None]


class Backend(Protocol):
    """What computes CDM values: this package, the official scorer, or another renderer."""

    @property
    def name(self) -> str:
        """The name under which it is registered."""
        ...

    def score_many(
        self, pairs: Sequence[Pair], *, workers: int = 1, progress: Progress | None = None
    ) -> list[PairScore]:
        """Scores in the order of the pairs. Raises ToolchainError rather than scoring without its tools."""
        ...


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two backends agree on the same pairs; `differing` holds their indices, largest difference first."""

    pairs: int
    equal_values: int
    equal_counts: int
    mean_difference: float
    largest_difference: float
    differing: tuple[int, ...]


def compare(first: Sequence[PairScore], second: Sequence[PairScore]) -> Comparison:
    """Compare scores of the same pairs by two backends."""
    differences = [abs((a.value or 0.0) - (b.value or 0.0)) for a, b in zip(first, second, strict=True)]
    counts = ("gt_tokens", "pred_tokens")
    return Comparison(
        pairs=len(differences),
        equal_values=differences.count(0.0),
        equal_counts=sum(
            all(a.details.get(name) == b.details.get(name) for name in counts)
            for a, b in zip(first, second, strict=True)
        ),
        mean_difference=sum(differences) / len(differences) if differences else 0.0,
        largest_difference=max(differences, default=0.0),
        differing=tuple(
            sorted((i for i, difference in enumerate(differences) if difference), key=lambda i: -differences[i])
        ),
    )
