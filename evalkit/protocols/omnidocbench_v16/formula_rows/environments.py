"""Multi-line LaTeX environments and where each of them ends."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

NAMES = (
    "array",
    "aligned",
    "align",
    "align*",
    "alignedat",
    "alignedat*",
    "split",
    "gather",
    "gather*",
    "gathered",
    "multline",
    "multline*",
    "flalign",
    "flalign*",
    "eqnarray",
    "eqnarray*",
    "cases",
)
ALIGNED = frozenset({"aligned", "align", "align*", "alignedat", "alignedat*"})
_ANY_NAME = "|".join(re.escape(name) for name in sorted(NAMES, key=len, reverse=True))
_MARK = re.compile(rf"\\(begin|end)\{{({_ANY_NAME})\}}")
_OPENING = re.compile(rf"\\begin\{{(?P<name>{_ANY_NAME})\}}\s*(?P<arguments>(?:\{{[^{{}}]*\}}\s*)*)")
_FIRST_ARGUMENT = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Opening:
    r"""A `\begin{name}` with all brace groups that follow it; the body begins at `body_start`."""

    name: str
    arguments: str
    body_start: int

    @property
    def column_spec(self) -> str:
        """The first brace group of an array, its column letters; empty for other environments."""
        found = _FIRST_ARGUMENT.search(self.arguments) if self.name == "array" else None
        return found[1] if found else ""

    @property
    def closing(self) -> str:
        r"""The `\end{name}` that belongs to it."""
        return f"\\end{{{self.name}}}"


def opening_at(latex: str, position: int = 0) -> Opening | None:
    """The multi-line environment that opens exactly here."""
    found = _OPENING.match(latex, position)
    return Opening(found["name"], found["arguments"], found.end()) if found else None


def closings(latex: str) -> dict[int, int]:
    r"""For each `\begin` of a multi-line environment that is closed, the start of its `\end`.

    Environments of one name nest; those of other names in between are not looked at.
    """
    open_by_name: dict[str, list[int]] = defaultdict(list)
    ends: dict[int, int] = {}
    for mark in _MARK.finditer(latex):
        opened = open_by_name[mark[2]]
        if mark[1] == "begin":
            opened.append(mark.start())
        elif opened:
            ends[opened.pop()] = mark.start()
    return ends
