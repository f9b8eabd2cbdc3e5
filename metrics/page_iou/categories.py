"""Which annotated categories belong to which broad layout class, and which are only accepted there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from evalkit.types import BlockKind


class LayoutClass(StrEnum):
    """The broad classes that layout is judged by; predictions name one of the first four, or OTHER_LABEL."""

    TEXT = "text"
    TABLE = "table"
    FORMULA = "formula"
    IMAGE = "image"
    FULL_PAGE = "full_page"


OTHER_LABEL = "other"
"""A predicted region that counts for the full page alone, such as a seal or a blank form field."""

NOT_COUNTED = "none"
"""A predicted block that is no region of its own, such as a container whose members are predicted too."""

PREDICTED_LABELS = (LayoutClass.TEXT, LayoutClass.TABLE, LayoutClass.FORMULA, LayoutClass.IMAGE, OTHER_LABEL)

OVERALL_CLASSES = (LayoutClass.TEXT, LayoutClass.IMAGE, LayoutClass.TABLE, LayoutClass.FORMULA)
"""Classes in the macro average `overall`; the full page is reported apart."""


@dataclass(frozen=True, slots=True)
class Membership:
    """Categories of one class: missing an included region costs recall, an accepted one may be predicted or not."""

    include: frozenset[BlockKind]
    accept: frozenset[BlockKind]


_K = BlockKind
_TEXT = frozenset({_K.TEXT_BLOCK, _K.TITLE, _K.REFERENCE, _K.LIST_GROUP, _K.CODE_TXT, _K.CODE_TXT_CAPTION})
_FULL_PAGE = _TEXT | {_K.TABLE, _K.EQUATION_ISOLATED, _K.FIGURE}

MEMBERSHIP: dict[LayoutClass, Membership] = {
    LayoutClass.TEXT: Membership(
        _TEXT,
        frozenset(
            {
                _K.HEADER,
                _K.FOOTER,
                _K.PAGE_NUMBER,
                _K.PAGE_FOOTNOTE,
                _K.TABLE_CAPTION,
                _K.TABLE_FOOTNOTE,
                _K.FIGURE_CAPTION,
                _K.FIGURE_FOOTNOTE,
                _K.EQUATION_CAPTION,
                _K.ALGORITHM_MASK,
                _K.TEXT_MASK,
            }
        ),
    ),
    LayoutClass.TABLE: Membership(
        frozenset({_K.TABLE}), frozenset({_K.TABLE_CAPTION, _K.TABLE_FOOTNOTE, _K.TABLE_MASK})
    ),
    LayoutClass.FORMULA: Membership(
        frozenset({_K.EQUATION_ISOLATED}),
        frozenset(
            {
                _K.EQUATION_CAPTION,
                _K.EQUATION_SEMANTIC,
                _K.EQUATION_EXPLANATION,
                _K.ORGANIC_CHEMICAL_FORMULA_MASK,
            }
        ),
    ),
    LayoutClass.IMAGE: Membership(
        frozenset({_K.FIGURE}),
        frozenset({_K.FIGURE_CAPTION, _K.FIGURE_FOOTNOTE, _K.ORGANIC_CHEMICAL_FORMULA_MASK, _K.CHART_MASK}),
    ),
    LayoutClass.FULL_PAGE: Membership(_FULL_PAGE, frozenset(BlockKind) - _FULL_PAGE),
}
"""Source: PaDoc paper, appendix B.5, Table 4."""
