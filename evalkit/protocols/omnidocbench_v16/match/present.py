"""Groups of lines as the pairs that are scored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from evalkit.protocols.omnidocbench_v16.match.groups import Group
from evalkit.protocols.omnidocbench_v16.match.lines import FORMULA, GtLines, PredLines
from evalkit.protocols.omnidocbench_v16.match.pair import PairRecord
from evalkit.protocols.omnidocbench_v16.normalize.formula import strip_formula_delimiters
from evalkit.protocols.omnidocbench_v16.rules import rule


def present(group: Group, gt: GtLines, pred: PredLines, page_id: str, *, stack_pred: bool = True) -> PairRecord:
    """A group as a pair; `stack_pred` puts several predicted formulas into one array."""
    gt_category = most_common_category(gt.categories[line] for line in group.gts)
    pred_category = pred.category(group.preds[0]) if group.preds else ""
    return PairRecord(
        gt_idx=group.gts,
        gt=join_texts([gt.texts[line] for line in group.gts], stacked=gt_category == FORMULA),
        norm_gt="".join(gt.norms[line] for line in group.gts),
        gt_category=gt_category,
        gt_position=tuple(gt.position(line) for line in group.gts),
        gt_attributes=tuple(gt.attributes(line) for line in group.gts),
        pred_idx=group.preds,
        pred=join_texts([pred.texts[line] for line in group.preds], stacked=stack_pred and "equation" in pred_category),
        norm_pred="".join(pred.norms[line] for line in group.preds),
        pred_category=pred_category,
        pred_position=pred.position(group.preds[0]) if group.preds else None,
        edit=group.edit,
        page_id=page_id,
        rule=group.rule,
    )


@rule(stage="match", order=50, example="text_block, title, title -> title")
def most_common_category(categories: Iterable[str]) -> str:
    """The category of a group of annotated lines: the most frequent, the first of equals; empty for no lines.

    Source: match_quick.py match_gt2pred_quick.
    """
    counted = Counter(categories).most_common(1)
    return counted[0][0] if counted else ""


@rule(stage="match", order=51, example=r"$a$ and $b$ -> \begin{array}{l} {a} \\ {b} \end{array}")
def join_texts(texts: list[str], *, stacked: bool) -> str:
    r"""The texts of a group: formulas stacked in an array so that they can be rendered, others one after another.

    Source: match_quick.py match_gt2pred_quick.
    Quirk: texts are joined without a space.
    """
    if not stacked or len(texts) < 2:
        return "".join(texts)
    rows = r" \\ ".join("{" + strip_formula_delimiters(text) + "}" for text in texts)
    return rf"\begin{{array}}{{l}} {rows} \end{{array}}"
