"""Items and official rows of small pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from evalkit.protocols.omnidocbench_v16.match.pair import PairRecord
from evalkit.protocols.omnidocbench_v16.records import GtItem, PredItem


def texts(*contents: str, category: str = "text_block") -> list[GtItem]:
    """Annotated items at reading positions 1, 2 and so on."""
    return [GtItem(category, content, order) for order, content in enumerate(contents, start=1)]


def pieces(*contents: str, category: str = "text_all", fine_category: str | None = "text_block") -> list[PredItem]:
    """Predicted items one after another."""
    items = []
    start = 0
    for content in contents:
        items.append(PredItem(category, content, (start, start + len(content)), fine_category))
        start += len(content) + 1
    return items


def gt_item(block: Mapping[str, Any]) -> GtItem:
    """An annotated item from an OmniDocBench block."""
    content = block.get("latex" if block["category_type"] == "equation_isolated" else "text", "")
    return GtItem(block["category_type"], content, block.get("order"), block.get("attribute", {}))


def pred_item(item: Mapping[str, Any]) -> PredItem:
    """A predicted item from an official one."""
    start, end = item["position"]
    return PredItem(item["category_type"], item["content"], (start, end), item.get("fine_category_type"))


def official_row(pair: PairRecord) -> dict[str, Any]:
    """A pair in the official layout, without the page."""
    return {
        "gt_idx": list(pair.gt_idx) or [""],
        "gt": pair.gt,
        "norm_gt": pair.norm_gt,
        "gt_category_type": pair.gt_category,
        "gt_position": _positions(pair.gt_position) or [""],
        "gt_attribute": [dict(one) for one in pair.gt_attributes] or [{}],
        "pred_idx": list(pair.pred_idx) or [""],
        "pred": pair.pred,
        "norm_pred": pair.norm_pred,
        "pred_category_type": pair.pred_category,
        "pred_position": "" if pair.pred_position is None else pair.pred_position,
        "edit": pair.edit,
    }


def _positions(positions: Iterable[float | None]) -> list[Any]:
    return ["" if position is None else position for position in positions]
