"""Objects of a JSON list in a model's answer, found even when the list is cut, wrapped in prose or a Python literal."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from typing import Any

MAX_OBJECT_CHARS = 2_000_000
MAX_DEPTH = 64
MAX_CUT_LEVELS = 4  # how many unclosed outer braces are opened to reach complete objects inside


def objects_in(text: str) -> Iterator[dict[str, Any]]:
    """Every complete outermost {…} that reads as an object, in order. Linear in the text.

    Where the last outermost brace never closes, the complete objects inside it are found instead.
    """
    start = 0
    for _ in range(MAX_CUT_LEVELS):
        spans, unclosed = _spans(text, start)
        for begin, end in spans:
            value = _read(text[begin:end])
            if isinstance(value, dict):
                yield value
        if unclosed is None:
            return
        start = unclosed + 1


def _spans(text: str, position: int) -> tuple[list[tuple[int, int]], int | None]:
    """[start, end) of each balanced outermost brace pair, and where a pair begins that is never closed.

    Braces inside strings do not count.
    """
    spans: list[tuple[int, int]] = []
    depth, start, quote = 0, 0, ""
    while position < len(text):
        character = text[position]
        if quote:
            if character == "\\":
                position += 1
            elif character == quote:
                quote = ""
        elif depth and (character == '"' or (character == "'" and _opens_literal(text, position))):
            quote = character
        elif character == "{":
            start = position if depth == 0 else start
            depth += 1
        elif character == "}" and depth:
            depth -= 1
            if depth == 0:
                spans.append((start, position + 1))
        position += 1
    return spans, start if depth else None


def _opens_literal(text: str, position: int) -> bool:
    """Whether a single quote begins a Python string: it follows a bracket, comma or colon."""
    before = text[max(position - 8, 0) : position].rstrip()
    return not before or before[-1] in "{[(,:"


def _read(text: str) -> Any:
    if len(text) > MAX_OBJECT_CHARS or _depth(text) > MAX_DEPTH:
        return None
    try:
        return json.loads(text, strict=False)
    except ValueError:
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _depth(text: str) -> int:
    depth = deepest = 0
    for character in text:
        if character in "{[(":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "}])":
            depth -= 1
    return deepest
