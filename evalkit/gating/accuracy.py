"""Rules on scores: is the candidate worse than the baseline by more than the margin, beyond what pages vary by?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from evalkit.errors import unknown_name
from evalkit.gating.config import AccuracyRule, StatisticsSettings
from evalkit.gating.page_table import Means, PageTable, Selection
from evalkit.gating.verdict import RuleResult, Verdict, heaviest
from evalkit.snapshot import OVERALL, Snapshot
from evalkit.statistics import Interval, bootstrap_interval, holm, share_at_least

STAGE = "accuracy"
SHOWN_PAGES = 5
EXACT_TOLERANCE = 1e-9
LEAST_PAGES = 5
"""Under so many pages resampling them says nothing about others; only equal scores are then judged by a margin."""

Direction = Callable[[str], bool]
"""Whether higher is better, by metric name."""


def judge_accuracy(
    baseline: Snapshot,
    candidate: Snapshot,
    rules: Sequence[AccuracyRule],
    settings: StatisticsSettings,
    higher_is_better: Direction,
) -> list[RuleResult]:
    """A result for each rule, and for each group of a rule with `by`. The two sides have the same pages."""
    if not rules:
        return []
    if not baseline.pages or not candidate.pages:
        side = candidate if baseline.pages else baseline
        message = f"{side.origin} holds no page scores"
        return [RuleResult(STAGE, _name(rule), Verdict.NOT_COMPARABLE, message) for rule in rules]
    table = PageTable(baseline, candidate, settings)
    _check_names(rules, table)
    chosen = [(rule, _selections(rule, table)) for rule in rules]
    means = table.bootstrap(list(dict.fromkeys(one for _, selections in chosen for one in selections)))
    results: list[RuleResult] = []
    for rule, selections in chosen:
        better = rule.metric == OVERALL or higher_is_better(rule.metric)
        chances = _chances(rule, [means[one] for one in selections], better)
        results += [
            _judged(rule, one, means[one], table, settings, better, chance)
            for one, chance in zip(selections, chances, strict=True)
        ]
    return results


def _name(rule: AccuracyRule) -> str:
    return rule.metric + (f" by {rule.by}" if rule.by else "")


def _check_names(rules: Sequence[AccuracyRule], table: PageTable) -> None:
    for rule in rules:
        if rule.metric != OVERALL and rule.metric not in table.metrics:
            raise unknown_name("metric in a rule", rule.metric, [OVERALL, *table.metrics])
        for attribute in (rule.by, *rule.where):
            if attribute is not None and attribute not in table.attributes:
                raise unknown_name("page attribute in a rule", attribute, table.attributes)
        for attribute, value in rule.where.items():
            if value not in table.values_of(attribute):
                raise unknown_name(f"value of {attribute} in a rule", value, table.values_of(attribute))


def _selections(rule: AccuracyRule, table: PageTable) -> list[Selection]:
    if rule.by is not None:
        return [Selection(rule.metric, rule.by, value) for value in table.values_of(rule.by)]
    chosen = [Selection(rule.metric, attribute, value) for attribute, value in rule.where.items()]
    return chosen or [Selection(rule.metric)]


def _judged(
    rule: AccuracyRule,
    selection: Selection,
    means: Means,
    table: PageTable,
    settings: StatisticsSettings,
    higher_is_better: bool,
    chance: float | None,
) -> RuleResult:
    before, after = means.estimate
    if math.isnan(before) or math.isnan(after):
        return _without_value(rule, selection, before, after)
    sign = 1 if higher_is_better else -1
    margin = _margin(rule, before)
    interval = difference_interval(means, settings)
    gains = sorted(sign * bound for bound in interval) if interval else None
    verdicts = [
        *_limits(rule, after, sign * (after - before)),
        *_exact(rule, selection, table),
        *([] if margin is None else [_within(gains, means.pages, margin, chance, (1 - settings.level) / 2)]),
    ]
    return RuleResult(
        stage=STAGE,
        rule=str(selection),
        verdict=heaviest([verdict for verdict, _ in verdicts]),
        message="; ".join(text for _, text in verdicts),
        value=after,
        baseline=before,
        difference=after - before,
        interval=interval,
        margin=margin,
        unit="points" if rule.metric == OVERALL else "",
        pages=table.moves(selection, higher_is_better=higher_is_better, count=SHOWN_PAGES),
    )


def _without_value(rule: AccuracyRule, selection: Selection, before: float, after: float) -> RuleResult:
    """A group with nothing to score on either side passes; a side that lacks what the other has is not comparable."""
    both = math.isnan(before) and math.isnan(after)
    if both and rule.by:
        return RuleResult(STAGE, str(selection), Verdict.PASS, "nothing to score in these pages")
    side = "either side" if both else "the baseline" if math.isnan(before) else "the candidate"
    hint = "; it needs text, tables and CDM: `evalkit gate init` writes rules for what was scored"
    return RuleResult(
        STAGE,
        str(selection),
        Verdict.NOT_COMPARABLE,
        f"not scored in {side}" + (hint if rule.metric == OVERALL else ""),
        value=None if math.isnan(after) else after,
        baseline=None if math.isnan(before) else before,
    )


def _margin(rule: AccuracyRule, before: float) -> float | None:
    return rule.margin if rule.relative_margin is None else rule.relative_margin * abs(before)


def difference_interval(means: Means, settings: StatisticsSettings) -> Interval | None:
    """Interval of candidate - baseline; None where too few pages have a value to tell."""
    before, after = means.estimate
    if means.pages < LEAST_PAGES and before != after:
        return None
    drawn_before, drawn_after = means.replicates
    left_out = means.left_out[1] - means.left_out[0] if settings.interval == "bca" else None
    return bootstrap_interval(
        after - before, drawn_after - drawn_before, left_out=left_out, level=settings.level, effective=means.moved
    )


def _limits(rule: AccuracyRule, after: float, gain: float) -> list[tuple[Verdict, str]]:
    """Hard limits on the observed values."""
    found = []
    if rule.floor is not None:
        found.append((_pass(after >= rule.floor), f"{after:.6g} against a floor of {rule.floor:g}"))
    if rule.ceiling is not None:
        found.append((_pass(after <= rule.ceiling), f"{after:.6g} against a ceiling of {rule.ceiling:g}"))
    if rule.greatest_drop is not None:
        found.append(
            (_pass(-gain <= rule.greatest_drop), f"worse by {max(-gain, 0):.6g}, at most {rule.greatest_drop:g}")
        )
    return found


def _exact(rule: AccuracyRule, selection: Selection, table: PageTable) -> list[tuple[Verdict, str]]:
    if not rule.exact:
        return []
    differing = table.differing_pages(selection, EXACT_TOLERANCE)
    if not differing:
        return [(Verdict.PASS, f"equal on all {table.page_count(selection)} pages")]
    return [(Verdict.FAIL, f"differs on {len(differing)} pages: {', '.join(differing[:SHOWN_PAGES])}")]


def _pass(holds: bool) -> Verdict:
    return Verdict.PASS if holds else Verdict.FAIL


def _within(
    gains: Sequence[float] | None, pages: int, margin: float, chance: float | None, greatest_chance: float
) -> tuple[Verdict, str]:
    """FAIL when the interval of the gain lies wholly below -margin, PASS when wholly above.

    `pages` is how many have a value; for Overall, of its rarest part. A group of a family also needs a `chance`
    (Holm's p) that is small enough to fail.
    """
    if gains is None:
        return Verdict.INCONCLUSIVE, f"too few pages for an interval: {pages}, at least {LEAST_PAGES} are needed"
    low, high = gains
    if low >= -margin:
        return Verdict.PASS, f"not worse by more than the margin {margin:.4g}"
    if high >= -margin:
        return Verdict.INCONCLUSIVE, f"the interval holds the margin {margin:.4g}: more pages are needed to tell"
    if chance is not None and chance > greatest_chance:
        return (
            Verdict.INCONCLUSIVE,
            f"worse by more than the margin {margin:.4g}, but over all groups p is {chance:.3f}",
        )
    return Verdict.FAIL, f"worse by more than the margin {margin:.4g}: the interval lies wholly beyond it"


def _chances(rule: AccuracyRule, means: Sequence[Means], higher_is_better: bool) -> list[float | None]:
    """Holm's p of each group of a rule: many groups are many chances of a false alarm. None outside a family."""
    if rule.by is None:
        return [None] * len(means)
    sign = 1 if higher_is_better else -1
    p_values = [
        share_at_least(sign * (one.replicates[1] - one.replicates[0]), -(_margin(rule, one.estimate[0]) or 0.0))
        for one in means
    ]
    return list(holm(p_values))
