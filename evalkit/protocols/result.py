"""What a protocol makes of one page, in a form that passes between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalkit.types import MatchedPair, MetricSummary, PairScore


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


@dataclass(frozen=True, slots=True)
class Figures:
    """A data set's figures: by metric, by metric and page, by metric and group.

    `official` holds files in the official layout by name, those left out that are rows of pages and final as such.
    """

    overall: float | None
    metrics: Mapping[str, MetricSummary]
    page_values: Mapping[str, Mapping[str, float | None]]
    page_groups: Mapping[str, Mapping[str, float]]
    block_groups: Mapping[str, Mapping[str, float]]
    official: Mapping[str, Any]
    details: Mapping[str, Any] = field(default_factory=dict)
