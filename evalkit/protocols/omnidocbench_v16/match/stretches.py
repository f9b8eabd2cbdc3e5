"""Whether some stretch of a text, as long as a pattern, is close to the pattern."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

# Up to this length rapidfuzz compares several patterns at once with all stretches faster than the walk skips them.
BATCHED_CHARACTERS = 32
BATCHED_PATTERNS = 256
# The walk begins this many characters before the end of the last close stretch: pieces mostly come in order.
LOOK_BACK = 32


class Stretches:
    """The stretches of one text. `expected` are patterns that may be asked for; answers are kept."""

    __slots__ = ("_answers", "_close_end", "_closest", "_expected", "_in_order", "text")

    def __init__(self, text: str, expected: Iterable[str] = ()) -> None:
        self.text = text
        self._answers: dict[tuple[str, int], bool] = {}
        self._closest: dict[str, int] = {}
        self._expected: dict[int, list[str]] = {}
        for pattern in dict.fromkeys(expected):
            if len(pattern) <= BATCHED_CHARACTERS:
                self._expected.setdefault(len(pattern), []).append(pattern)
        self._close_end = 0
        self._in_order = True

    def has_close(self, pattern: str, limit: int) -> bool:
        """Whether the distance to some stretch of the pattern's length is at most the limit.

        False when the text is shorter than the pattern. Time: at most one distance for each stretch.
        """
        if len(self.text) < len(pattern):
            return False
        known = self._answers.get((pattern, limit))
        if known is None:
            known = self._answers[pattern, limit] = self._in_order = self._search(pattern, limit)
        return known

    def _search(self, pattern: str, limit: int) -> bool:
        if limit >= len(pattern):
            return True
        at = self.text.find(pattern)
        if at >= 0:
            self._close_end = at + len(pattern)
            return limit >= 0
        start = max(0, self._close_end - LOOK_BACK)
        last = len(self.text) - len(pattern)
        if len(pattern) <= BATCHED_CHARACTERS:
            near = self._in_order and self._walk(pattern, limit, start, min(last, self._close_end + LOOK_BACK))
            return near or self._closest_distance(pattern) <= limit
        return self._walk(pattern, limit, start, last) or self._walk(pattern, limit, 0, min(start - 1, last))

    def _closest_distance(self, pattern: str) -> int:
        if pattern not in self._closest:
            length = len(pattern)
            text = self.text
            stretches = list({text[at : at + length] for at in range(len(text) - length + 1)})
            patterns = [pattern, *self._expected.pop(length, [])]
            for start in range(0, len(patterns), BATCHED_PATTERNS):
                batch = patterns[start : start + BATCHED_PATTERNS]
                distances: NDArray[np.uint8] = cdist(batch, stretches, scorer=Levenshtein.distance, dtype=np.uint8)
                self._closest.update(zip(batch, distances.min(axis=1).tolist(), strict=True))
        return self._closest[pattern]

    def _walk(self, pattern: str, limit: int, at: int, last: int) -> bool:
        """Moving by one character changes a distance by two at most, so a far stretch skips its neighbours."""
        text, length = self.text, len(pattern)
        while at <= last:
            excess = Levenshtein.distance(text[at : at + length], pattern) - limit
            if excess <= 0:
                self._close_end = at + length
                return True
            at += (excess + 1) // 2
        return False


@lru_cache(maxsize=65536)
def largest_count(length: int, ratio: float, *, inclusive: bool) -> int:
    """The largest edit count whose quotient by the length is below the ratio, or equal to it if inclusive."""
    count = int(ratio * length) + 1
    while count / length > ratio or (count / length == ratio and not inclusive):
        count -= 1
    return count
