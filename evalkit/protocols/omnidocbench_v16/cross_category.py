"""Comparison of a formula with a text: both sides are read as plain text."""

from __future__ import annotations

from dataclasses import replace

from evalkit.protocols.omnidocbench_v16.edit import normalized_edit
from evalkit.protocols.omnidocbench_v16.match.pair import PairRecord
from evalkit.protocols.omnidocbench_v16.normalize.formula import strip_formula_delimiters
from evalkit.protocols.omnidocbench_v16.normalize.text import inline_formulas_to_unicode, normalize_text
from evalkit.protocols.omnidocbench_v16.rules import rule

FORMULA_CATEGORIES = frozenset({"equation_isolated", "equation_inline"})


@rule(stage="match", order=60, example="formula \\[x^2\\] matched to the text x² -> both compared as text")
def compare_as_text_across_categories(pair: PairRecord) -> PairRecord:
    """A pair of which one side is a formula and the other a text, with both sides read as text.

    Source: end2end_dataset.py _adapt_cross_category_norm.
    """
    if not pair.gt_category or not pair.pred_category:
        return pair
    if is_formula(pair.gt_category) == is_formula(pair.pred_category):
        return pair
    gt = as_text(pair.gt_category, pair.gt)
    pred = as_text(pair.pred_category, pair.pred)
    norm_gt, norm_pred = normalize_text(gt), normalize_text(pred)
    return replace(
        pair, gt=gt, pred=pred, norm_gt=norm_gt, norm_pred=norm_pred, edit=normalized_edit(norm_gt, norm_pred)
    )


def is_formula(category: str) -> bool:
    """Whether a category is a display or an inline formula."""
    return category in FORMULA_CATEGORIES


def as_text(category: str, content: str) -> str:
    """Content as text: inline formulas become Unicode, a formula first loses its delimiters.

    Source: end2end_dataset.py _cross_category_text with its default settings.
    """
    return inline_formulas_to_unicode(strip_formula_delimiters(content) if is_formula(category) else content)
