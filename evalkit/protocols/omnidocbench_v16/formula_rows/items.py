"""Formula items replaced by one item for each of their rows."""

from __future__ import annotations

from collections.abc import Iterable

from evalkit.protocols.omnidocbench_v16.records import GtItem, PredItem


def split_gt_rows(items: Iterable[GtItem]) -> list[GtItem]:
    """Annotated items; a multi-line formula becomes its rows, at positions order + 0.001, + 0.002 …"""
    raise NotImplementedError


def split_pred_rows(items: Iterable[PredItem]) -> list[PredItem]:
    """Predicted items; a multi-line formula becomes its rows, each with its own span."""
    raise NotImplementedError


def sort_inline_last(items: Iterable[PredItem]) -> list[PredItem]:
    """Items by start; inline formulas after all others."""
    raise NotImplementedError
