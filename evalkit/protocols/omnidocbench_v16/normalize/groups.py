"""Brace groups of formulas opened where they say nothing, in one pass over the text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.rules import rule

_SIMPLE_GROUP = re.compile(r"\{([A-Za-z0-9.+\-]+)\}")
_OPENING_RUN = re.compile(r"\{\{+")
_CLOSING_RUN = re.compile(r"\}\}+")
_PIECE = re.compile(r"[{}]|[^{}]+")
_SIMPLE = re.compile(r"[A-Za-z0-9.+\-]*\Z")
_OPERATOR = re.compile(r"[=+\-^_\[\]()]|\\\\")


@dataclass(slots=True)
class _Content:
    """What is known of a piece of text, or of the content of a group up to here."""

    length: int = 0
    is_simple: bool = True
    has_operator: bool = False
    has_braces: bool = False
    first: str = ""
    last: str = ""

    def append(self, other: _Content) -> None:
        """Two backslashes that meet are an operator."""
        self.length += other.length
        self.is_simple &= other.is_simple
        self.has_operator |= other.has_operator or (self.last == other.first == "\\")
        self.first = self.first or other.first
        self.last = other.last or self.last

    @property
    def loses_braces(self) -> bool:
        """Whether the braces around it go."""
        if self.has_braces:
            return False
        return self.is_simple or (self.has_operator and self.length <= POLICY.normalize.brace_content_chars)


@rule(stage="normalize", order=15, example=r"'x^{2}+{{y}}' -> 'x^2+y'")
def simplify_groups(text: str) -> str:
    """Open brace groups that are simple or hold an operator, the inner ones first.

    Source: data_preprocess.py, normalized_formula.
    Quirk: a run of equal braces counts as one, so that unequal runs leave unequal braces.
    """
    if "{" not in text and "}" not in text:
        return text
    text = _SIMPLE_GROUP.sub(r"\1", text).replace("{}", "")
    text = _CLOSING_RUN.sub("}", _OPENING_RUN.sub("{", text))
    return _open_groups(text)


def _open_groups(text: str) -> str:
    pieces: list[str] = []
    groups: list[tuple[int, _Content]] = []
    for piece in _PIECE.findall(text):
        content = None
        if piece == "{":
            groups.append((len(pieces), _Content()))
        elif piece != "}":
            content = _content_of(piece)
        elif groups:
            opening, content = groups.pop()
            if content.loses_braces:
                pieces[opening] = piece = ""
            else:
                content = _Content(has_braces=True)
        if content is not None and groups:
            enclosing = groups[-1][1]
            enclosing.has_braces |= content.has_braces
            enclosing.append(content)
        pieces.append(piece)
    return "".join(pieces)


def _content_of(piece: str) -> _Content:
    return _Content(
        length=len(piece),
        is_simple=_SIMPLE.match(piece) is not None,
        has_operator=_OPERATOR.search(piece) is not None,
        first=piece[0],
        last=piece[-1],
    )
