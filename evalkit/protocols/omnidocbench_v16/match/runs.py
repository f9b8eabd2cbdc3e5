"""Runs of predicted pieces that together are one annotated block: the prediction cut it, for example by lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evalkit.protocols.omnidocbench_v16.match.edits import Costs, Counts, edit_counts
from evalkit.protocols.omnidocbench_v16.match.official_time import joining_seconds
from evalkit.protocols.omnidocbench_v16.match.pieces import Flags, Integers, Pieces, lay_out
from evalkit.protocols.omnidocbench_v16.match.run import Run
from evalkit.protocols.omnidocbench_v16.match.run_growth import RunGrowth
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.rules import rule


@rule(stage="match", order=40, example="block 'a long line', pieces 'a long' and 'line' -> one run of both")
def best_runs(gts: Sequence[str], preds: Sequence[str], counts: Counts, costs: Costs) -> list[Run]:
    """For each annotated line that no piece is close to, the run of pieces closest to it.

    A run may begin at every piece that is not close to any line, and takes in the next piece as long as it is free,
    is close to some stretch of the block, and does not raise the normalised distance; it ends behind the piece that
    makes it longer than the block. Among equals the first wins.

    Source: match_quick.py deal_with_truncated and judge_pred_merge. The official measures every run; here those are
    left out that a lower bound rules out.
    """
    open_gts: list[int] = np.flatnonzero(~(costs < POLICY.match.close_edit).any(axis=1)).tolist()
    pieces = lay_out(preds, costs)
    if not open_gts or not pieces.free.any():
        return []
    pair_counts = edit_counts([gts[gt] for gt in open_gts], pieces.pairs())
    return [
        _best_run(gts[gt], pieces, counts[gt].astype(np.int64), costs[gt], pair_counts[row])
        for row, gt in enumerate(open_gts)
    ]


def _best_run(block: str, pieces: Pieces, counts: Integers, costs: Costs, pair_counts: Counts) -> Run:
    free = np.flatnonzero(pieces.free)
    single = int(free[np.argmin(costs[free])])
    best = Run(float(costs[single]), single, single)
    may_begin, may_follow = _possible_members(len(block), pieces, counts)
    pair_is_closer = _pair_is_closer(len(block), pieces, costs, pair_counts)
    firsts = np.flatnonzero(may_begin[:-1] & may_follow[1:] & pair_is_closer)
    lasts = _farthest_ends(len(block), pieces, may_follow, firsts)
    bounds = _lower_bounds(len(block), pieces, counts, firsts, lasts)
    growth = RunGrowth(block, pieces, may_follow, firsts[bounds <= best.cost].tolist())
    steps_by_text: dict[bytes, int] = {}
    for first, last, bound in zip(firsts.tolist(), lasts.tolist(), bounds.tolist(), strict=True):
        if bound > best.cost or (bound == best.cost and first > best.first):
            continue
        key = pieces.same_text_key(first, last)
        if key in steps_by_text:
            growth.ends[first] = first + steps_by_text[key]
            continue
        run = growth.run_from(first, best.cost)
        steps_by_text[key] = growth.ends[first] - first
        if run and (run.cost < best.cost or first <= best.first):
            best = run
    return replace(best, official_s=joining_seconds(len(block), pieces, growth.ends, pair_is_closer))


def _possible_members(block_length: int, pieces: Pieces, counts: Integers) -> tuple[Flags, Flags]:
    """Pieces that may begin a run, and that may continue one.

    The distance to a stretch of the block is at least the distance to the block less what the block is longer.
    """
    fits = pieces.free & (pieces.lengths <= block_length)
    least = counts - (block_length - pieces.lengths)
    return fits & (least <= pieces.first_limits), fits & (least <= pieces.next_limits)


def _pair_is_closer(block_length: int, pieces: Pieces, costs: Costs, pair_counts: Counts) -> Flags:
    """Whether a piece joined with its successor is no farther from the block than alone."""
    longer = np.maximum(pieces.ends[1:] - pieces.starts[:-1], block_length)
    closer: Flags = pair_counts / longer <= costs[:-1]
    return closer


def _farthest_ends(block_length: int, pieces: Pieces, may_follow: Flags, firsts: Integers) -> Integers:
    """Where the run from each first piece ends at the latest."""
    breaks = np.append(np.flatnonzero(~may_follow), len(may_follow))
    last = breaks[np.searchsorted(breaks, firsts, side="right")] - 1
    last = np.minimum(last, firsts + POLICY.match.run_pieces - 1)
    fitting = np.searchsorted(pieces.ends, pieces.starts[firsts] + block_length, side="right") - 1
    farthest: Integers = np.minimum(last, fitting + 1)
    return farthest


def _lower_bounds(
    block_length: int, pieces: Pieces, counts: Integers, firsts: Integers, lasts: Integers
) -> NDArray[np.float64]:
    """What the run from each first piece costs at least.

    Joining pieces lowers the distance to a block by no more than the sum of what each lowers it alone, and one for
    each space between them.
    """
    gained = np.concatenate(([0], np.cumsum(np.maximum(block_length - counts, 0) + 1)))
    least = np.maximum(block_length - (gained[lasts + 1] - gained[firsts] - 1), 0)
    bounds: NDArray[np.float64] = least / np.maximum(pieces.ends[lasts] - pieces.starts[firsts], block_length)
    return bounds
