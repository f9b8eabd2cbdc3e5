"""Delimited spans found in linear time: what a lazy regular expression finds, however hostile the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Delimiter:
    """An opening pattern and a closing text; `multiline` lets the content hold line feeds.

    `min_content` is the least number of characters between them. `unescaped` wants a closing that
    has no backslash before it.
    """

    opening: str
    closing: str
    multiline: bool = True
    min_content: int = 0
    unescaped: bool = False


@dataclass(frozen=True, slots=True)
class DelimitedSpan:
    """[start, end) of a delimited part, [inner_start, inner_end) of its content, and its delimiter's index."""

    start: int
    end: int
    inner_start: int
    inner_end: int
    which: int

    def inner(self, text: str) -> str:
        """The content between the delimiters."""
        return text[self.inner_start : self.inner_end]


class NextOccurrence:
    """The first occurrence of a token at or after a position that never falls; each stretch is searched once."""

    __slots__ = ("_found", "_text", "_token", "_unescaped")

    def __init__(self, text: str, token: str, *, unescaped: bool = False) -> None:
        self._text = text
        self._token = token
        self._unescaped = unescaped
        self._found = -2

    def at_or_after(self, position: int) -> int:
        """Index of the occurrence, -1 when there is none."""
        if self._found != -1 and self._found < position:
            self._found = self._search(position)
        return self._found

    def _search(self, position: int) -> int:
        found = self._text.find(self._token, position)
        while self._unescaped and found > 0 and self._text[found - 1] == "\\":
            found = self._text.find(self._token, found + 1)
        return found


@lru_cache(maxsize=64)
def _compiled(delimiters: tuple[Delimiter, ...]) -> tuple[re.Pattern[str], tuple[re.Pattern[str], ...]]:
    openings = tuple(re.compile(item.opening) for item in delimiters)
    anywhere = re.compile("|".join(f"(?:{item.opening})" for item in delimiters))
    return anywhere, openings


def delimited_spans(text: str, delimiters: Sequence[Delimiter]) -> Iterator[DelimitedSpan]:
    """Spans from left to right without overlap; where several delimiters open, the first that closes wins."""
    delimiters = tuple(delimiters)
    anywhere, openings = _compiled(delimiters)
    if anywhere.search(text) is None:
        return
    closings = [NextOccurrence(text, item.closing, unescaped=item.unescaped) for item in delimiters]
    line_feed = NextOccurrence(text, "\n")
    position = 0
    while found := anywhere.search(text, position):
        start = found.start()
        position = start + 1
        for which, delimiter in enumerate(delimiters):
            opening = openings[which].match(text, start)
            if opening is None:
                continue
            inner_start = opening.end()
            inner_end = closings[which].at_or_after(inner_start + delimiter.min_content)
            if inner_end < 0 or not (delimiter.multiline or _same_line(line_feed, inner_start, inner_end)):
                continue
            position = inner_end + len(delimiter.closing)
            yield DelimitedSpan(start, position, inner_start, inner_end, which)
            break


def _same_line(line_feed: NextOccurrence, start: int, end: int) -> bool:
    return not 0 <= line_feed.at_or_after(start) < end


def replace_delimited(text: str, delimiters: Sequence[Delimiter], render: Callable[[str], str]) -> str:
    """Replace each delimited span, delimiters included, by what `render` makes of its content."""
    pieces: list[str] = []
    last_end = 0
    for span in delimited_spans(text, delimiters):
        pieces.append(text[last_end : span.start])
        pieces.append(render(span.inner(text)))
        last_end = span.end
    if not pieces:
        return text
    pieces.append(text[last_end:])
    return "".join(pieces)


def remove_delimited(text: str, delimiters: Sequence[Delimiter]) -> str:
    """Remove each delimited span, content and all."""
    return replace_delimited(text, delimiters, lambda inner: "")


def unwrap_delimited(text: str, delimiters: Sequence[Delimiter]) -> str:
    """Remove the delimiters and keep what is between them."""
    return replace_delimited(text, delimiters, lambda inner: inner)
