"""How far runs of predicted pieces grow towards one block."""

from __future__ import annotations

import numpy as np
from rapidfuzz.distance import Levenshtein

from evalkit.protocols.omnidocbench_v16.match.pieces import Flags, Pieces
from evalkit.protocols.omnidocbench_v16.match.run import Run
from evalkit.protocols.omnidocbench_v16.match.stretches import Stretches
from evalkit.protocols.omnidocbench_v16.policy import POLICY


class RunGrowth:
    """Runs towards one block, asked for by rising first piece.

    While a run is no longer than the block, a piece is refused when it raises the edit distance. Two alignments that
    cross can swap their ends, hence
    d(p..q) - d(p..q-1) >= d(p'..q) - d(p'..q-1) for p < p' < q:
    a piece that does not raise the distance of a run raises that of no later run either. So `_grown`, up to which
    growth is known, never goes back, and all runs together cost about as many distances as there are pieces.
    """

    __slots__ = ("_block", "_grown", "_may_follow", "_pieces", "_stretches", "_sure")

    def __init__(self, block: str, pieces: Pieces, may_follow: Flags) -> None:
        self._block = block
        self._pieces = pieces
        self._may_follow = may_follow.copy()
        self._sure = np.zeros_like(may_follow)
        self._stretches = Stretches(block)
        self._grown = -1

    def run_from(self, first: int, best: float) -> Run | None:
        """The run that begins at a piece; None when the piece may not begin one, or the run is worse than the best."""
        pieces = self._pieces
        if self._grown < first:
            if not self._stretches.has_close(pieces.run(first, first), int(pieces.first_limits[first])):
                return None
            self._grown = first
        most = min(first + POLICY.match.run_pieces, len(pieces.starts)) - 1
        longest = int(np.searchsorted(pieces.ends, pieces.starts[first] + len(self._block), side="right")) - 1
        if self._grown < min(most, longest):
            self._grow(first, longest)
        last = min(self._grown, most)
        if last == longest < most and self._accepts_beyond(first, last + 1):
            last += 1
        return self._measured(first, last, best)

    def _grow(self, first: int, longest: int) -> None:
        """Move `_grown` to the last piece of the run that begins at `first`, not counting the most pieces of a run.

        A step over several pieces at once is sure when the distance rose above the least possible by no more than
        the shortest of them: had one been refused, it would have risen by more than that one's whole length.
        """
        pieces = self._pieces
        open_ahead = self._may_follow[self._grown + 1 : longest + 1]
        end = longest if open_ahead.all() else self._grown + int(open_ahead.argmin())
        distance = self._distance(first, self._grown)
        step = 1
        while self._grown < end:
            last = min(self._grown + step, end)
            found = self._distance(first, last)
            least = distance - (int(pieces.ends[last]) - int(pieces.ends[self._grown]))
            added = np.diff(pieces.ends[self._grown : last + 1])
            if found - least > added.min():
                step = (last - self._grown) // 2
                if step == 0:
                    return
                continue
            followers = self._followers(self._grown + 1, last)
            self._grown += followers
            if self._grown < last:
                return
            distance = found
            step *= 2

    def _followers(self, start: int, last: int) -> int:
        """How many of these pieces, from the first on, are close to a stretch of the block."""
        for piece in range(start, last + 1):
            if not self._follows(piece):
                return piece - start
        return last + 1 - start

    def _follows(self, piece: int) -> bool:
        if self._may_follow[piece] and not self._sure[piece]:
            pieces = self._pieces
            close = self._stretches.has_close(pieces.run(piece, piece), int(pieces.next_limits[piece]))
            self._may_follow[piece] = self._sure[piece] = close
        return bool(self._may_follow[piece])

    def _accepts_beyond(self, first: int, last: int) -> bool:
        """Whether a run takes in the piece with which it becomes longer than the block."""
        if not self._may_follow[last]:
            return False
        before = self._distance(first, last - 1) / len(self._block)
        return self._distance(first, last) / self._longer(first, last) <= before and self._follows(last)

    def _measured(self, first: int, last: int, best: float) -> Run | None:
        longer = self._longer(first, last)
        cost = self._distance(first, last, int(best * longer) + 1) / longer
        return Run(cost, first, last) if cost <= best else None

    def _longer(self, first: int, last: int) -> int:
        return max(len(self._block), int(self._pieces.ends[last] - self._pieces.starts[first]))

    def _distance(self, first: int, last: int, cutoff: int | None = None) -> int:
        return Levenshtein.distance(self._block, self._pieces.run(first, last), score_cutoff=cutoff)
