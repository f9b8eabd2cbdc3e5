"""What a protocol makes of one page, in a form that passes between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evalkit.types import MatchedPair, PairScore


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """A pair with its scores by metric name."""

    pair: MatchedPair
    scores: Mapping[str, PairScore] = field(default_factory=dict)

    def value(self, metric: str) -> float | None:
        """The metric's value, None where it has none."""
        score = self.scores.get(metric)
        return None if score is None else score.value


@dataclass(frozen=True, slots=True)
class PageResult:
    """The scored pairs of one page, and counts of what the scores do not show."""

    page_id: str
    pairs: tuple[ScoredPair, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
