"""What CDM renders for a formula row: its formulas, and a prediction with cleaned matrices beside them."""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.protocols.omnidocbench_v16.cdm_matrix import (
    has_matrix,
    has_unspecified_array,
    sanitize_for_cdm,
    without_wrappers,
)
from evalkit.protocols.omnidocbench_v16.match.pair import PairRecord
from evalkit.protocols.omnidocbench_v16.normalize.formula import strip_formula_tags
from evalkit.protocols.omnidocbench_v16.rules import rule

WRAPPERS = (("\\[", "\\]"), ("\\(", "\\)"))


@dataclass(frozen=True, slots=True)
class CdmTexts:
    """The two sides of a row for CDM; the better of `pred` and `pred_alternative` counts."""

    gt: str
    pred: str
    pred_alternative: str | None = None


@rule(stage="score", order=10, example=r"truth \begin{array}{} a \end{array} -> \begin{array}{l} a \end{array}")
def cdm_texts(pair: PairRecord) -> CdmTexts:
    """The formulas of a row for CDM: matrices of the prediction cleaned as an alternative, of the truth if unsettable.

    The official code also has a rule for rows whose prediction is text; rows of that kind never win against the
    other ways to match formulas, so it acts on nothing.
    Source: end2end_dataset.py _attach_formula_cdm_surrogates, formula_cdm.py build_matrix_cdm_variants.
    """
    gt, pred = without_wrappers(pair.gt), without_wrappers(pair.pred)
    if not has_matrix(gt) and not has_matrix(pred):
        return CdmTexts(gt or pair.gt, pair.pred)
    clean_gt = sanitize_for_cdm(gt, gt)
    clean_pred = sanitize_for_cdm(pred, clean_gt or gt)
    shown_gt = clean_gt if has_unspecified_array(gt) and clean_gt else gt
    return CdmTexts(shown_gt or pair.gt, pair.pred, clean_pred if clean_pred not in ("", pred) else None)


def as_rendered(texts: CdmTexts) -> CdmTexts:
    """The texts that the renderer gets."""
    alternative = rendered_pred(texts.pred_alternative) if texts.pred_alternative else ""
    return CdmTexts(without_math_wrappers(texts.gt), rendered_pred(texts.pred), alternative or None)


@rule(stage="score", order=11, example=r"$$\[ x \tag{1} \]$$ -> x")
def without_math_wrappers(text: str) -> str:
    r"""A formula as CDM gets it: without dollars, \[ \], \( \), tags and surrounding blanks.

    Quirk: any run of dollars goes at either end, even where they do not pair.
    Source: cal_metric.py _strip_cdm_math_wrappers.
    """
    for _ in range(2):
        text = text.strip().strip("$").strip()
    for left, right in WRAPPERS:
        if text.startswith(left) and text.endswith(right):
            text = text[2:-2].strip()
    return strip_formula_tags(text).strip()


@rule(stage="score", order=13, example="```latex x ``` -> x")
def rendered_pred(text: str) -> str:
    """A predicted formula as CDM gets it: the content of its last latex fence, without math wrappers.

    Source: cal_metric.py _process_single_cdm_sample.
    """
    return without_math_wrappers(text.split("```latex")[-1].split("```")[0])
