"""Numbers and words that all outputs of the gate share."""

from __future__ import annotations

from evalkit.columns import aligned
from evalkit.gating.verdict import GateResult, PageMove, RuleResult, Verdict

WORDS = {
    Verdict.PASS: "PASS",
    Verdict.FAIL: "FAIL",
    Verdict.INCONCLUSIVE: "INCONCLUSIVE",
    Verdict.NOT_COMPARABLE: "NOT COMPARABLE",
}
HEADINGS = {
    Verdict.PASS: "no regression",
    Verdict.FAIL: "regression",
    Verdict.INCONCLUSIVE: "cannot tell",
    Verdict.NOT_COMPARABLE: "incomplete or not comparable",
}


def headline(result: GateResult) -> str:
    """One line: the verdict and what it is of."""
    candidate, baseline = result.candidate["run_id"], result.baseline["run_id"]
    return f"{WORDS[result.verdict]} ({HEADINGS[result.verdict]}): {candidate} against baseline {baseline}"


def number(value: float | None) -> str:
    """A value as shown; - for absent."""
    return "-" if value is None else f"{value:.5g}"


def change(rule: RuleResult) -> str:
    """The difference with its interval: of scores in their unit, of speed in percent."""
    if rule.difference is None:
        return "-"
    if rule.stage == "speed":
        text = f"{rule.difference:+.2%}"
        return text if rule.interval is None else f"{text} [{rule.interval[0]:+.2%}, {rule.interval[1]:+.2%}]"
    text = f"{rule.difference:+.4g}"
    return text if rule.interval is None else f"{text} [{rule.interval[0]:+.4g}, {rule.interval[1]:+.4g}]"


def margin(rule: RuleResult) -> str:
    """The margin as shown; - without one."""
    if rule.margin is None:
        return "-"
    return f"{rule.margin:.2%}" if rule.stage == "speed" else f"{rule.margin:.4g}"


def values(page: PageMove) -> str:
    """A page's value before and after; empty where a figure has none for single pages, as overall has not."""
    if page.baseline is None and page.candidate is None:
        return ""
    return f"{number(page.baseline)} -> {number(page.candidate)}"


def counts(result: GateResult) -> str:
    """How many rules have each verdict."""
    found = {verdict: sum(rule.verdict is verdict for rule in result.rules) for verdict in Verdict}
    return ", ".join(f"{count} {WORDS[verdict].lower()}" for verdict, count in found.items() if count)


def writable(text: str) -> str:
    """Text without lone surrogates, which names may hold and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")


def table(result: GateResult) -> str:
    """All rules as aligned columns for a terminal."""
    head = ("stage", "rule", "verdict", "baseline", "value", "change [interval]", "margin")
    lines = aligned([head, *(_cells(rule) for rule in result.rules)])
    for rule in result.rules:
        if rule.verdict is not Verdict.PASS:
            lines += ["", f"{WORDS[rule.verdict]} {rule.rule}: {rule.message}", *_moved(rule)]
    notes = [f"note: {note}" for note in result.notes]
    return writable("\n".join([headline(result), counts(result), "", *lines, *([""] if notes else []), *notes]))


def _cells(rule: RuleResult) -> tuple[str, ...]:
    value = number(rule.value) + (f" {rule.unit}" if rule.unit and rule.value is not None else "")
    if rule.provenance:
        value += f" ({rule.provenance})"
    return rule.stage, rule.rule, WORDS[rule.verdict], number(rule.baseline), value, change(rule), margin(rule)


def _moved(rule: RuleResult) -> list[str]:
    if not rule.pages:
        return []
    width = max(len(page.page_id) for page in rule.pages)
    return [
        "  pages that moved most (share of the change, below 0 is worse):",
        *(f"    {page.share:<+11.4g} {page.page_id:<{width}}  {values(page)}".rstrip() for page in rule.pages),
    ]
