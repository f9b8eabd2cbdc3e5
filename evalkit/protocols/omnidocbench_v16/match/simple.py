"""Matching of tables, one to one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalkit.protocols.omnidocbench_v16.match.pair import PairRecord
from evalkit.protocols.omnidocbench_v16.records import GtItem, PredItem


@dataclass(frozen=True, slots=True)
class SimpleMatch:
    """Pairs, and the rows of unmatched predicted tables as text pieces (table matching only)."""

    pairs: tuple[PairRecord, ...]
    spare_text: tuple[PredItem, ...] = ()


def match_simple(
    gt_items: Sequence[GtItem], pred_items: Sequence[PredItem], line_type: str, page_id: str
) -> SimpleMatch:
    """Each annotated block with at most one predicted one; `line_type` is html_table, latex_table or another."""
    raise NotImplementedError
