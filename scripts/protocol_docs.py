"""Writes docs/protocol-v16.md from the rules that the protocol's modules register.

example: python scripts/protocol_docs.py
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from evalkit.protocols.omnidocbench_v16 import protocol
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.rules import Rule, all_rules

TARGET = Path(__file__).parents[1] / "docs" / "protocol-v16.md"
STAGES = {
    "extract": "Reading the prediction",
    "normalize": "Normalising text, formulas and tables",
    "assemble": "Putting the page together",
    "match": "Matching",
    "score": "Scoring a pair",
    "aggregate": "Summing up",
}
HEAD = """\
# Protocol {name}

Every rule of the protocol in the order in which a page meets it, made from the code by `scripts/protocol_docs.py`.
The protocol gives the numbers of the official OmniDocBench evaluator (v1.6, commit 9dc1dec). A *quirk* is a behaviour
that is kept for that alone: a reader would have expected something else. `evalkit selfcheck` shows which quirks cost a
data set's own truth, `evalkit parity` compares with a checkout of the official evaluator.

The official commit has data sets for one task only, pages end to end; its README names markdown against markdown and
single tasks (text, table, formula recognition), for which it holds no code that runs. Pairs of such sets go through the
same normalisers and metrics with `evalkit score text_edit|formula_edit|formula_cdm|table_teds … --normalize`.

{count} rules, {quirks} of them with a quirk.
"""
NUMBERS = """\
## Numbers

All thresholds stand in one record, `evalkit/protocols/omnidocbench_v16/policy.py`.

| section | name | value |
|---|---|---|
"""


def page() -> str:
    """The whole document."""
    protocol.PROTOCOL.get_ready()
    rules = [rule for rule in all_rules() if rule.function.__module__.startswith("evalkit.")]
    head = HEAD.format(
        name=protocol.PROTOCOL.name, count=len(rules), quirks=sum(rule.quirk is not None for rule in rules)
    )
    parts = [head]
    for stage, found in groupby(rules, key=lambda rule: rule.stage):
        parts.append(f"## {STAGES[stage]}\n")
        parts += map(_entry, found)
    return "\n".join([*parts, NUMBERS + "".join(_numbers(POLICY))])


def _entry(rule: Rule) -> str:
    lines = [f"### {rule.name}\n", f"{rule.summary}\n"]
    if rule.example:
        lines.append(f"    {rule.example}\n")
    if rule.quirk:
        lines.append(f"*Quirk:* {rule.quirk}\n")
    if rule.source:
        lines.append(f"Source: {rule.source}\n")
    return "\n".join(lines)


def _numbers(record: Any, section: str = "") -> list[str]:
    rows = []
    for item in fields(record):
        value = getattr(record, item.name)
        rows += _numbers(value, item.name) if is_dataclass(value) else [f"| {section} | {item.name} | {value} |\n"]
    return rows


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
