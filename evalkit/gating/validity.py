"""Before scores are compared: may the two sides be compared at all, and is the candidate a whole run?"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from evalkit.gating.config import ValidityRules
from evalkit.gating.verdict import RuleResult, Verdict
from evalkit.signature import differing_parts
from evalkit.snapshot import Snapshot
from evalkit.statistics import wilson_interval

STAGE = "validity"
MISSING_STATES = ("missing", "unreadable", "oversized", "failed", "crashed")
_SHOWN_PAGES = 5


def judge_validity(baseline: Snapshot, candidate: Snapshot, rules: ValidityRules) -> list[RuleResult]:
    """Comparability first, then what the run itself must hold."""
    return [
        _comparable(baseline, candidate, rules.allow_differences),
        *_coverage(candidate, rules.least_coverage),
        *_truncation(baseline, candidate, rules.greatest_truncation_rate),
        *(_required(candidate, name) for name in rules.required_checks),
        *_unbroken(candidate),
    ]


def incomparabilities(baseline: Snapshot, candidate: Snapshot, allowed: Collection[str] = ()) -> list[str]:
    """Why two sides must not be compared, one text a reason; [] when they may be."""
    reasons = []
    if baseline.emulated != candidate.emulated and "emulated" not in allowed:
        kinds = ["emulated" if side.emulated else "measured" for side in (baseline, candidate)]
        reasons.append(f"baseline is {kinds[0]}, candidate is {kinds[1]} (emulated)")
    shas = [str(side.dataset.get("sha256") or "") for side in (baseline, candidate)]
    short = min(map(len, shas))
    if short and shas[0][:short] != shas[1][:short] and "data" not in allowed:
        names = [
            f"{side.dataset.get('name')}@{sha[:12]}" for side, sha in zip((baseline, candidate), shas, strict=True)
        ]
        reasons.append(f"data: {names[0]} != {names[1]}")
    if baseline.signature and candidate.signature:
        reasons += [
            part
            for part in differing_parts(baseline.signature, candidate.signature)
            if (key := part.partition(":")[0]) not in allowed and key != "data"
        ]
    return [*reasons, *_other_pages(baseline, candidate)]


def _other_pages(baseline: Snapshot, candidate: Snapshot) -> list[str]:
    if not baseline.pages or not candidate.pages:
        return []
    before, after = ({page.page_id for page in side.pages} for side in (baseline, candidate))
    reasons = []
    for lacking, pages in (("candidate", before - after), ("baseline", after - before)):
        if pages:
            shown = ", ".join(sorted(pages)[:_SHOWN_PAGES])
            reasons.append(f"{len(pages)} pages are not in the {lacking}: {shown}")
    return reasons


def _comparable(baseline: Snapshot, candidate: Snapshot, allowed: Sequence[str]) -> RuleResult:
    reasons = incomparabilities(baseline, candidate, allowed)
    if not reasons:
        return RuleResult(STAGE, "comparable", Verdict.PASS, "same data, protocol, options and kind of run")
    message = "; ".join(reasons) + ". Allow a difference with --allow-difference NAME where it is meant"
    return RuleResult(STAGE, "comparable", Verdict.NOT_COMPARABLE, message)


def _coverage(candidate: Snapshot, least: float) -> list[RuleResult]:
    if not candidate.pages:
        return []
    missing = [page.page_id for page in candidate.pages if page.state in MISSING_STATES]
    coverage = 1 - len(missing) / len(candidate.pages)
    message = f"{len(candidate.pages) - len(missing)} of {len(candidate.pages)} pages have a prediction"
    if missing:
        message += f"; without: {', '.join(missing[:_SHOWN_PAGES])}"
    verdict = Verdict.PASS if coverage >= least else Verdict.NOT_COMPARABLE
    return [RuleResult(STAGE, "coverage", verdict, f"{message}; at least {least:.2%} asked for", value=coverage)]


def _truncation(baseline: Snapshot, candidate: Snapshot, greatest: float | None) -> list[RuleResult]:
    if greatest is None:
        return []
    rate, interval = _truncation_rate(candidate.finished_states)
    if rate is None:
        message = "no requests are recorded, so that truncation is not known"
        return [RuleResult(STAGE, "truncation_rate", Verdict.NOT_COMPARABLE, message)]
    before, _ = _truncation_rate(baseline.finished_states)
    shown = f" (95 % interval {interval[0]:.2%} to {interval[1]:.2%})" if interval else ""
    return [
        RuleResult(
            STAGE,
            "truncation_rate",
            Verdict.PASS if rate <= greatest else Verdict.FAIL,
            f"{rate:.2%} of the answers are truncated{shown}; at most {greatest:.2%} allowed",
            value=rate,
            baseline=before,
            difference=None if before is None else rate - before,
        )
    ]


def _truncation_rate(states: Mapping[str, int]) -> tuple[float | None, tuple[float, float] | None]:
    total = sum(states.values())
    if total == 0:
        return None, None
    truncated = states.get("truncated", 0)
    return truncated / total, wilson_interval(truncated, total)


def _required(candidate: Snapshot, name: str) -> RuleResult:
    found = [run.checks.get(name) for run in candidate.speed]
    rule = f"check {name}"
    if not found or None in found:
        return RuleResult(STAGE, rule, Verdict.NOT_COMPARABLE, "the candidate does not have this check's result")
    if all(found):
        return RuleResult(STAGE, rule, Verdict.PASS, f"passed in {len(found)} runs")
    return RuleResult(STAGE, rule, Verdict.FAIL, f"failed in {found.count(False)} of {len(found)} runs")


def _unbroken(candidate: Snapshot) -> list[RuleResult]:
    if not candidate.speed:
        return []
    broken = {run.run_id: run.broken_rules for run in candidate.speed if run.broken_rules}
    if not broken:
        return [RuleResult(STAGE, "speed_runs_valid", Verdict.PASS, f"{len(candidate.speed)} speed runs are valid")]
    message = "; ".join(f"{run}: {', '.join(rules)}" for run, rules in broken.items())
    return [
        RuleResult(STAGE, "speed_runs_valid", Verdict.NOT_COMPARABLE, f"rules of measurement are broken: {message}")
    ]
