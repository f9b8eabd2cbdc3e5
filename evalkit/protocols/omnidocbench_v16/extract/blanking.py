"""Parts of a text overwritten by blanks, so that the positions of the rest stay."""

from __future__ import annotations

from collections.abc import Iterable


def blank(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with [start, end) of each span blank; spans are in the order of their starts."""
    pieces: list[str] = []
    last_end = 0
    for start, end in spans:
        start = max(start, last_end)
        pieces += text[last_end:start], " " * (end - start)
        last_end = max(end, last_end)
    pieces.append(text[last_end:])
    return "".join(pieces)
