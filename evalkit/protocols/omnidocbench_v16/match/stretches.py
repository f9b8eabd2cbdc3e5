"""Whether some stretch of a text, as long as a pattern, is close to the pattern."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

# Up to one machine word rapidfuzz compares many texts at once.
BATCHED_CHARACTERS = 32


class Stretches:
    """The stretches of one text by length; the distinct ones are kept for patterns of the same length."""

    __slots__ = ("_by_length", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._by_length: dict[int, list[str]] = {}

    def has_close(self, pattern: str, limit: int) -> bool:
        """Whether the distance to some stretch of the pattern's length is at most the limit.

        False when the text is shorter than the pattern. Time: at most one distance for each stretch.
        """
        if len(self.text) < len(pattern):
            return False
        if limit >= len(pattern) or pattern in self.text:
            return limit >= 0
        if len(pattern) <= BATCHED_CHARACTERS:
            return self._batch_has_close(pattern, limit)
        return self._walk_has_close(pattern, limit)

    def _batch_has_close(self, pattern: str, limit: int) -> bool:
        distances: NDArray[np.uint8] = cdist(
            [pattern], self._of_length(len(pattern)), scorer=Levenshtein.distance, dtype=np.uint8
        )
        return bool(distances.min() <= limit)

    def _of_length(self, length: int) -> list[str]:
        known = self._by_length.get(length)
        if known is None:
            text = self.text
            known = list({text[at : at + length] for at in range(len(text) - length + 1)})
            self._by_length[length] = known
        return known

    def _walk_has_close(self, pattern: str, limit: int) -> bool:
        """Moving by one character changes a distance by two at most, so a far stretch skips its neighbours."""
        text, length = self.text, len(pattern)
        at, last = 0, len(text) - length
        while at <= last:
            excess = Levenshtein.distance(text[at : at + length], pattern) - limit
            if excess <= 0:
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
