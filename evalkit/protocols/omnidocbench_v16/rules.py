"""The protocol's rules, collected as they are defined, so that the protocol's page can list them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

STAGES = ("extract", "normalize", "assemble", "match", "score", "aggregate")

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Rule:
    """One behaviour of the protocol.

    `example` is `<input> -> <output>`; when both sides are Python literals a test runs it.
    `quirk` is what the docstring says after `Quirk:`, None for a rule that a reader would expect.
    """

    name: str
    stage: str
    order: float
    summary: str
    source: str | None
    quirk: str | None
    example: str
    function: Callable[..., Any]


_RULES: dict[tuple[str, str], Rule] = {}


def rule(*, stage: str, order: float, example: str = "") -> Callable[[F], F]:
    """Register a function as a rule; `order` is its place among the stage's rules."""
    if stage not in STAGES:
        raise ValueError(f"unknown stage {stage!r}; known: {', '.join(STAGES)}")

    def register(function: F) -> F:
        doc = inspect.getdoc(function) or ""
        _RULES[function.__module__, function.__qualname__] = Rule(
            name=function.__name__,
            stage=stage,
            order=order,
            summary=_summary(doc),
            source=_section(doc, "Source:"),
            quirk=_section(doc, "Quirk:"),
            example=example,
            function=function,
        )
        return function

    return register


def all_rules() -> list[Rule]:
    """Every registered rule in the order in which a page meets them. Import the protocol's modules first."""
    return sorted(_RULES.values(), key=lambda found: (STAGES.index(found.stage), found.order, found.name))


def _summary(doc: str) -> str:
    return " ".join(doc.split("\n\n")[0].split())


def _section(doc: str, label: str) -> str | None:
    """The paragraph that begins with the label, as one line without the label."""
    _, found, rest = doc.partition(label)
    if not found:
        return None
    lines: list[str] = []
    for line in rest.splitlines():
        if not line.strip() or line.strip().startswith(("Source:", "Quirk:")):
            break
        lines.append(line.strip())
    return " ".join(lines) or None
