"""Why a page's truth is not perfect against itself: the rule or quirk behind every pair that loses points."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from evalkit import registry
from evalkit.protocols.omnidocbench_v16.elements import ORDER, TABLE
from evalkit.protocols.omnidocbench_v16.extract.cleaning import clean_markdown
from evalkit.protocols.omnidocbench_v16.extract.page import extract
from evalkit.protocols.omnidocbench_v16.gt_items import gt_page
from evalkit.protocols.omnidocbench_v16.normalize.text import normalize_text
from evalkit.protocols.omnidocbench_v16.score import score_page
from evalkit.protocols.omnidocbench_v16.truth_markdown import truth_markdown
from evalkit.protocols.result import PageResult, ScoredPair
from evalkit.types import GroundTruth

TOLERANCE = 1e-9
SHOWN_CHARS = 60


@dataclass(frozen=True, slots=True)
class Imperfection:
    """A pair of the truth with itself that is not perfect. `rule` names what costs the points, None if unknown."""

    page_id: str
    element: str
    metric: str
    value: float
    text: str
    rule: str | None
    cause: str


def check_page(truth: GroundTruth) -> list[Imperfection]:
    """What is not perfect when the page's own markdown is scored against it."""
    markdown = truth_markdown(truth)
    result = score_page(gt_page(truth), truth.page.page_id, markdown)
    return [
        Imperfection(
            truth.page.page_id, scored.pair.element, metric, value, _shown(scored), *_cause(scored, result, markdown)
        )
        for scored in result.pairs
        for metric, value in _losses(scored)
    ]


def _losses(scored: ScoredPair) -> Iterator[tuple[str, float]]:
    for metric, score in scored.scores.items():
        best = 1.0 if registry.load("metric", metric).higher_is_better else 0.0
        if score.value is not None and abs(score.value - best) > TOLERANCE:
            yield metric, score.value


def _shown(scored: ScoredPair) -> str:
    text = " ".join(scored.pair.gt.split())
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"


def _cause(scored: ScoredPair, result: PageResult, markdown: str) -> tuple[str | None, str]:
    pair = scored.pair
    if pair.element == ORDER:
        return _order_cause(scored, result)
    if not pair.pred_idx:
        return _missing_cause(scored, markdown)
    if normalize_text(clean_markdown(pair.gt)) == pair.norm_pred:
        return (
            "clean_markdown",
            "the prediction is cleaned before it is read (long runs of a character shortened, …), the truth is not",
        )
    if pair.norm_pred and pair.norm_pred in pair.norm_gt:
        return "extract", "only a part of the block was matched: the prediction was taken apart inside it"
    return None, f"joined by {pair.rule}; the normalised texts differ"


def _order_cause(scored: ScoredPair, result: PageResult) -> tuple[str | None, str]:
    lost = set(json.loads(scored.pair.gt)) - set(json.loads(scored.pair.pred))
    first_tables = {
        position
        for other in result.pairs
        if other.pair.element == TABLE and other.pair.pred_idx == (0,)
        for position in other.pair.details["gt_position"]
    }
    if lost and lost <= first_tables:
        return "order_pair", "the first predicted table of a page has no position, so it is missing from the order"
    if lost:
        return "order_pair", f"blocks at {', '.join(map(str, sorted(lost)))} have no position in the prediction"
    return "order_pair", "joined blocks follow the first of them"


def _missing_cause(scored: ScoredPair, markdown: str) -> tuple[str | None, str]:
    wanted = normalize_text(scored.pair.gt)
    for kind, items in extract(markdown).items():
        for item in items:
            if wanted and wanted in normalize_text(item.content):
                return "extract", f"the block is read as {item.fine_category or kind}"
    return "extract", "the block is in no piece of the prediction"
