"""Reading-order edit distance between two sequences of block positions, 0 best."""

from __future__ import annotations

import json

from evalkit.errors import UserError
from evalkit.types import PairScore
from metrics.edit_distance import edit_score


class ReadOrderEdit:
    """Normalised Levenshtein distance of the blocks' order, each side a JSON array of positions. Lower is better."""

    name = "read_order_edit"
    higher_is_better = False

    def score(self, gt: str, pred: str) -> PairScore:
        """Distance of one page's sequences. Raises UserError when a side is not a JSON array of numbers."""
        return edit_score(_positions(gt), _positions(pred))


def _positions(text: str) -> list[float]:
    try:
        values = json.loads(text) if text else []
    except ValueError as error:
        raise UserError(f"read_order_edit: expected a JSON array of numbers, found {text[:40]!r}") from error
    if not isinstance(values, list) or not all(_is_number(value) for value in values):
        raise UserError(f"read_order_edit: expected a JSON array of numbers, found {text[:40]!r}")
    return values


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


METRIC = ReadOrderEdit()
