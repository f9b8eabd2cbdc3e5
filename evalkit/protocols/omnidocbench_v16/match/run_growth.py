"""How far runs of predicted pieces grow towards one block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from rapidfuzz.distance import Levenshtein

from evalkit.protocols.omnidocbench_v16.match.pieces import Flags, Pieces
from evalkit.protocols.omnidocbench_v16.match.prefix_distances import distances_worth_a_pass, prefix_distances
from evalkit.protocols.omnidocbench_v16.match.run import Run
from evalkit.protocols.omnidocbench_v16.match.stretches import Stretches
from evalkit.protocols.omnidocbench_v16.policy import POLICY


class RunGrowth:
    """Runs towards one block, asked for by rising first piece; `firsts` are those that may be asked for.

    While a run is no longer than the block, a piece is refused when it raises the edit distance d. Two alignments
    that cross can swap their ends, hence for p < p' < q
    d(p..q) - d(p..q-1) >= d(p'..q) - d(p'..q-1):
    a piece that one run takes in is taken in by every later run that reaches it. So `_grown`, up to which growth is
    known, never goes back, and all runs together cost about as many distances as there are pieces.
    `ends` holds the last piece of each run asked for.
    """

    __slots__ = ("_block", "_grown", "_may_follow", "_pieces", "_refused_until", "_stretches", "_worth_a_pass", "ends")

    def __init__(self, block: str, pieces: Pieces, may_follow: Flags, firsts: Iterable[int]) -> None:
        self._block = block
        self._pieces = pieces
        self._may_follow = may_follow.copy()
        self._stretches = Stretches(block, (pieces.run(first, first) for first in firsts))
        self._worth_a_pass = distances_worth_a_pass(len(block))
        self._grown = -1
        self.ends: dict[int, int] = {}
        # Runs that begin up to here do not take in the piece behind `_grown`.
        self._refused_until = -1

    def run_from(self, first: int, best: float) -> Run | None:
        """The run that begins at a piece; None when the piece may not begin one, or it costs more than the best."""
        pieces = self._pieces
        if self._grown < first:
            if not self._stretches.has_close(pieces.run(first, first), int(pieces.first_limits[first])):
                self.ends[first] = first
                return None
            self._grown = first
        most = min(first + POLICY.match.run_pieces, len(pieces.starts)) - 1
        longest = int(np.searchsorted(pieces.ends, pieces.starts[first] + len(self._block), side="right")) - 1
        if self._grown < min(most, longest) and self._refused_until < first:
            self._grow(first, self._open_until(longest))
        last = min(self._grown, most)
        if last == longest < most and self._accepts_beyond(first, last + 1):
            last += 1
        self.ends[first] = last
        return self._measured(first, last, best)

    def _open_until(self, longest: int) -> int:
        """The last piece in front of the first one that cannot follow."""
        ahead = self._may_follow[self._grown + 1 : longest + 1]
        return longest if ahead.all() else self._grown + int(ahead.argmin())

    def _grow(self, first: int, end: int) -> None:
        """Move `_grown` to the last piece that the run beginning at `first` takes in, `end` at most.

        A step over several pieces at once is sure when the distance rose above the least possible by no more than
        the shortest of them: had one been refused, it would have risen by more than that one's whole length.
        """
        if self._grown >= end:
            return
        ends = self._pieces.ends
        distance = self._distance(first, self._grown)
        step = 1
        budget = self._worth_a_pass
        while self._grown < end:
            if budget == 0:
                self._grow_in_one_pass(first, end)
                return
            budget -= 1
            last = min(self._grown + step, end)
            found = self._distance(first, last)
            least = distance - int(ends[last] - ends[self._grown])
            if found - least > np.diff(ends[self._grown : last + 1]).min():
                step = (last - self._grown) // 2
                if step == 0:
                    self._note_refusals(first)
                    return
                continue
            if not self._take_followers(last):
                return
            distance = found
            step *= 2

    def _grow_in_one_pass(self, first: int, end: int) -> None:
        distances = self._distances_at_ends(first, end)
        distance = next(distances)
        for piece, found in enumerate(distances, start=self._grown + 1):
            if found > distance:
                self._note_refusals(first)
                return
            if not self._take_followers(piece):
                return
            distance = found

    def _distances_at_ends(self, first: int, end: int) -> Iterator[int]:
        """Distances of the runs from `first` to `_grown`, to the piece behind it, and so on to `end`."""
        start = self._pieces.starts[first]
        wanted = (self._pieces.ends[self._grown : end + 1] - start).tolist()
        lengths = iter(wanted)
        length = next(lengths)
        for characters, distance in enumerate(prefix_distances(self._block, self._pieces.run(first, end)), start=1):
            if characters == length:
                yield distance
                length = next(lengths, 0)

    def _take_followers(self, last: int) -> bool:
        """Take in pieces up to `last` as far as they are close to a stretch of the block; whether all are."""
        while self._grown < last and self._follows(self._grown + 1):
            self._grown += 1
        return self._grown == last

    def _follows(self, piece: int) -> bool:
        if not self._may_follow[piece]:
            return False
        pieces = self._pieces
        close = self._stretches.has_close(pieces.run(piece, piece), int(pieces.next_limits[piece]))
        self._may_follow[piece] = close
        return close

    def _note_refusals(self, first: int) -> None:
        """Find, by leaps, a later run that also refuses the piece behind `_grown`: so do all runs between."""
        refused = self._grown + 1
        self._refused_until = first
        leap = 1
        while first + leap < refused:
            candidate = first + leap
            if self._distance(candidate, refused) <= self._distance(candidate, refused - 1):
                return
            self._refused_until = candidate
            leap *= 2

    def _accepts_beyond(self, first: int, last: int) -> bool:
        """Whether a run takes in the piece with which it becomes longer than the block."""
        if not self._may_follow[last]:
            return False
        before = self._distance(first, last - 1) / len(self._block)
        return self._distance(first, last) / self._longer(first, last) <= before and self._follows(last)

    def _measured(self, first: int, last: int, best: float) -> Run | None:
        longer = self._longer(first, last)
        length = int(self._pieces.ends[last] - self._pieces.starts[first])
        if (longer - length) / longer > best:
            return None
        cost = self._distance(first, last, int(best * longer) + 1) / longer
        return Run(cost, first, last) if cost <= best else None

    def _longer(self, first: int, last: int) -> int:
        return max(len(self._block), int(self._pieces.ends[last] - self._pieces.starts[first]))

    def _distance(self, first: int, last: int, cutoff: int | None = None) -> int:
        return Levenshtein.distance(self._block, self._pieces.run(first, last), score_cutoff=cutoff)
