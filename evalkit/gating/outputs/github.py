"""Workflow commands that GitHub shows as annotations of a run."""

from __future__ import annotations

from evalkit.gating.outputs.text import WORDS, writable
from evalkit.gating.verdict import GateResult, Verdict

_COMMANDS = {Verdict.FAIL: "error", Verdict.NOT_COMPARABLE: "error", Verdict.INCONCLUSIVE: "warning"}
MAX_ANNOTATIONS = 10
"""GitHub shows ten annotations of each kind in a step."""


def workflow_commands(result: GateResult) -> list[str]:
    """One line for each rule that did not pass, at most MAX_ANNOTATIONS, heaviest first."""
    found = [rule for rule in result.rules if rule.verdict is not Verdict.PASS]
    found.sort(key=lambda rule: _COMMANDS[rule.verdict])
    return [
        f"::{_COMMANDS[rule.verdict]} title={_property(f'{WORDS[rule.verdict]} {rule.rule}')}::{_data(rule.message)}"
        for rule in found[:MAX_ANNOTATIONS]
    ]


def _data(text: str) -> str:
    return writable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
