"""The record of one match: what is compared with what, and by which rule the two were joined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class MatchRule(StrEnum):
    """How a pair came about."""

    ONLY_PAIR = "only_pair"
    """One annotated block and one predicted piece: compared as they are."""
    ASSIGNMENT = "assignment"
    """The cheapest assignment of single pieces."""
    MERGED_PRED = "merged_pred"
    """The cheapest assignment; several predicted pieces were first joined."""
    CONTAINED_GT = "contained_gt"
    """An annotated block found inside a longer predicted piece."""
    MERGED_GT = "merged_gt"
    """An assigned pair that further annotated blocks joined because they are contained in the piece."""
    IGNORED_CATEGORY = "ignored_category"
    """A block of a category that is not scored, taken out with its close prediction before the assignment."""
    LEFTOVER = "leftover"
    """Blocks and pieces that nothing joined, paired for the record; their edit is 1."""
    UNMATCHED_GT = "unmatched_gt"
    UNMATCHED_PRED = "unmatched_pred"


@dataclass(frozen=True, slots=True)
class PairRecord:
    """Annotated blocks and predicted pieces that are compared with each other.

    `gt_idx` and `pred_idx` number the lines that were matched (non-empty ones, formulas split into rows);
    () is unmatched, in the official layout `[""]`. `gt_position` and `gt_attributes` have one entry for each
    of gt_idx. A position of None is `""` in the official layout. An empty category is no category.
    `edit` is the normalised edit distance; the integer 1 where nothing was compared, as the official writes it.
    """

    gt_idx: tuple[int, ...] = ()
    gt: str = ""
    norm_gt: str = ""
    gt_category: str = ""
    gt_position: tuple[float | None, ...] = ()
    gt_attributes: tuple[Mapping[str, Any], ...] = ()
    pred_idx: tuple[int, ...] = ()
    pred: str = ""
    norm_pred: str = ""
    pred_category: str = ""
    pred_position: int | None = None
    edit: float = 1
    page_id: str = ""
    rule: str = ""
