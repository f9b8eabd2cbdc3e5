"""Normalised edit distance of two sequences, shared by the text, formula, table and reading-order measures."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

from evalkit.types import PairScore

BOTH_EMPTY = "both_empty"


def edit_score(gt: Sequence[Hashable], pred: Sequence[Hashable]) -> PairScore:
    """Edits over the longer length, 0 (equal) to 1; no value when both sides are empty.

    `details` holds `edits` and `length`, from which a corpus-wide ratio can be formed.
    """
    length = max(len(gt), len(pred))
    if length == 0:
        return PairScore(None, BOTH_EMPTY, {"edits": 0, "length": 0})
    edits = Levenshtein.distance(gt, pred)
    return PairScore(edits / length, details={"edits": edits, "length": length})


@dataclass(frozen=True, slots=True)
class EditDistance:
    """A normalised Levenshtein distance over characters, under one metric's name. Lower is better."""

    name: str
    about: str = ""
    higher_is_better: bool = False

    def score(self, gt: str, pred: str) -> PairScore:
        """Distance of one pair of normalised texts."""
        return edit_score(gt, pred)
