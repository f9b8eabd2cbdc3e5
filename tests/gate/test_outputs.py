"""Outputs of the gate: each against its schema, with names that try to break out of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from lxml import etree

from evalkit.gating.outputs.github import MAX_ANNOTATIONS, workflow_commands
from evalkit.gating.outputs.junit import junit_xml
from evalkit.gating.outputs.markdown import MARKER, markdown
from evalkit.gating.outputs.sarif import sarif_log
from evalkit.gating.outputs.text import table
from evalkit.gating.verdict import GateResult, PageMove, RuleResult, Verdict, heaviest
from evalkit.store import to_plain

SCHEMAS = Path(__file__).parents[1] / "data" / "schemas"
HOSTILE = "a\"'<b>&|`@all\n::error::x%0A]]>\x00\x1b\ud800🙂.png"
SIDE: dict[str, Any] = {
    "run_id": "after",
    "origin": "runs/after",
    "system": None,
    "dataset": "mini",
    "pages": 28,
    "emulated": False,
    "signature": None,
    "speed_runs": 0,
}


def result_with(*rules: RuleResult, inconclusive_fails: bool = False, notes: tuple[str, ...] = ()) -> GateResult:
    verdict = heaviest([rule.verdict for rule in rules])
    code = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.NOT_COMPARABLE: 3, Verdict.INCONCLUSIVE: 4}[verdict]
    return GateResult(
        verdict, 1 if inconclusive_fails else code, {**SIDE, "run_id": "before"}, SIDE, rules, notes, {"level": 0.95}
    )


PASSED = RuleResult("validity", "coverage", Verdict.PASS, "28 of 28 pages", value=1.0)
FAILED = RuleResult(
    "accuracy",
    f"text_edit [page={HOSTILE}]",
    Verdict.FAIL,
    f"worse on {HOSTILE}",
    value=0.2,
    baseline=0.1,
    difference=0.1,
    interval=(0.05, 0.15),
    margin=0.01,
    pages=(PageMove(HOSTILE, 0.1, None, -0.1),),
)
OPEN = RuleResult(
    "speed", "pps", Verdict.INCONCLUSIVE, "more runs", 9.0, 10.0, -0.1, (-0.2, 0.1), 0.05, "pages/s", "measured"
)
LACKING = RuleResult("speed", "tps", Verdict.NOT_COMPARABLE, "no value")

RESULTS = {
    "passed": result_with(PASSED),
    "failed": result_with(PASSED, FAILED),
    "all": result_with(PASSED, FAILED, OPEN, LACKING, notes=(f"note {HOSTILE}",)),
    "inconclusive": result_with(PASSED, OPEN),
    "inconclusive fails": result_with(PASSED, OPEN, inconclusive_fails=True),
    "nothing": result_with(),
}
every = pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS.keys())


@every
def test_junit_follows_its_schema(result: GateResult) -> None:
    schema = etree.XMLSchema(etree.parse(SCHEMAS / "junit.xsd"))
    document = etree.fromstring(junit_xml(result).encode())
    schema.assertValid(document)
    assert int(document.get("tests", "")) == len(result.rules) == len(document.findall(".//testcase"))
    for total, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(document.get(total, "")) == len(document.findall(f".//{kind}"))


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("all", ["failure", "error", "skipped"]),
        ("inconclusive", ["skipped"]),
        ("inconclusive fails", ["failure"]),
        ("passed", []),
    ],
)
def test_junit_maps_verdicts(name: str, kinds: list[str]) -> None:
    document = etree.fromstring(junit_xml(RESULTS[name]).encode())
    found = {child.tag for case in document.iter("testcase") for child in case} - {"system-out"}
    assert found == set(kinds)


@every
def test_sarif_follows_its_schema(result: GateResult) -> None:
    schema = json.loads((SCHEMAS / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))
    log = json.loads(json.dumps(sarif_log(result, "ci/gates.toml")))
    jsonschema.Draft4Validator(schema).validate(log)
    (run,) = log["runs"]
    assert len(run["results"]) == sum(rule.verdict is not Verdict.PASS for rule in result.rules)
    for found in run["results"]:
        assert run["tool"]["driver"]["rules"][found["ruleIndex"]]["id"] == found["ruleId"]


@every
def test_the_verdict_file_follows_its_schema(result: GateResult) -> None:
    schema = json.loads((SCHEMAS / "verdict.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    plain = {"schema": "evalkit.verdict", "version": 1, "result": to_plain(result)}
    jsonschema.Draft202012Validator(schema).validate(json.loads(json.dumps(plain)))


COMMAND = re.compile(r"::(error|warning) title=[^\r\n:,]+::[^\r\n]+")


@every
def test_workflow_commands_are_one_line_each(result: GateResult) -> None:
    lines = workflow_commands(result)
    assert len(lines) == sum(rule.verdict is not Verdict.PASS for rule in result.rules)
    assert all(COMMAND.fullmatch(line) for line in lines)


def test_no_more_annotations_than_are_shown_and_errors_first() -> None:
    lines = workflow_commands(result_with(OPEN, *[FAILED] * 20))
    assert len(lines) == MAX_ANNOTATIONS
    assert all(line.startswith("::error") for line in lines)


@every
def test_markdown_holds_no_markup_of_names(result: GateResult) -> None:
    text = markdown(result)
    assert text.startswith(MARKER)
    rest = text.removeprefix(MARKER)
    assert "<" not in re.sub(r"`[^`\n]*`", "", rest)
    assert "@all" not in re.sub(r"`[^`\n]*`", "", rest)
    rows = [line for line in rest.splitlines() if line.startswith("| ")]
    columns = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
    assert columns <= {7, 5}


@every
def test_text_can_be_written(result: GateResult) -> None:
    for text in (table(result), markdown(result), junit_xml(result), *workflow_commands(result)):
        text.encode("utf-8")


def test_the_table_shows_what_a_reader_needs() -> None:
    text = table(RESULTS["all"])
    assert text.startswith("NOT COMPARABLE (incomplete or not comparable): after against baseline before")
    assert "1 pass, 1 fail, 1 inconclusive, 1 not comparable" in text
    assert "+0.1 [+0.05, +0.15]" in text
    assert "-10.00% [-20.00%, +10.00%]" in text
    assert "9 pages/s (measured)" in text
    assert "0.1 -> -" in text
