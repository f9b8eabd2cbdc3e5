"""The gate: validity, then accuracy, then speed, and the heaviest verdict decides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evalkit import registry
from evalkit.gating.accuracy import judge_accuracy
from evalkit.gating.config import GateConfig
from evalkit.gating.speed import judge_speed
from evalkit.gating.validity import judge_validity
from evalkit.gating.verdict import GateResult, RuleResult, Verdict, exit_code, heaviest
from evalkit.signature import differing_parts
from evalkit.snapshot import Snapshot
from evalkit.store import to_plain


def judge(
    baseline: Snapshot,
    candidate: Snapshot,
    config: GateConfig,
    *,
    inconclusive: str | None = None,
    allow_differences: tuple[str, ...] = (),
) -> GateResult:
    """All verdicts of a candidate against a baseline.

    Sides that must not be compared get that verdict alone. `inconclusive` ("pass" or "fail") sets what an
    inconclusive gate exits with. Raises UserError for rules that name what is not there.
    """
    allowed = (*config.validity.allow_differences, *allow_differences)
    validity = judge_validity(baseline, candidate, replace(config.validity, allow_differences=allowed))
    rules: list[RuleResult] = list(validity)
    if validity[0].verdict is Verdict.PASS:
        rules += judge_accuracy(baseline, candidate, config.accuracy, config.statistics, metric_is_higher_better)
        rules += judge_speed(baseline, candidate, config.speed, config.statistics.level)
    verdict = heaviest([rule.verdict for rule in rules])
    return GateResult(
        verdict=verdict,
        exit_code=exit_code(verdict, inconclusive),
        baseline=identity(baseline),
        candidate=identity(candidate),
        rules=tuple(rules),
        notes=tuple(_notes(baseline, candidate, allowed)),
        settings=to_plain(config.statistics),
    )


def metric_is_higher_better(metric: str) -> bool:
    """The direction that a registered metric states."""
    return bool(registry.load("metric", metric).higher_is_better)


def identity(side: Snapshot) -> dict[str, Any]:
    """What names a side in the outputs."""
    return {
        "run_id": side.run_id,
        "origin": side.origin,
        "system": side.system,
        "dataset": side.dataset.get("name"),
        "pages": len(side.pages),
        "emulated": side.emulated,
        "signature": side.signature,
        "speed_runs": len(side.speed),
    }


def _notes(baseline: Snapshot, candidate: Snapshot, allowed: tuple[str, ...]) -> list[str]:
    notes = []
    if baseline.system != candidate.system:
        notes.append(f"another system: {baseline.system or 'none'} against {candidate.system or 'none'}")
    if baseline.signature and candidate.signature:
        notes += [
            f"allowed difference in {part}"
            for part in differing_parts(baseline.signature, candidate.signature)
            if part.partition(":")[0] in allowed
        ]
    return notes
