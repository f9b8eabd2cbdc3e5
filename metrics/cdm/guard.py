"""Is a formula well-formed enough to be parsed? What is not goes to TeX as it stands."""

from __future__ import annotations

import re

MAX_CHARS = 20_000  # longer input is never parsed (the official limit)

_ENVIRONMENT_EDGE = re.compile(r"\\(begin|end)\{([^{}]+)\}")
_BRACE_OR_ESCAPE = re.compile(r"\\[{}\[\]()]|[{}]")
_PAIRED = (
    (re.compile(r"\\left\b"), re.compile(r"\\right\b")),
    (re.compile(r"\\\("), re.compile(r"\\\)")),
    (re.compile(r"\\\["), re.compile(r"\\\]")),
)
_DOLLAR = re.compile(r"(?<!\\)\$")


def parseable(text: str, *, tabular: bool = False) -> bool:
    """True when braces and environments balance, and outside tables also left/right and math delimiters."""
    text = text.strip()
    if not text:
        return True
    if len(text) > MAX_CHARS or not _braces_balance(text) or not _environments_nest(text):
        return False
    return tabular or _delimiters_pair_up(text)


def _braces_balance(text: str) -> bool:
    depth = 0
    for found in _BRACE_OR_ESCAPE.finditer(text):
        if found[0] == "{":
            depth += 1
        elif found[0] == "}":
            depth -= 1
            if depth < 0:
                return False
    return depth == 0


def _environments_nest(text: str) -> bool:
    open_names: list[str] = []
    for edge, name in _ENVIRONMENT_EDGE.findall(text):
        if edge == "begin":
            open_names.append(name)
        elif not open_names or open_names.pop() != name:
            return False
    return not open_names


def _delimiters_pair_up(text: str) -> bool:
    counts_agree = all(len(opening.findall(text)) == len(closing.findall(text)) for opening, closing in _PAIRED)
    return counts_agree and len(_DOLLAR.findall(text)) % 2 == 0
