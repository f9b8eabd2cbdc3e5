"""Scores of a page's pairs: every metric but CDM, which renders all formulas of a run together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

from evalkit import registry
from evalkit.protocols.omnidocbench_v16.cdm_text import cdm_texts
from evalkit.protocols.omnidocbench_v16.elements import FORMULA, ORDER, PAGE_METRICS, TABLE, TEXT
from evalkit.protocols.omnidocbench_v16.gt_items import GtPage
from evalkit.protocols.omnidocbench_v16.match.pair import PairRecord
from evalkit.protocols.omnidocbench_v16.normalize.table import normalize_table
from evalkit.protocols.omnidocbench_v16.page import PageMatch, match_page
from evalkit.protocols.omnidocbench_v16.policy import POLICY, LatexTables
from evalkit.protocols.omnidocbench_v16.reading_order import OrderPair
from evalkit.protocols.omnidocbench_v16.rules import rule
from evalkit.protocols.omnidocbench_v16.waste import ends_in_loop
from evalkit.protocols.omnidocbench_v16.work_limits import watch_limits
from evalkit.protocols.result import PageResult, ScoredPair
from evalkit.types import MatchedPair


def score_page(
    gt: GtPage, page_id: str, markdown: str, *, latex_tables: LatexTables = POLICY.normalize.latex_tables
) -> PageResult:
    """The scored pairs of one page. Where a limit on work was met, the page and each of its pairs say which."""
    with watch_limits() as met:
        match = match_page(gt, markdown, page_id, latex_tables=latex_tables)
        pairs = [
            *(_scored(_matched(pair, TEXT, page_id)) for pair in match.text),
            *(_scored(_formula(pair, page_id)) for pair in match.formulas),
            *(_scored(_matched(table_pair(pair), TABLE, page_id)) for pair in match.tables),
            *(_scored(_order(pair, page_id)) for pair in _present(match.order)),
        ]
    counts = {**_counts(match, pairs, markdown), "work_limited_pages": int(bool(met))}
    if not met:
        return PageResult(page_id, tuple(pairs), counts)
    limits = sorted(met)
    limited = tuple(_with_limits(pair, limits) for pair in pairs)
    return PageResult(page_id, limited, counts, notes=(f"limits on work were met: {', '.join(limits)}",))


def _with_limits(scored: ScoredPair, limits: list[str]) -> ScoredPair:
    return replace(scored, pair=replace(scored.pair, details={**scored.pair.details, "work_limits": limits}))


@rule(stage="score", order=1, example="<TABLE> and <table> as matched -> both through the table normaliser once more")
def table_pair(pair: PairRecord) -> PairRecord:
    """A table pair with both sides normalised anew from what was matched.

    Source: end2end_dataset.py RecognitionEnd2EndTableDataset.normalize_data.
    """
    return replace(pair, norm_gt=normalize_table(pair.gt), norm_pred=normalize_table(pair.pred))


@rule(stage="score", order=2, example="normalised truth '' of '<TABLE>…' -> '<TABLE>…' is compared")
def compared(normalized: str, raw: str) -> str:
    """The text that is compared: the normalised one, or the raw one where normalising left nothing.

    Quirk: a side that normalises to nothing is compared in its raw form.
    Source: cal_metric.py call_Edit_dist and _score_single_teds_sample.
    """
    return normalized or raw


def _scored(pair: MatchedPair) -> ScoredPair:
    gt, pred = compared(pair.norm_gt, pair.gt), compared(pair.norm_pred, pair.pred)
    return ScoredPair(
        pair, {name: registry.load("metric", name).score(gt, pred) for name in PAGE_METRICS[pair.element]}
    )


def _matched(pair: PairRecord, element: str, page_id: str, further: dict[str, Any] | None = None) -> MatchedPair:
    return MatchedPair(
        page_id=page_id,
        element=element,
        gt_idx=pair.gt_idx,
        pred_idx=pair.pred_idx,
        gt=pair.gt,
        pred=pair.pred,
        norm_gt=pair.norm_gt,
        norm_pred=pair.norm_pred,
        rule=str(pair.rule),
        gt_kind=pair.gt_category or None,
        pred_kind=pair.pred_category or None,
        details={
            "gt_position": list(pair.gt_position),
            "pred_position": pair.pred_position,
            "gt_attribute": [dict(attributes) for attributes in pair.gt_attributes],
            "match_edit": pair.edit,
            **(further or {}),
        },
    )


def _formula(pair: PairRecord, page_id: str) -> MatchedPair:
    return _matched(pair, FORMULA, page_id, {"cdm": asdict(cdm_texts(pair))})


def _order(order: OrderPair, page_id: str) -> MatchedPair:
    gt, pred = json.dumps(order.gt), json.dumps(order.pred)
    return MatchedPair(page_id, ORDER, (), (), gt, pred, gt, pred, rule="reading_order")


def _present(order: OrderPair | None) -> Iterable[OrderPair]:
    return () if order is None else (order,)


def _counts(match: PageMatch, pairs: Sequence[ScoredPair], markdown: str) -> dict[str, int]:
    slow = match.official_would_time_out or any(map(official_teds_would_time_out, pairs))
    return {
        "pred_text_chars": match.waste.text_chars,
        "unmatched_pred_chars": match.waste.unmatched_chars,
        "extra_formulas": match.waste.extra_formulas,
        "extra_tables": match.waste.extra_tables,
        "loop_pages": int(ends_in_loop(markdown)),
        "official_would_time_out_pages": int(slow),
    }


def official_teds_would_time_out(scored: ScoredPair) -> bool:
    """Whether the official would probably give up on a table and score it 0: by its size, not by a clock."""
    elements = scored.scores["table_teds"].details.get("elements", 0) if "table_teds" in scored.scores else 0
    return bool(elements**2 * POLICY.score.official_teds_pair_s > POLICY.score.official_teds_limit_s)
