"""CDM of all formula rows of a data set: rendered together, the better of two predictions kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from evalkit.protocols.omnidocbench_v16.cdm_text import CdmTexts, as_rendered
from evalkit.protocols.omnidocbench_v16.elements import FORMULA
from evalkit.protocols.omnidocbench_v16.rules import rule
from evalkit.protocols.result import PageResult, ScoredPair
from evalkit.types import PairScore

METRIC = "formula_cdm"
# States of a side, as the metric names them.
DRAWN, NOTHING = "ok", "empty"


def with_cdm(
    results: Sequence[PageResult], metric: Any, *, workers: int, progress: Callable[[int, int], None]
) -> list[PageResult]:
    """The results with a CDM score for every formula row. Rows without a prediction are scored too: they get 0."""
    texts = [as_rendered(CdmTexts(**scored.pair.details["cdm"])) for scored in _formulas(results)]
    pairs = [(text.gt, text.pred) for text in texts]
    alternatives = [(text.gt, text.pred_alternative) for text in texts if text.pred_alternative is not None]
    scores = list(metric.score_many([*pairs, *alternatives], workers=workers, progress=progress))
    firsts, seconds = iter(scores[: len(pairs)]), iter(scores[len(pairs) :])
    best = iter([better(next(firsts), None if text.pred_alternative is None else next(seconds)) for text in texts])
    return [_with_scores(result, best) for result in results]


def _with_scores(result: PageResult, best: Iterator[PairScore]) -> PageResult:
    pairs = tuple(_with_score(scored, best) for scored in result.pairs)
    scores = [scored.scores[METRIC].details for scored in pairs if METRIC in scored.scores]
    failures = {
        "cdm_gt_failures": sum(details.get("gt_state", DRAWN) != DRAWN for details in scores),
        "cdm_pred_failures": sum(details.get("pred_state", DRAWN) not in (DRAWN, NOTHING) for details in scores),
    }
    return replace(result, pairs=pairs, counts={**result.counts, **failures})


def _formulas(results: Sequence[PageResult]) -> Iterator[ScoredPair]:
    return (scored for result in results for scored in result.pairs if scored.pair.element == FORMULA)


def _with_score(scored: ScoredPair, best: Iterator[PairScore]) -> ScoredPair:
    if scored.pair.element != FORMULA:
        return scored
    return replace(scored, scores={**scored.scores, METRIC: next(best)})


@rule(stage="score", order=14, example="raw matrix 0.7, cleaned matrix 0.9 -> 0.9")
def better(first: PairScore, alternative: PairScore | None) -> PairScore:
    """The score of the prediction, or of its cleaned variant where that is higher.

    Source: cal_metric.py _process_single_cdm_sample.
    """
    if alternative is None or (alternative.value or 0.0) <= (first.value or 0.0):
        return first
    return replace(alternative, details={**alternative.details, "alternative": True})


def unrenderable_truth(results: Sequence[PageResult]) -> list[dict[str, Any]]:
    """Annotated formulas that cannot be drawn, each with its page and why; every prediction of them scores 0."""
    return [
        {
            "page_id": scored.pair.page_id,
            "gt_idx": list(scored.pair.gt_idx),
            "formula": scored.pair.details["cdm"]["gt"],
            "state": details["gt_state"],
            "note": details.get("gt_note"),
        }
        for scored in _formulas(results)
        if METRIC in scored.scores and (details := scored.scores[METRIC].details).get("gt_state", DRAWN) != DRAWN
    ]
