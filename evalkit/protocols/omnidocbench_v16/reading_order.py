"""The reading order of a page: annotated positions, and the same positions in the order of the prediction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from evalkit.protocols.omnidocbench_v16.match.pair import PairRecord
from evalkit.protocols.omnidocbench_v16.rules import rule


@dataclass(frozen=True, slots=True)
class OrderPair:
    """Positions of a page's scored blocks: all of them ascending, and the matched ones as predicted."""

    gt: tuple[float, ...]
    pred: tuple[float, ...]


@rule(stage="match", order=90, example="blocks 1, 2, 3 found at characters 50, 10 and nowhere -> 1 2 3 against 2 1")
def order_pair(pairs: Iterable[PairRecord]) -> OrderPair | None:
    """Both sequences of a page, None when no scored block has a position.

    Quirk: the first predicted table has no position in its pair, so it is always missing from the prediction; a
    block at position 0 is left out; a block joined to others follows the first of them.
    Source: end2end_dataset.py get_order_paired.
    """
    placed = [pair for pair in pairs if pair.gt_position and pair.gt_position != (None,)]
    found = sorted(
        ((pair.pred_position, pair) for pair in placed if pair.pred_position is not None), key=lambda one: one[0]
    )
    gt = sorted(position for pair in placed for position in pair.gt_position if position)
    pred = [position for _, pair in found for position in pair.gt_position if position]
    return OrderPair(tuple(gt), tuple(pred)) if gt or pred else None
