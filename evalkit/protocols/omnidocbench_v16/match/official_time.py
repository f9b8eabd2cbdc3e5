"""How long the official matching works on a page, estimated from sizes: its time limits change its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from evalkit.protocols.omnidocbench_v16.match.edits import lengths
from evalkit.protocols.omnidocbench_v16.match.pieces import Flags, Integers, Pieces
from evalkit.protocols.omnidocbench_v16.policy import POLICY

Seconds = NDArray[np.float64]


def joining_seconds(block_length: int, pieces: Pieces, reach: Mapping[int, int], pair_is_closer: Flags) -> float:
    """Seconds for one block of looking for its run from every free piece.

    Each time a run takes in a piece, the official compares all its pieces again with each stretch of the block.
    `reach` holds where runs end that were followed; one that begins inside such a run is taken to end with it, any
    other to stop at once.
    """
    places = np.arange(len(pieces.starts))
    followed = places.copy()
    followed[list(reach)] = list(reach.values())
    last = np.minimum(np.maximum.accumulate(followed), places + POLICY.match.run_pieces - 1)
    last = np.minimum(last, places[-1])
    tried = np.append(pair_is_closer, False) | (last > places)
    stretches = np.maximum(block_length - pieces.lengths + 1, 0) * _distance_seconds(pieces.lengths, pieces.lengths)
    count, place_sum = _running(stretches), _running(stretches * places)
    searching = (last + 1) * (count[last + 1] - count[places]) - (place_sum[last + 1] - place_sum[places])
    steps = last - places + 1
    measuring = 2 * steps * _distance_seconds(block_length, pieces.ends[last] - pieces.starts)
    total: Seconds = np.where(tried, searching, 0.0) + measuring
    return float(total[pieces.free].sum())


def containing_seconds(unmatched: Sequence[int], gts: Sequence[str], preds: Sequence[str]) -> float:
    """Seconds of comparing each unmatched line with each stretch of every piece."""
    patterns = lengths([gts[line] for line in unmatched])
    stretches = np.maximum(lengths(preds)[None, :] - patterns[:, None] + 1, 0).sum(axis=1)
    return float((stretches * _distance_seconds(patterns, patterns)).sum())


def _distance_seconds(one: Integers | int, other: Integers | int) -> Seconds:
    cells = np.multiply(one, other, dtype=np.float64)
    seconds: Seconds = POLICY.match.official_call_s + POLICY.match.official_cell_s * cells
    return seconds


def _running(values: Seconds) -> Seconds:
    return np.concatenate(([0.0], np.cumsum(values)))
