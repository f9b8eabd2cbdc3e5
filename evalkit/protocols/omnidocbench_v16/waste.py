"""What a page's prediction holds beyond the truth: not scored by the protocol, but counted and shown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalkit.protocols.omnidocbench_v16.match.pair import MatchRule, PairRecord
from evalkit.protocols.omnidocbench_v16.normalize.text import normalize_text
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.records import PredItem

TAG = re.compile(r"<[^<>]*>")
WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Waste:
    """Normalised characters of predicted text and how many matched nothing; predicted formulas and tables unused."""

    text_chars: int = 0
    unmatched_chars: int = 0
    extra_formulas: int = 0
    extra_tables: int = 0


def waste(
    pools: Mapping[str, Sequence[PredItem]],
    mixed_pairs: Sequence[PairRecord],
    formulas: Sequence[PairRecord],
    tables: Sequence[PairRecord],
) -> Waste:
    """Counts of one page. `mixed_pairs` are those of the text matcher, ignored categories included."""
    text_chars = sum(len(normalize_text(item.content)) for item in pools.get("text_all", ()))
    matched = sum(
        len(pair.norm_pred)
        for pair in mixed_pairs
        if pair.gt_idx and pair.rule != MatchRule.LEFTOVER and not pair.pred_category.startswith("equation_i")
    )
    shown = [item for item in pools.get("equation_isolated", ()) if item.fine_category is None]
    at = [row.pred_position for row in formulas if row.pred_position is not None]
    used = sum(any(item.position[0] <= position <= item.position[1] for position in at) for item in shown)
    predicted_tables = len(pools.get("html_table", ())) + len(pools.get("latex_table", ()))
    return Waste(
        text_chars=text_chars,
        unmatched_chars=max(0, text_chars - matched),
        extra_formulas=len(shown) - used,
        extra_tables=max(0, predicted_tables - sum(bool(pair.pred_idx) for pair in tables)),
    )


def ends_in_loop(markdown: str) -> bool:
    """Whether a prediction ends in one piece of text over and over, as decoding loops do.

    Looks for the shortest repetition of the tail, tags and blanks left out.
    """
    policy = POLICY.loop
    tail = "".join(TAG.sub("", markdown[-policy.tail_chars :]).split())[::-1]
    border = [0] * len(tail)
    for index in range(1, len(tail)):
        length = border[index - 1]
        while length and tail[index] != tail[length]:
            length = border[length - 1]
        border[index] = length + (tail[index] == tail[length])
        size = index + 1
        period = size - border[index]
        if size >= policy.loop_chars and size >= policy.repetitions * period:
            return WORD.search(tail[:period]) is not None
    return False
