"""The gate's result as SARIF 2.1.0, for code-scanning views."""

from __future__ import annotations

from typing import Any

from evalkit import __version__
from evalkit.gating.outputs.text import WORDS
from evalkit.gating.verdict import GateResult, RuleResult, Verdict
from evalkit.store import sha256_json, to_plain

SCHEMA_URI = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Verdict.FAIL: "error", Verdict.NOT_COMPARABLE: "error", Verdict.INCONCLUSIVE: "warning"}
_RULES = {
    "validity": "The run is whole and may be compared with the baseline.",
    "accuracy": "Scores are not worse than the baseline by more than the margin.",
    "speed": "Figures of speed are not worse than the baseline by more than the margin.",
}


def sarif_log(result: GateResult, config_uri: str) -> dict[str, Any]:
    """A SARIF log with one result for each rule that did not pass, placed at the file with the rules."""
    stages = list(_RULES)
    return {
        "$schema": SCHEMA_URI,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "evalkit gate",
                        "version": __version__,
                        "rules": [
                            {"id": stage, "name": stage, "shortDescription": {"text": text}}
                            for stage, text in _RULES.items()
                        ],
                    }
                },
                "results": [
                    _result(rule, stages.index(rule.stage), config_uri)
                    for rule in result.rules
                    if rule.verdict is not Verdict.PASS
                ],
                "invocations": [{"executionSuccessful": True, "exitCode": result.exit_code}],
                "properties": {"verdict": str(result.verdict)},
            }
        ],
    }


def _result(rule: RuleResult, rule_index: int, config_uri: str) -> dict[str, Any]:
    return {
        "ruleId": rule.stage,
        "ruleIndex": rule_index,
        "level": _LEVELS[rule.verdict],
        "message": {"text": f"{WORDS[rule.verdict]} {rule.rule}: {rule.message}"},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": config_uri}, "region": {"startLine": 1}}}],
        "partialFingerprints": {"evalkitRule/v1": sha256_json([rule.stage, rule.rule])},
        "properties": {key: value for key, value in to_plain(rule).items() if key not in ("stage", "message")},
    }
