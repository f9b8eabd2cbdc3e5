"""TEDS and TEDS-S: one minus the tree edit distance of two tables, relative to the larger one.

Source: Zhong, ShafieiBavani and Jimeno Yepes 2020 (PubTabNet); parity with OmniDocBench src/metrics/table_metric.py.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from enum import StrEnum
from multiprocessing import get_context

from evalkit.types import PairScore
from metrics.teds.costs import rename_matrix
from metrics.teds.distance import Shape, tree_distance
from metrics.teds.tree import NoTableError, SpanError, TableTree, TooLargeError, UnreadableError, parse_table

_POOL_MIN_PAIRS = 64


class TedsReason(StrEnum):
    """Why a pair has no value (WORK_BUDGET), or the value 0 without a comparison (the others)."""

    EMPTY_INPUT = "empty_input"
    NO_TABLE = "no_table"
    OFFICIAL_ERROR = "official_error"
    WORK_BUDGET = "work_budget"


class Teds:
    """Tree edit distance similarity of two HTML tables: at most 1, and below 0 when nothing fits.

    Each side is a document with the table under its body; only the first table counts. Where the official scorer
    raises, the value is 0 as in its results, the reason is OFFICIAL_ERROR and `details["error"]` holds its error.
    A pair over a work budget has no value; `details["budget"]` says which.
    """

    higher_is_better = True

    def __init__(self, name: str, about: str, *, with_content: bool) -> None:
        self.name = name
        self.about = about
        self._with_content = with_content

    def score(self, gt: str, pred: str) -> PairScore:
        """TEDS of one pair."""
        trees = _read(gt, pred)
        return trees if isinstance(trees, PairScore) else _compare(*trees, with_content=self._with_content)

    def score_many(
        self,
        pairs: Sequence[tuple[str, str]],
        *,
        workers: int = 1,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[PairScore]:
        """Scores in the order of the pairs. Few pairs are scored in this process: starting others takes longer."""
        if workers > 1 and len(pairs) >= _POOL_MIN_PAIRS:
            pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_leave_interrupts)
            try:
                return _collect(pool.map(self._score_pair, pairs, chunksize=8), len(pairs), progress)
            finally:
                pool.shutdown(cancel_futures=True)
        return _collect(map(self._score_pair, pairs), len(pairs), progress)

    def _score_pair(self, pair: tuple[str, str]) -> PairScore:
        return self.score(*pair)


TEDS = Teds(
    "table_teds", "Tree edit distance similarity of two HTML tables with their content; 1 is best.", with_content=True
)
TEDS_S = Teds("table_teds_s", "The same of their structure alone (TEDS-S); 1 is best.", with_content=False)


def teds_both(gt: str, pred: str) -> tuple[PairScore, PairScore]:
    """TEDS and TEDS-S of one pair, from one parse."""
    trees = _read(gt, pred)
    if isinstance(trees, PairScore):
        return trees, trees
    return _compare(*trees, with_content=True), _compare(*trees, with_content=False)


def _leave_interrupts() -> None:
    """Ctrl-C reaches every process of the terminal; the one that started the workers ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _collect(scores: Iterable[PairScore], total: int, progress: Callable[[int, int], None] | None) -> list[PairScore]:
    collected = []
    for score in scores:
        collected.append(score)
        if progress is not None:
            progress(len(collected), total)
    return collected


def _read(gt: str, pred: str) -> tuple[TableTree, TableTree] | PairScore:
    """Both tables, or the score of a pair without two readable ones.

    Which failure counts follows the official order: parsing before looking for tables before reading spans, and
    the prediction before the truth.
    """
    if not gt or not pred:
        return PairScore(0.0, TedsReason.EMPTY_INPUT)
    trees: list[TableTree] = []
    failures: list[ValueError] = []
    for document in (pred, gt):
        try:
            trees.append(parse_table(document))
        except (UnreadableError, NoTableError, SpanError, TooLargeError) as error:
            failures.append(error)
    if not failures:
        return trees[1], trees[0]
    order = (TooLargeError, UnreadableError, NoTableError, SpanError)
    return _failed(min(failures, key=lambda error: order.index(type(error))))


def _failed(error: ValueError) -> PairScore:
    if isinstance(error, TooLargeError):
        return PairScore(None, TedsReason.WORK_BUDGET, {"budget": str(error)})
    if isinstance(error, NoTableError):
        return PairScore(0.0, TedsReason.NO_TABLE)
    return PairScore(0.0, TedsReason.OFFICIAL_ERROR, {"error": str(error)})


def _compare(gt: TableTree, pred: TableTree, *, with_content: bool) -> PairScore:
    elements = max(gt.element_count, pred.element_count)
    if elements == 0:
        return PairScore(0.0, TedsReason.OFFICIAL_ERROR, {"error": "ZeroDivisionError: float division by zero"})
    if _equal(gt, pred, with_content=with_content):
        return PairScore(1.0, details={"distance": 0.0, "elements": elements})
    try:
        distance = tree_distance(
            Shape(gt.leftmost), Shape(pred.leftmost), lambda: rename_matrix(gt, pred, with_content=with_content)
        )
    except TooLargeError as error:
        return _failed(error)
    return PairScore(1.0 - distance / elements, details={"distance": distance, "elements": elements})


def _equal(gt: TableTree, pred: TableTree, *, with_content: bool) -> bool:
    same = gt.leftmost == pred.leftmost and gt.kinds == pred.kinds
    return same and (not with_content or gt.texts == pred.texts)
