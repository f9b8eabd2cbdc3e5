"""The normalised edit distance that the protocol's decisions are made with."""

from __future__ import annotations

from rapidfuzz.distance import Levenshtein


def normalized_edit(gt: str, pred: str) -> float:
    """Edits over the longer length: 0 for two empty texts, 1 when one is empty."""
    if not gt and not pred:
        return 0
    if not gt or not pred:
        return 1
    return Levenshtein.distance(gt, pred) / max(len(gt), len(pred))
