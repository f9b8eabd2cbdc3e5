"""Formulas of a page laid out for matching: rows split, empty ones dropped, distances computed once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from evalkit.protocols.omnidocbench_v16.formula_rows import split_gt_rows, split_pred_rows
from evalkit.protocols.omnidocbench_v16.normalize.formula import normalize_formula
from evalkit.protocols.omnidocbench_v16.records import GtItem, PredItem

INLINE = "equation_inline"
ISOLATED = "equation_isolated"
# Found in prose, an image description or a table cell: scored as display formulas.
RESCUED = frozenset({"text_formula", "image_formula", "formula_rescue", "table_formula_rescue"})


@dataclass(frozen=True, slots=True)
class PredFormula:
    """A predicted formula, or a row or a run of rows of one; `source` numbers the formula that it comes from."""

    item: PredItem
    source: int

    @property
    def category(self) -> str:
        """The category that a match with this formula shows."""
        return scored_category(self.item.fine_category or self.item.category)


@dataclass(frozen=True, slots=True)
class GtFormulas:
    """Annotated formulas of a page, multi-line ones split into rows.

    `lines` and `norms` hold the non-empty rows; `items` all of them.
    Quirk: both are indexed by line number, so after an empty row a line has its neighbour's position.
    """

    items: tuple[GtItem, ...]
    lines: tuple[str, ...]
    norms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PredFormulas:
    """Predicted formulas in the order of their positions; `lines` and `norms` as in GtFormulas."""

    items: tuple[PredFormula, ...]
    lines: tuple[str, ...]
    norms: tuple[str, ...]


@dataclass(slots=True)
class Distances:
    """Edits between every annotated row and the predicted texts asked for, each text computed once."""

    gt_norms: tuple[str, ...]
    _columns: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    def edits(self, preds: Sequence[str]) -> NDArray[np.int64]:
        """Edit counts, one row an annotated formula and one column a predicted text."""
        unknown = [text for text in dict.fromkeys(preds) if text not in self._columns]
        if unknown:
            found = cdist(self.gt_norms, unknown, scorer=Levenshtein.distance, dtype=np.int64)
            self._columns.update(zip(unknown, found.T, strict=True))
        if not preds:
            return np.zeros((len(self.gt_norms), 0), dtype=np.int64)
        return np.stack([self._columns[text] for text in preds], axis=1)

    def lengths(self, preds: Sequence[str]) -> NDArray[np.int64]:
        """The longer length of every annotated row and predicted text."""
        gt = np.array([len(text) for text in self.gt_norms], dtype=np.int64)
        pred = np.array([len(text) for text in preds], dtype=np.int64)
        return np.maximum(gt[:, None], pred[None, :])


def scored_category(category: str) -> str:
    """A category as matches show it: every rescued formula counts as a display formula."""
    return ISOLATED if category in RESCUED else category


def gt_formulas(items: Iterable[GtItem]) -> GtFormulas:
    """Annotated formulas with multi-line ones split into rows."""
    rows = tuple(split_gt_rows(items))
    kept = [(row.content, norm) for row in rows if row.content and (norm := normalize_formula(row.content))]
    return GtFormulas(rows, tuple(line for line, _ in kept), tuple(norm for _, norm in kept))


def in_position_order(formulas: Iterable[PredFormula]) -> list[PredFormula]:
    """Predicted formulas by start; at one start display before inline, then the shorter."""
    return sorted(formulas, key=lambda one: (one.item.position[0], one.category == INLINE, one.item.position[1]))


def split_into_rows(formulas: Iterable[PredFormula]) -> list[PredFormula]:
    """Predicted formulas with multi-line ones split into rows that remember their formula."""
    return [replace(one, item=row) for one in formulas for row in split_pred_rows([one.item])]


def pred_formulas(ordered: Sequence[PredFormula]) -> PredFormulas:
    """Predicted formulas laid out for matching."""
    contents = (one.item.content for one in ordered)
    kept = [(content, norm) for content in contents if content and (norm := normalize_formula(content))]
    return PredFormulas(tuple(ordered), tuple(line for line, _ in kept), tuple(norm for _, norm in kept))
