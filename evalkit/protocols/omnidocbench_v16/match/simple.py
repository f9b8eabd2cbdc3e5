"""Matching of tables, one to one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from evalkit.linear_assignment import linear_sum_assignment
from evalkit.protocols.omnidocbench_v16.match.edits import Costs, costs_between
from evalkit.protocols.omnidocbench_v16.match.lines import TEXT_POOL, GtLines, PredLines, gt_lines, pred_lines
from evalkit.protocols.omnidocbench_v16.match.pair import MatchRule, PairRecord
from evalkit.protocols.omnidocbench_v16.normalize.table import normalize_html_table
from evalkit.protocols.omnidocbench_v16.normalize.table_lines import table_to_text_lines
from evalkit.protocols.omnidocbench_v16.records import GtItem, PredItem
from evalkit.protocols.omnidocbench_v16.rules import rule

TABLE_LINES = frozenset({"html_table", "latex_table"})
TABLE_TEXT = "table_to_text"


@dataclass(frozen=True, slots=True)
class SimpleMatch:
    """Pairs, and the rows of unmatched predicted tables as text pieces (table matching only)."""

    pairs: tuple[PairRecord, ...]
    spare_text: tuple[PredItem, ...] = ()


def match_simple(
    gt_items: Sequence[GtItem], pred_items: Sequence[PredItem], line_type: str, page_id: str
) -> SimpleMatch:
    """Each annotated line with at most one predicted one; `line_type` html_table or latex_table matches tables.

    Source: match.py match_gt2pred_simple. With nothing on either side there are no pairs, where the official stops
    with an error.
    """
    tables = line_type in TABLE_LINES
    gt, pred = _table_lines(gt_items, pred_items) if tables else (gt_lines(gt_items), pred_lines(pred_items))
    if not gt.norms:
        return SimpleMatch(_unmatched_preds(range(len(pred.norms)), pred, page_id))
    costs = costs_between(gt.norms, pred.norms)
    rows, columns = linear_sum_assignment(costs)
    partner = dict(zip(rows.tolist(), columns.tolist(), strict=True))
    pairs = tuple(assigned_pair(line, partner.get(line), gt, pred, costs, page_id) for line in range(len(gt.norms)))
    spare = [piece for piece in range(len(pred.norms)) if piece not in partner.values()] if partner else []
    if tables:
        return SimpleMatch(pairs, tuple(table_text(pred.items[piece] for piece in spare)))
    return SimpleMatch(pairs + _unmatched_preds(spare, pred, page_id))


@rule(stage="match", order=1, example="'<table> … </table>' -> the table normaliser's HTML; other text -> unchanged")
def comparable_table(content: str) -> str:
    """What of a table is compared for matching.

    Source: match.py normalize_table_match_content.
    """
    return normalize_html_table(content) if "<table" in content.lower() else content


@rule(stage="match", order=3, example="an unmatched table of rows 'a b' and 'c d' -> texts 'a b' and 'c d'")
def table_text(items: Iterable[PredItem]) -> list[PredItem]:
    """Predicted tables that no annotated table took, as one text for each row, to be matched with the page's text.

    Source: match.py split_pred_table_to_text_items. The position of a row is the table's start plus its number.
    """
    return [
        replace(
            item,
            content=row,
            category=TEXT_POOL,
            fine_category=TABLE_TEXT,
            position=(item.position[0] + number, item.position[0] + number + len(row)),
        )
        for item in items
        for number, row in enumerate(table_to_text_lines(item.content))
    ]


def _table_lines(gt_items: Sequence[GtItem], pred_items: Sequence[PredItem]) -> tuple[GtLines, PredLines]:
    gts = [(item.content, norm, item.category) for item in gt_items if (norm := comparable_table(item.content))]
    preds = [(item.content, norm) for item in pred_items if (norm := comparable_table(item.content))]
    return (
        GtLines(
            tuple(text for text, _, _ in gts),
            tuple(norm for _, norm, _ in gts),
            tuple(category for _, _, category in gts),
            tuple(gt_items),
        ),
        PredLines(tuple(text for text, _ in preds), tuple(norm for _, norm in preds), tuple(pred_items)),
    )


@rule(
    stage="match", order=2, example="the first predicted table matched -> pair without predicted category and position"
)
def assigned_pair(line: int, piece: int | None, gt: GtLines, pred: PredLines, costs: Costs, page_id: str) -> PairRecord:
    """An annotated line with the piece that the cheapest assignment gives it, or with none at edit 1.

    Source: match.py match_gt2pred_simple.
    Quirk: the first piece, number 0, is shown without category and position.
    """
    pair = PairRecord(
        gt_idx=(line,),
        gt=gt.texts[line],
        norm_gt=gt.norms[line],
        gt_category=gt.categories[line],
        gt_position=(gt.position(line),),
        gt_attributes=(gt.attributes(line),),
        page_id=page_id,
        rule=MatchRule.UNMATCHED_GT,
    )
    if piece is None:
        return pair
    return replace(
        pair,
        pred_idx=(piece,),
        pred=pred.texts[piece],
        norm_pred=pred.norms[piece],
        pred_category=pred.category(piece) if piece else "",
        pred_position=pred.position(piece) if piece else None,
        edit=float(costs[line, piece]),
        rule=MatchRule.ASSIGNMENT,
    )


def _unmatched_preds(pieces: Sequence[int], pred: PredLines, page_id: str) -> tuple[PairRecord, ...]:
    """All unmatched pieces as one pair."""
    if not pieces:
        return ()
    return (
        PairRecord(
            pred_idx=tuple(pieces),
            pred="".join(pred.texts[piece] for piece in pieces),
            norm_pred="".join(pred.norms[piece] for piece in pieces),
            pred_category=pred.category(pieces[0]),
            pred_position=pred.position(pieces[0]),
            page_id=page_id,
            rule=MatchRule.UNMATCHED_PRED,
        ),
    )
