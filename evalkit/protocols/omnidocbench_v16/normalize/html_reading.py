"""The text inside elements of an HTML tree, in time that does not grow with their nesting."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from evalkit.protocols.omnidocbench_v16.normalize.html_tree import Element, Text, walk
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.work_limits import TABLE_TEXT, limit_met


class Span(NamedTuple):
    """[start, end) of an element among the pieces of text, [place, place_end) in document order."""

    start: int
    end: int
    place: int
    place_end: int


class Reading:
    """A tree's visible texts that are not blank, and where elements lie among them.

    Nested cells repeat the text of the inner ones: reading them all is quadratic. `text` gives "" once a
    budget of characters, in proportion to the document, is spent.
    """

    def __init__(self, root: Element) -> None:
        self._pieces: list[str] = []
        self._spans: dict[str, list[Span]] = {}
        self._collect(root)
        self.whole = Span(0, len(self._pieces), -1, -1)
        at_least, per_character = POLICY.normalize.table_line_chars
        self._characters_left = at_least + per_character * sum(map(len, self._pieces))

    def _collect(self, root: Element) -> None:
        open_at: list[tuple[int, int]] = []
        for place, visit in enumerate(walk(root)):
            node = visit.node
            if isinstance(node, Text):
                stripped = node.text.strip()
                if stripped and node.is_readable:
                    self._pieces.append(stripped)
            elif not visit.leaving:
                open_at.append((place, len(self._pieces)))
            else:
                opened, start = open_at.pop()
                self._spans.setdefault(node.name, []).append(Span(start, len(self._pieces), opened, place))
        for spans in self._spans.values():
            spans.sort(key=lambda span: span.place)

    def spans_of(self, *names: str) -> list[Span]:
        """Elements of these names in document order."""
        if len(names) == 1:
            return self._spans.get(names[0], [])
        return sorted(chain.from_iterable(map(self.spans_of, names)), key=lambda span: span.place)

    def inside(self, outer: Span, name: str) -> Iterator[Span]:
        """Elements of one name inside another element, in document order, while the budget lasts."""
        spans = self.spans_of(name)
        first = bisect_left(spans, outer.place, key=lambda span: span.place)
        last = bisect_left(spans, outer.place_end, key=lambda span: span.place)
        for index in range(first, last):
            if self._is_spent():
                return
            yield spans[index]

    def text(self, span: Span) -> str:
        """The pieces of an element joined by blanks; "" when the budget is spent."""
        if self._is_spent():
            return ""
        text = " ".join(self._pieces[span.start : span.end])
        self._characters_left -= 1 + len(text)
        return text

    def _is_spent(self) -> bool:
        if self._characters_left >= 0:
            return False
        limit_met(TABLE_TEXT)
        return True

    def short_text(self, span: Span, limit: int) -> str | None:
        """The text with single blanks, None when it is longer than the limit."""
        text = " ".join(" ".join(self._pieces[span.start : min(span.end, span.start + limit)]).split())
        return text if len(text) <= limit and span.end - span.start <= limit else None
