"""Edit distances between all lines of two sides, each pair of different texts computed once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

Counts = NDArray[np.uint32]
Costs = NDArray[np.float64]


def edit_counts(gts: Sequence[str], preds: Sequence[str]) -> Counts:
    """Levenshtein distances, one row an annotated line and one column a predicted one."""
    gt_texts, gt_at = _distinct(gts)
    pred_texts, pred_at = _distinct(preds)
    if not gt_texts or not pred_texts:
        return np.zeros((len(gts), len(preds)), dtype=np.uint32)
    counts: Counts = cdist(gt_texts, pred_texts, scorer=Levenshtein.distance, dtype=np.uint32)
    if len(gt_texts) < len(gts):
        counts = counts[gt_at]
    return counts[:, pred_at] if len(pred_texts) < len(preds) else counts


def lengths(texts: Sequence[str]) -> NDArray[np.int64]:
    """Characters of each text."""
    return np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))


def costs_of(counts: Counts, gts: Sequence[str], preds: Sequence[str]) -> Costs:
    """Edit distances over the longer length; no text may be empty on both sides."""
    longer = np.maximum.outer(lengths(gts), lengths(preds))
    return np.divide(counts, longer, dtype=np.float64)


def costs_between(gts: Sequence[str], preds: Sequence[str]) -> Costs:
    """Normalised edit distances between all lines of two sides."""
    return costs_of(edit_counts(gts, preds), gts, preds)


def _distinct(texts: Sequence[str]) -> tuple[list[str], list[int]]:
    """Different texts in order of appearance, and for each text its place among them."""
    places: dict[str, int] = {}
    at = [places.setdefault(text, len(places)) for text in texts]
    return list(places), at
