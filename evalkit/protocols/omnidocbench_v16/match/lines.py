"""The lines of a page that take part in the matching: non-empty ones, normalised, numbered from 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from evalkit.protocols.omnidocbench_v16.normalize.formula import normalize_formula
from evalkit.protocols.omnidocbench_v16.normalize.text import normalize_text
from evalkit.protocols.omnidocbench_v16.records import GtItem, PredItem
from evalkit.protocols.omnidocbench_v16.rules import rule

FORMULA = "equation_isolated"
Item = TypeVar("Item")
TEXT_POOL = "text_all"
UNSCORED_TEXT = frozenset(
    {
        "figure_caption",
        "figure_footnote",
        "table_caption",
        "table_footnote",
        "code_algorithm",
        "code_algorithm_caption",
        "header",
        "footer",
        "page_footnote",
        "page_number",
        "equation_caption",
    }
)
"""Captions, notes, page furniture: matched, so that they take their text away, but not scored."""

TEXT_CATEGORIES = UNSCORED_TEXT | {"code_txt", "code_txt_caption", "reference", "text_block", "title"}


@dataclass(frozen=True, slots=True)
class GtLines:
    """Annotated lines. `items` also has those without a line."""

    texts: tuple[str, ...]
    norms: tuple[str, ...]
    categories: tuple[str, ...]
    items: tuple[GtItem, ...]

    def position(self, line: int) -> float | None:
        """The reading position that a line shows; None for none and for 0."""
        return item_of_line(self.items, line).order or None

    def attributes(self, line: int) -> Mapping[str, Any]:
        """The attributes that a line shows."""
        return item_of_line(self.items, line).attributes


@dataclass(frozen=True, slots=True)
class PredLines:
    """Predicted lines. `items` also has those without a line."""

    texts: tuple[str, ...]
    norms: tuple[str, ...]
    items: tuple[PredItem, ...]

    def position(self, line: int) -> int:
        """The start that a line shows."""
        return item_of_line(self.items, line).position[0]

    def category(self, line: int) -> str:
        """The category that a line shows: how it was found, or else its pool."""
        item = item_of_line(self.items, line)
        return item.fine_category or item.category


@rule(stage="match", order=21, example="items A, (empty), B -> line 1 is B with the position of the empty item")
def item_of_line(items: Sequence[Item], line: int) -> Item:
    """The item whose position, category and attributes a line shows.

    Source: match.py get_gt_pred_lines.
    Quirk: lines are numbered without the empty items and looked up with them, so behind an empty item each line
    shows its predecessor's facts instead of its own.
    """
    return items[line]


@rule(stage="match", order=20, example="text ' A b ' and formula '$x$' -> 'Ab' and 'x'; a text of spaces -> no line")
def gt_lines(items: Iterable[GtItem]) -> GtLines:
    """Annotated text and formulas, normalised by kind; other categories and empty ones give no line.

    Source: match.py get_gt_pred_lines.
    """
    items = tuple(items)
    kept = [
        (item.content, norm, item.category)
        for item in items
        if item.category == FORMULA or item.category in TEXT_CATEGORIES
        if item.content and (norm := _gt_norm(item))
    ]
    return GtLines(
        tuple(text for text, _, _ in kept),
        tuple(norm for _, norm, _ in kept),
        tuple(category for _, _, category in kept),
        items,
    )


@rule(stage="match", order=22, example="code '  x = 1' -> compared as it is, not normalised")
def pred_lines(items: Iterable[PredItem]) -> PredLines:
    """Predicted text and formulas, normalised by kind; code and other pools stay as they are.

    Source: match.py get_gt_pred_lines.
    """
    items = tuple(items)
    kept = [(item.content, norm) for item in items if item.content and (norm := _pred_norm(item))]
    return PredLines(tuple(text for text, _ in kept), tuple(norm for _, norm in kept), items)


def _gt_norm(item: GtItem) -> str:
    return normalize_formula(item.content) if item.category == FORMULA else normalize_text(item.content)


def _pred_norm(item: PredItem) -> str:
    if item.category == TEXT_POOL:
        return normalize_text(item.content)
    return normalize_formula(item.content) if item.category == FORMULA else item.content
