"""Whether some stretch of a text, as long as a pattern, is close to the pattern."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

# Up to this length rapidfuzz compares a pattern with all stretches faster than the walk skips them.
BATCHED_CHARACTERS = 32
# The walk begins this many characters before the end of the last close stretch: pieces mostly come in order.
LOOK_BACK = 32


class Stretches:
    """The stretches of one text; answers are kept, as are the distinct stretches of a length."""

    __slots__ = ("_answers", "_by_length", "_expected", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._answers: dict[tuple[str, int], bool] = {}
        self._by_length: dict[int, list[str]] = {}
        self._expected = 0

    def has_close(self, pattern: str, limit: int) -> bool:
        """Whether the distance to some stretch of the pattern's length is at most the limit.

        False when the text is shorter than the pattern. Time: at most one distance for each stretch.
        """
        if len(self.text) < len(pattern):
            return False
        known = self._answers.get((pattern, limit))
        if known is None:
            known = self._answers[pattern, limit] = self._search(pattern, limit)
        return known

    def _search(self, pattern: str, limit: int) -> bool:
        if limit >= len(pattern):
            return True
        at = self.text.find(pattern)
        if at >= 0:
            self._expected = at + len(pattern)
            return limit >= 0
        start = max(0, self._expected - LOOK_BACK)
        last = len(self.text) - len(pattern)
        if len(pattern) <= BATCHED_CHARACTERS:
            near = self._walk(pattern, limit, start, min(last, self._expected + LOOK_BACK))
            return near or self._batch(pattern, limit)
        return self._walk(pattern, limit, start, last) or self._walk(pattern, limit, 0, min(start - 1, last))

    def _batch(self, pattern: str, limit: int) -> bool:
        length = len(pattern)
        stretches = self._by_length.get(length)
        if stretches is None:
            text = self.text
            stretches = list({text[at : at + length] for at in range(len(text) - length + 1)})
            self._by_length[length] = stretches
        distances: NDArray[np.uint8] = cdist([pattern], stretches, scorer=Levenshtein.distance, dtype=np.uint8)
        return bool(distances.min() <= limit)

    def _walk(self, pattern: str, limit: int, at: int, last: int) -> bool:
        """Moving by one character changes a distance by two at most, so a far stretch skips its neighbours."""
        text, length = self.text, len(pattern)
        while at <= last:
            excess = Levenshtein.distance(text[at : at + length], pattern) - limit
            if excess <= 0:
                self._expected = at + length
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
