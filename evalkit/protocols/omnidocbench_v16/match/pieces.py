"""The predicted pieces of a page laid out one after another, as runs of them are joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evalkit.protocols.omnidocbench_v16.match.edits import Costs, lengths
from evalkit.protocols.omnidocbench_v16.match.stretches import largest_count
from evalkit.protocols.omnidocbench_v16.policy import POLICY

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
JOINER = " "


@dataclass(frozen=True, slots=True)
class Pieces:
    """Predicted lines joined by spaces; a run of pieces is `text[starts[first] : ends[last]]`.

    `free` marks the pieces that no annotated line is close to. `first_limits` and `next_limits` are the largest
    distances to a stretch of a block that let a piece begin or continue a run. `kinds` numbers the different texts.
    """

    text: str
    starts: Integers
    ends: Integers
    free: Flags
    first_limits: Integers
    next_limits: Integers
    kinds: Integers

    @property
    def lengths(self) -> Integers:
        """Characters of each piece."""
        return self.ends - self.starts

    def run(self, first: int, last: int) -> str:
        """The joined text of consecutive pieces."""
        return self.text[self.starts[first] : self.ends[last]]

    def same_text_key(self, first: int, last: int) -> bytes:
        """Equal for runs of equal pieces."""
        return self.kinds[first : last + 1].tobytes()

    def pairs(self) -> list[str]:
        """Each piece but the last, joined with its successor."""
        return [self.run(first, first + 1) for first in range(len(self.starts) - 1)]


def lay_out(preds: Sequence[str], costs: Costs) -> Pieces:
    """The pieces of a page, given their costs against all annotated lines."""
    ratio = POLICY.match.piece_in_block_edit
    taken: Flags = np.any(costs < POLICY.match.close_edit, axis=0)
    kinds: dict[str, int] = {}
    ends = np.cumsum(lengths(preds) + len(JOINER)) - len(JOINER)
    return Pieces(
        text=JOINER.join(preds),
        starts=ends - lengths(preds),
        ends=ends,
        free=~taken,
        first_limits=np.array([largest_count(len(one), ratio, inclusive=True) for one in preds], dtype=np.int64),
        next_limits=np.array([largest_count(len(one), ratio, inclusive=False) for one in preds], dtype=np.int64),
        kinds=np.array([kinds.setdefault(one, len(kinds)) for one in preds], dtype=np.int64),
    )
