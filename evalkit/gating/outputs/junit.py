"""The gate's result as JUnit XML: a suite a stage, a case a rule."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from evalkit.gating.outputs.text import WORDS, change, margin, number, values
from evalkit.gating.verdict import STAGES, GateResult, RuleResult, Verdict

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ELEMENTS = {Verdict.FAIL: "failure", Verdict.NOT_COMPARABLE: "error", Verdict.INCONCLUSIVE: "skipped"}


def junit_xml(result: GateResult) -> str:
    """A JUnit document. FAIL is a failure, NOT_COMPARABLE an error, INCONCLUSIVE skipped, unless it fails the gate."""
    root = ElementTree.Element("testsuites", _totals(result.rules, result) | {"name": "evalkit gate"})
    for stage in STAGES:
        rules = tuple(rule for rule in result.rules if rule.stage == stage)
        if rules:
            suite = ElementTree.SubElement(root, "testsuite", {"name": stage} | _totals(rules, result))
            for rule in rules:
                _case(suite, rule, result)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, rule: RuleResult, result: GateResult) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", {"name": _legal(rule.rule), "classname": f"gate.{rule.stage}", "time": "0"}
    )
    kind = _element(rule, result)
    if kind is not None:
        found = ElementTree.SubElement(case, kind, {"message": _legal(rule.message)})
        if kind != "skipped":
            found.set("type", rule.verdict)
        found.text = _legal(_details(rule))
    else:
        ElementTree.SubElement(case, "system-out").text = _legal(f"{rule.message}\n{_details(rule)}")


def _element(rule: RuleResult, result: GateResult) -> str | None:
    if rule.verdict is Verdict.INCONCLUSIVE and result.exit_code == 1:
        return "failure"
    return _ELEMENTS.get(rule.verdict)


def _totals(rules: tuple[RuleResult, ...], result: GateResult) -> dict[str, str]:
    kinds = [_element(rule, result) for rule in rules]
    return {
        "tests": str(len(rules)),
        "failures": str(kinds.count("failure")),
        "errors": str(kinds.count("error")),
        "skipped": str(kinds.count("skipped")),
        "time": "0",
    }


def _details(rule: RuleResult) -> str:
    lines = [
        f"verdict: {WORDS[rule.verdict]}",
        f"value: {number(rule.value)} {rule.unit}".rstrip(),
        f"baseline: {number(rule.baseline)}",
        f"change: {change(rule)}",
        f"margin: {margin(rule)}",
        *(f"page {page.page_id}: {page.share:+.4g} {values(page)}".rstrip() for page in rule.pages),
    ]
    return "\n".join(lines)


def _legal(text: str) -> str:
    """Text without the characters that XML 1.0 cannot hold."""
    return _ILLEGAL.sub("\ufffd", text)
