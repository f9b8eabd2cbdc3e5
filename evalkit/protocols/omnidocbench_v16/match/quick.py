"""Matching of the mixed text and formulas of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalkit.protocols.omnidocbench_v16.match.pair import PairRecord
from evalkit.protocols.omnidocbench_v16.records import GtItem, PredItem


@dataclass(frozen=True, slots=True)
class QuickMatch:
    """The pairs of a page. `official_would_time_out` is an estimate from the official's work, not from a clock."""

    pairs: tuple[PairRecord, ...]
    official_would_time_out: bool = False


def match_quick(
    gt_items: Sequence[GtItem],
    pred_items: Sequence[PredItem],
    line_type: str,
    page_id: str,
    *,
    split_pred_formula: bool = True,
) -> list[PairRecord]:
    """The pairs of a page, matched ones first."""
    return list(match_page(gt_items, pred_items, page_id, split_pred_formula=split_pred_formula).pairs)


def match_page(
    gt_items: Sequence[GtItem],
    pred_items: Sequence[PredItem],
    page_id: str,
    *,
    split_pred_formula: bool = True,
) -> QuickMatch:
    """As match_quick, with what is known about the official's work."""
    raise NotImplementedError
