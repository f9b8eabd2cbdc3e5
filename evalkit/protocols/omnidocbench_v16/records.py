"""Records that pass between the protocol's steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class PredItem:
    """A piece of predicted markdown. `position` is its inclusive span in the cleaned markdown.

    `category` is one of the extraction's pools (text_all, equation_isolated, html_table, latex_table,
    md2html_table, code_txt, formula_rescue …); `fine_category` says how it was found.
    """

    category: str
    content: str
    position: tuple[int, int]
    fine_category: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GtItem:
    """An annotated block, or several merged ones, as matching sees it.

    `content` is the text, LaTeX or HTML that is compared. `order` is the reading position.
    """

    category: str
    content: str
    order: float | None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    block_ids: tuple[int | str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
