"""Multi-line formulas taken apart into their rows."""

from evalkit.protocols.omnidocbench_v16.formula_rows.items import (
    sort_inline_last,
    split_gt_rows,
    split_pred_rows,
)
from evalkit.protocols.omnidocbench_v16.formula_rows.logic_braces import normalize_logic_braces

__all__ = ["normalize_logic_braces", "sort_inline_last", "split_gt_rows", "split_pred_rows"]
