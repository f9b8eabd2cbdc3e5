"""Rules on figures of speed: repeated runs by Welch on log ratios, deterministic figures by their values."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evalkit.errors import UserError, unknown_name
from evalkit.gating.config import SpeedRule
from evalkit.gating.verdict import RuleResult, Verdict, heaviest
from evalkit.snapshot import Snapshot, SpeedFigure
from evalkit.statistics import Interval, Ratio, known_noise_ratio, welch_ratio
from evalkit.types import Provenance

STAGE = "speed"
EXACT_TOLERANCE = 1e-9
DETERMINISTIC = (Provenance.EMULATED, Provenance.SIMULATED)
HIGHER_UNITS = ("pages/s", "tokens/s", "characters/s", "tokens/step")
LOWER_UNITS = ("s", "steps", "tokens", "J/page", "J/1k tokens")
Group = tuple[str, str] | None
HIGHER_FIGURES = ("acceptance_rate", "step_reduction", "step_speedup", "full_load_share")


def judge_speed(baseline: Snapshot, candidate: Snapshot, rules: Sequence[SpeedRule], level: float) -> list[RuleResult]:
    """A result for each rule, and for each group of a rule with `by`, whose intervals are widened for their number."""
    results = []
    for rule in rules:
        groups = _groups(baseline, candidate, rule)
        each = 1 - (1 - level) / len(groups) if groups else level
        results += [_judged(baseline, candidate, rule, group, each) for group in groups]
    return results


def _groups(baseline: Snapshot, candidate: Snapshot, rule: SpeedRule) -> list[Group]:
    """The groups that a rule is on: (attribute, value), or None for all pages."""
    attribute = rule.by or next(iter(rule.where), None)
    if attribute is None:
        return [None]
    tables = [run.groups.get(attribute, {}) for side in (baseline, candidate) for run in side.speed]
    if not any(tables):
        known = {name for side in (baseline, candidate) for run in side.speed for name in run.groups}
        raise unknown_name("page attribute in a rule", attribute, known)
    values = list(dict.fromkeys(value for table in tables for value in table))
    if rule.by is not None:
        return [(attribute, value) for value in values]
    if rule.where[attribute] not in values:
        raise unknown_name(f"value of {attribute} in a rule", rule.where[attribute], values)
    return [(attribute, rule.where[attribute])]


def higher_is_better(rule: SpeedRule, unit: str) -> bool:
    """The direction of a figure: as the rule says, else by its name or unit. Raises UserError where neither tells."""
    if rule.better is not None:
        return rule.better == "higher"
    if unit in HIGHER_UNITS or rule.figure in HIGHER_FIGURES:
        return True
    if unit in LOWER_UNITS:
        return False
    raise UserError(f'rule on {rule.figure}: its unit {unit!r} does not say what is better; give better = "higher"')


def _judged(baseline: Snapshot, candidate: Snapshot, rule: SpeedRule, group: Group, level: float) -> RuleResult:
    name = rule.figure if group is None else f"{rule.figure} [{group[0]}={group[1]}]"
    sides = [_figures(side, rule.figure, group) for side in (baseline, candidate)]
    lacking = _lacking(sides, (baseline, candidate))
    if lacking is not None:
        return RuleResult(STAGE, name, _verdict_without_value(sides, group), lacking)
    before, after = ([figure.value or 0.0 for figure in figures] for figures in sides)
    sample = sides[1][0]
    better = higher_is_better(rule, sample.unit)
    deterministic = sample.provenance in DETERMINISTIC
    ratio = _ratio(before, after, rule, level, deterministic)
    value, baseline_value = _geometric_mean(after), _geometric_mean(before)
    verdicts = [
        *_limits(rule, value, baseline_value, better),
        *_exact(rule, before, after),
        *([] if rule.relative_margin is None else [_within(ratio, rule.relative_margin, better)]),
    ]
    change = value / baseline_value - 1 if baseline_value else None
    return RuleResult(
        stage=STAGE,
        rule=name,
        verdict=heaviest([verdict for verdict, _ in verdicts]),
        message="; ".join(text for _, text in verdicts),
        value=value,
        baseline=baseline_value,
        difference=change,
        interval=(ratio.interval.low - 1, ratio.interval.high - 1) if ratio else None,
        margin=rule.relative_margin,
        unit=sample.unit,
        provenance=sample.provenance,
    )


def _figures(side: Snapshot, name: str, group: Group) -> list[SpeedFigure]:
    """The figure of every repeat that has it."""
    tables = [run.figures if group is None else run.groups.get(group[0], {}).get(group[1], {}) for run in side.speed]
    known = sorted({figure for table in tables for figure in table})
    if known and name not in known:
        raise unknown_name("figure in a rule", name, known)
    return [table[name] for table in tables if name in table]


def _lacking(sides: Sequence[Sequence[SpeedFigure]], owners: Sequence[Snapshot]) -> str | None:
    """Why a figure cannot be compared; None when it can."""
    for figures, owner in zip(sides, owners, strict=True):
        if not figures:
            return f"{owner.origin} holds no speed run with this figure"
        absent = next((figure for figure in figures if figure.value is None), None)
        if absent is not None:
            return f"{owner.origin} has no value: {absent.reason or 'not measured'}"
    kinds = [sorted({figure.provenance for figure in figures}) for figures in sides]
    if kinds[0] != kinds[1] or len(kinds[0]) > 1:
        return f"provenance differs: {', '.join(kinds[0])} against {', '.join(kinds[1])}"
    return None


def _verdict_without_value(sides: Sequence[Sequence[SpeedFigure]], group: Group) -> Verdict:
    """Pages may leave a group, such as a length bucket, from run to run; a figure of all pages must be there."""
    if group is None:
        return Verdict.NOT_COMPARABLE
    valued = [any(figure.value is not None for figure in figures) for figures in sides]
    return Verdict.INCONCLUSIVE if any(valued) else Verdict.PASS


def _geometric_mean(values: Sequence[float]) -> float:
    if len(values) == 1 or min(values) <= 0:
        return math.fsum(values) / len(values)
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def _ratio(
    before: Sequence[float], after: Sequence[float], rule: SpeedRule, level: float, deterministic: bool
) -> Ratio | None:
    """The ratio with its interval; None where single measured runs give none, or values are not above 0."""
    if min(*before, *after) <= 0:
        return None
    repeated = welch_ratio(before, after, level)
    if repeated is not None:
        return repeated
    if deterministic:
        value = _geometric_mean(after) / _geometric_mean(before)
        return Ratio(value, Interval(value, value), math.inf)
    return known_noise_ratio(before, after, rule.noise, level) if rule.noise is not None else None


def _limits(rule: SpeedRule, value: float, baseline_value: float, better: bool) -> list[tuple[Verdict, str]]:
    found = []
    if rule.greatest_drop is not None:
        change = value - baseline_value if better else baseline_value - value
        loss = max(-change / baseline_value, 0.0) if baseline_value else 0.0
        verdict = Verdict.PASS if loss <= rule.greatest_drop else Verdict.FAIL
        found.append((verdict, f"worse by {loss:.2%}, at most {rule.greatest_drop:.2%}"))
    if rule.floor is not None:
        verdict = Verdict.PASS if value >= rule.floor else Verdict.FAIL
        found.append((verdict, f"{value:.6g} against a floor of {rule.floor:g}"))
    if rule.ceiling is not None:
        verdict = Verdict.PASS if value <= rule.ceiling else Verdict.FAIL
        found.append((verdict, f"{value:.6g} against a ceiling of {rule.ceiling:g}"))
    return found


def _exact(rule: SpeedRule, before: Sequence[float], after: Sequence[float]) -> list[tuple[Verdict, str]]:
    if not rule.exact:
        return []
    reference = before[0]
    other = [value for value in (*before, *after) if not math.isclose(value, reference, rel_tol=EXACT_TOLERANCE)]
    if not other:
        return [(Verdict.PASS, "equal")]
    return [(Verdict.FAIL, f"{other[0]!r} is not {reference!r}")]


def _within(ratio: Ratio | None, margin: float, better: bool) -> tuple[Verdict, str]:
    if ratio is None:
        need = "two or more repeated runs on each side, or the noise of a run in the rule, are needed for an interval"
        return Verdict.INCONCLUSIVE, need
    low, high = ratio.interval if better else (1 / ratio.interval.high, 1 / ratio.interval.low)
    if high < 1 - margin:
        return Verdict.FAIL, f"worse by more than {margin:.2%}: the interval lies wholly beyond it"
    if low >= 1 - margin:
        return Verdict.PASS, f"not worse by more than {margin:.2%}"
    return Verdict.INCONCLUSIVE, f"the interval holds the margin {margin:.2%}: more repeated runs are needed to tell"
