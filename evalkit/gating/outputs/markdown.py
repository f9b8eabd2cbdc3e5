"""The gate's result as Markdown: a pull-request comment or a step summary."""

from __future__ import annotations

import re

from evalkit.gating.outputs.text import WORDS, change, counts, headline, margin, number, writable
from evalkit.gating.verdict import GateResult, RuleResult, Verdict

MARKER = "<!-- evalkit gate -->"
"""First line of the text, by which a bot finds its comment to replace it."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~])")


def markdown(result: GateResult) -> str:
    """A table of all rules, and for those that did not pass their message and the pages that moved most."""
    lines = [
        MARKER,
        f"### {_plain(headline(result))}",
        "",
        _plain(counts(result)),
        "",
        "| rule | verdict | baseline | value | change [interval] | margin |",
        "|---|---|---:|---:|---|---:|",
        *(_row(rule) for rule in result.rules),
    ]
    for rule in result.rules:
        if rule.verdict is not Verdict.PASS:
            lines += ["", *_explained(rule)]
    if result.notes:
        lines += ["", *(f"- {_plain(note)}" for note in result.notes)]
    return writable("\n".join(lines) + "\n")


def _row(rule: RuleResult) -> str:
    value = number(rule.value) + (f" {rule.unit}" if rule.unit and rule.value is not None else "")
    cells = [rule.rule, WORDS[rule.verdict], number(rule.baseline), value, change(rule), margin(rule)]
    if rule.provenance:
        cells[3] += f" ({rule.provenance})"
    if rule.verdict is not Verdict.PASS:
        cells[1] = f"**{cells[1]}**"
    return "| " + " | ".join([_plain(cells[0]), cells[1], *map(_plain, cells[2:])]) + " |"


def _explained(rule: RuleResult) -> list[str]:
    text = f"**{WORDS[rule.verdict]} {_plain(rule.rule)}**: {_plain(rule.message)}"
    if not rule.pages:
        return [text]
    return [
        text,
        "",
        "| page | baseline | value | share of the change |",
        "|---|---:|---:|---:|",
        *(
            f"| {_code(page.page_id)} | {number(page.baseline)} | {number(page.candidate)} | {page.share:+.4g} |"
            for page in rule.pages
        ),
    ]


def _plain(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no HTML, no mention, one line."""
    shown = _SPECIAL.sub(r"\\\1", " ".join(text.split()))
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")


def _code(text: str) -> str:
    """A name as a code span in a table cell."""
    return "`" + " ".join(text.split()).replace("`", "'").replace("|", "\\|") + "`"
