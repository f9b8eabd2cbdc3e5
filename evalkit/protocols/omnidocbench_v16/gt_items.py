"""The annotated blocks of a page as the matching sees them: truncated parts joined, ignored ones left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from evalkit.protocols.omnidocbench_v16.records import GtItem
from evalkit.protocols.omnidocbench_v16.rules import rule
from evalkit.types import Block, BlockKind, GroundTruth, RelationKind

# The order of the categories decides which of two blocks with one reading position comes first.
TEXT_CATEGORIES = (
    BlockKind.TEXT_BLOCK,
    BlockKind.TITLE,
    BlockKind.CODE_TXT,
    BlockKind.CODE_TXT_CAPTION,
    BlockKind.REFERENCE,
    BlockKind.EQUATION_CAPTION,
    BlockKind.FIGURE_CAPTION,
    BlockKind.FIGURE_FOOTNOTE,
    BlockKind.TABLE_CAPTION,
    BlockKind.TABLE_FOOTNOTE,
    "code_algorithm",
    "code_algorithm_caption",
    BlockKind.HEADER,
    BlockKind.FOOTER,
    BlockKind.PAGE_FOOTNOTE,
    BlockKind.PAGE_NUMBER,
)
FORMULA = BlockKind.EQUATION_ISOLATED
TABLE = BlockKind.TABLE
MIXED_CATEGORIES = (*TEXT_CATEGORIES, FORMULA)
CONTENT_FIELD: dict[str, str] = {FORMULA: "latex", TABLE: "html"}


@dataclass(frozen=True, slots=True)
class GtPage:
    """What a page asks for: `mixed` text and formulas together, and formulas and tables alone, in reading order."""

    mixed: tuple[GtItem, ...]
    formulas: tuple[GtItem, ...]
    tables: tuple[GtItem, ...]


def gt_page(truth: GroundTruth) -> GtPage:
    """The items of one annotated page."""
    by_category: dict[str, list[GtItem]] = {}
    for item in _items(truth):
        by_category.setdefault(item.category, []).append(item)
    mixed = [item for category in MIXED_CATEGORIES for item in by_category.get(category, [])]
    return GtPage(
        mixed=in_reading_order(mixed),
        formulas=in_reading_order(by_category.get(FORMULA, [])),
        tables=in_reading_order(by_category.get(TABLE, [])),
    )


@rule(
    stage="assemble",
    order=13,
    example="orders 3, none, 1 -> none, 1, 3",
)
def in_reading_order(items: Iterable[GtItem]) -> tuple[GtItem, ...]:
    """Annotated items by their reading position; those without one come first.

    Source: end2end_dataset.py get_sorted_text_list.
    """
    return tuple(sorted(items, key=lambda item: item.order or 0))


def has_scored_block(truth: GroundTruth, category: str) -> bool:
    """Whether a page counts for an element even when nothing was matched on it.

    Source: end2end_dataset.py _collect_gt_pages_by_element.
    """
    return any(block.kind == category and not block.ignore for block in truth.blocks)


def _items(truth: GroundTruth) -> list[GtItem]:
    groups = truncated_groups(truth)
    grouped = {block_id for group in groups for block_id in group}
    items = [_item(block) for block in truth.blocks if block.block_id not in grouped and not block.ignore]
    last = {block.block_id: block for block in truth.blocks if block.block_id in grouped}
    for group in groups:
        parts = [last[block_id] for block_id in group if block_id in last]
        if parts and not any(block.ignore for block in parts):
            items.append(join_truncated(parts))
    return items


@rule(stage="assemble", order=10, example="relations 1-2 and 2-3 -> one group {1, 2, 3}")
def truncated_groups(truth: GroundTruth) -> list[list[int | str]]:
    """Ids of blocks that are one block cut by a column or page break.

    Source: end2end_dataset.py get_page_elements.
    """
    groups: list[set[int | str]] = []
    for relation in truth.relations:
        if relation.kind != RelationKind.TRUNCATED:
            continue
        joined: set[int | str] = {relation.source_id, relation.target_id}
        apart = []
        for group in groups:
            if group & joined:
                joined |= group
            else:
                apart.append(group)
        groups = [*apart, joined]
    return [_steady_order(group, truth) for group in groups]


def _steady_order(group: set[int | str], truth: GroundTruth) -> list[int | str]:
    # Among equal reading positions the official order is that of a set: fixed for integers, for texts it would
    # change from run to run, so the order of the file is taken.
    if all(isinstance(block_id, int) for block_id in group):
        return list(group)
    place = {block.block_id: index for index, block in enumerate(truth.blocks)}
    return sorted(group, key=lambda block_id: place.get(block_id, len(place)))


@rule(
    stage="assemble",
    order=11,
    example='"The qu" (order 1) + "ick fox" (order 5) -> "The quick fox" at order 1, without attributes',
)
def join_truncated(parts: Sequence[Block]) -> GtItem:
    """Parts of a truncated block as one item, in the place and category of its first part.

    Source: end2end_dataset.py get_page_elements. A group with an ignored part is left out as a whole.
    Quirk: The joined block loses its attributes, so it is missing from every attribute group.
    """
    ordered = sorted(parts, key=lambda block: block.order or 0)
    first = ordered[0]
    field = CONTENT_FIELD.get(first.kind, "text")
    return GtItem(
        category=first.kind,
        content="".join(spelled(block, field) for block in ordered),
        order=_position(first.order),
        block_ids=tuple(block.block_id for block in ordered if block.block_id is not None),
    )


def _item(block: Block) -> GtItem:
    return GtItem(
        category=block.kind,
        content=spelled(block, CONTENT_FIELD.get(block.kind, "text")),
        order=_position(block.order),
        attributes=block.attributes,
        block_ids=() if block.block_id is None else (block.block_id,),
    )


@rule(stage="assemble", order=12, example='text: null -> "None"')
def spelled(block: Block, field: str) -> str:
    """The annotated text, LaTeX or HTML of a block.

    Source: match.py get_gt_pred_lines, which takes str() of the annotated value.
    Quirk: A null in the annotation is scored as the word None; a missing field is an empty text.
    """
    value: Any = getattr(block, field)
    if value is not None:
        return str(value)
    annotation = block.annotation or {}
    return "None" if field in annotation else ""


def _position(order: float | None) -> float | None:
    if order is not None and float(order).is_integer():
        return int(order)
    return order
