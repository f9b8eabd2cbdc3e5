"""What the gate says: a verdict for each rule, and one for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """Ordered by weight in SEVERITY; the heaviest rule decides."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    NOT_COMPARABLE = "not_comparable"


SEVERITY = (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL, Verdict.NOT_COMPARABLE)
EXIT_CODES = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.NOT_COMPARABLE: 3, Verdict.INCONCLUSIVE: 4}
STAGES = ("validity", "accuracy", "speed")


@dataclass(frozen=True, slots=True)
class PageMove:
    """A page whose score changed. `share` is its part of the whole change for the better, in the metric's unit."""

    page_id: str
    baseline: float | None
    candidate: float | None
    share: float


@dataclass(frozen=True, slots=True)
class RuleResult:
    """The verdict of one rule.

    `difference` is candidate - baseline for scores and the relative change for speed figures; `interval` is that of
    the difference. `margin` is the loss that the rule allows for noise, as a number above 0.
    """

    stage: str
    rule: str
    verdict: Verdict
    message: str
    value: float | None = None
    baseline: float | None = None
    difference: float | None = None
    interval: tuple[float, float] | None = None
    margin: float | None = None
    unit: str = ""
    provenance: str | None = None
    pages: tuple[PageMove, ...] = ()


@dataclass(frozen=True, slots=True)
class GateResult:
    """All verdicts of one comparison, in the order of the stages. `verdict` is the heaviest."""

    verdict: Verdict
    exit_code: int
    baseline: Mapping[str, Any]
    candidate: Mapping[str, Any]
    rules: tuple[RuleResult, ...]
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


def heaviest(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict that decides; PASS of nothing."""
    return max(verdicts, key=SEVERITY.index, default=Verdict.PASS)


def exit_code(verdict: Verdict, inconclusive: str | None = None) -> int:
    """The exit code of a verdict; `inconclusive` may turn INCONCLUSIVE into "pass" or "fail"."""
    if verdict is Verdict.INCONCLUSIVE and inconclusive is not None:
        return EXIT_CODES[Verdict(inconclusive)]
    return EXIT_CODES[verdict]
