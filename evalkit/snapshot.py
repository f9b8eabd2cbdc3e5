"""What the gate knows of a run: page scores, figures of its speed runs, and what they depend on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

OVERALL = "overall"
OUTPUT_LENGTH = "output_length"


@dataclass(frozen=True, slots=True)
class PageRow:
    """One page: its metric values (None: nothing to score), what there was to score, and how long its output was."""

    page_id: str
    values: Mapping[str, float | None]
    state: str = "ok"
    groups: Mapping[str, str] = field(default_factory=dict)
    output_tokens: int | None = None
    latency_s: float | None = None


@dataclass(frozen=True, slots=True)
class SpeedFigure:
    """One figure of one speed run."""

    value: float | None
    unit: str
    provenance: str
    reason: str | None = None


GroupedFigures = Mapping[str, Mapping[str, Mapping[str, SpeedFigure]]]
"""Page attribute, its value, name of the figure; `output_length` is an attribute too."""


@dataclass(frozen=True, slots=True)
class SpeedRun:
    """One repeated speed run: its figures, its hygiene checks (None: not checked), and the rules that it breaks."""

    run_id: str
    figures: Mapping[str, SpeedFigure]
    checks: Mapping[str, bool | None] = field(default_factory=dict)
    broken_rules: tuple[str, ...] = ()
    states: Mapping[str, int] = field(default_factory=dict)
    groups: GroupedFigures = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A run as the gate sees it, read from a run folder or from a baseline file.

    `metrics` are the figures of the data set by page average, and `overall`; empty when nothing was scored.
    """

    run_id: str
    origin: str
    evalkit: str
    dataset: Mapping[str, Any]
    created_utc: str = ""
    system: str | None = None
    emulated: bool = False
    protocol: str | None = None
    signature: str | None = None
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    pages: tuple[PageRow, ...] = ()
    speed: tuple[SpeedRun, ...] = ()

    @property
    def finished_states(self) -> Mapping[str, int]:
        """Requests by how they ended, of the first speed run; {} when there was none."""
        return self.speed[0].states if self.speed else {}


def is_figure(value: Any) -> bool:
    """Whether a value is a finite number, or None for absent."""
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value))
