"""The display formulas of a page: several ways to match them are tried, and the cheapest is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rapidfuzz.distance import Levenshtein

from evalkit.protocols.omnidocbench_v16.formula.alignment import WorkLimitError, align_in_order
from evalkit.protocols.omnidocbench_v16.formula.assignment import assign_one_to_one
from evalkit.protocols.omnidocbench_v16.formula.partitions import partitions
from evalkit.protocols.omnidocbench_v16.formula.prepare import (
    Distances,
    GtFormulas,
    PredFormula,
    PredFormulas,
    gt_formulas,
    in_position_order,
    pred_formulas,
    split_into_rows,
)
from evalkit.protocols.omnidocbench_v16.formula.rows import FormulaRule, is_complete, with_scored_categories
from evalkit.protocols.omnidocbench_v16.formula_rows import normalize_logic_braces
from evalkit.protocols.omnidocbench_v16.match.pair import PairRecord
from evalkit.protocols.omnidocbench_v16.match.quick import match_page
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.records import GtItem
from evalkit.protocols.omnidocbench_v16.rules import rule
from evalkit.protocols.omnidocbench_v16.work_limits import FORMULA_ALIGNMENT, limit_met


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to match the page's formulas. `preds` is what the rows' pred_idx point into."""

    rows: tuple[PairRecord, ...]
    preds: tuple[PredFormula, ...]
    raw_count: int
    rewritten: int = 0
    official_would_time_out: bool = False


@dataclass(frozen=True, slots=True)
class FormulaMatch:
    """The rows of the cheapest way, and whether the official's clock would have run out on the way."""

    rows: tuple[PairRecord, ...]
    official_would_time_out: bool = False


@dataclass(frozen=True, slots=True)
class _Page:
    """What every candidate of a page shares."""

    items: tuple[GtItem, ...]
    page_id: str
    gt: GtFormulas
    distances: Distances


@rule(
    stage="match",
    order=72,
    example="matched with the text at cost 0.8, one to one at 0.5, in order with joined rows at 0.2 -> the last",
)
def match_formulas(
    items: Sequence[GtItem],
    formulas: Sequence[PredFormula],
    matched_with_text: Sequence[PairRecord],
    page_id: str,
) -> FormulaMatch:
    """One row for each annotated formula (row), from the cheapest way to match them.

    `matched_with_text` are the rows that the page's formulas got when matched together with its text.
    Source: end2end_dataset.py _match_display_formula_candidates.
    """
    gt = gt_formulas(items)
    if not gt.lines:
        return FormulaMatch(())
    page = _Page(tuple(items), page_id, gt, Distances(gt.norms))
    best: Candidate | None = None
    best_cost: Cost | None = None
    slow = False
    for candidate in _candidates(page, formulas, with_scored_categories(matched_with_text)):
        slow = slow or candidate.official_would_time_out
        cost = candidate_cost(candidate)
        if best_cost is None or _cheaper(cost, best_cost):
            best, best_cost = candidate, cost
    return FormulaMatch(best.rows if best else (), slow)


def _candidates(
    page: _Page, formulas: Sequence[PredFormula], matched_with_text: tuple[PairRecord, ...]
) -> Iterator[Candidate]:
    """Ways to match, in the order in which the first of equally good ones wins."""
    ordered = in_position_order(formulas)
    if is_complete(matched_with_text, len(page.gt.lines)):
        yield Candidate(matched_with_text, tuple(ordered), len(ordered))
    yield from _whole(page, formulas, ordered, 0)
    yield from _cut(page, ordered, 0)
    rewritten, count = with_logic_braces(formulas)
    if count:
        ordered = in_position_order(rewritten)
        yield from _whole(page, rewritten, ordered, count)
        yield from _cut(page, ordered, count)


def _whole(
    page: _Page, formulas: Sequence[PredFormula], ordered: Sequence[PredFormula], rewritten: int
) -> Iterator[Candidate]:
    """Predicted formulas as they are: by the text matcher, one to one, and in reading order.

    The official code also tries the reading order with gaps here; gaps are permitted only within one split
    formula, so that result is always the same.
    """
    preds = pred_formulas(ordered)
    matched = match_page(page.items, [one.item for one in formulas], page.page_id, split_pred_formula=False)
    quick = with_scored_categories(matched.pairs)
    one_to_one = assign_one_to_one(page.gt, preds, page.distances, FormulaRule.ONE_TO_ONE)
    for rows in (quick, one_to_one, _aligned(page, preds, gaps=False, joined_by=FormulaRule.IN_ORDER)):
        if is_complete(rows, len(page.gt.lines)):
            candidate = _candidate(rows, preds, ordered, rewritten)
            yield replace(candidate, official_would_time_out=matched.official_would_time_out)


def _aligned(page: _Page, preds: PredFormulas, *, gaps: bool, joined_by: FormulaRule) -> tuple[PairRecord, ...]:
    """The rows of the best alignment; none for one that would take too much work."""
    try:
        return align_in_order(page.gt, preds, page.distances, gaps=gaps, joined_by=joined_by)
    except WorkLimitError:
        limit_met(FORMULA_ALIGNMENT)
        return ()


def _cut(page: _Page, ordered: Sequence[PredFormula], rewritten: int) -> Iterator[Candidate]:
    """Multi-line predicted formulas cut into rows: every partition one to one, then all rows in reading order."""
    seen = set()
    for formulas in partitions(ordered):
        preds = pred_formulas(in_position_order(formulas))
        found = assign_one_to_one(page.gt, preds, page.distances, FormulaRule.ROWS_ONE_TO_ONE)
        shape = tuple(
            (row.gt_position, row.pred_idx, round(row.edit, POLICY.formula.same_edit_digits)) for row in found
        )
        if shape not in seen:
            seen.add(shape)
            yield _candidate(found, preds, ordered, rewritten)
    rows = split_into_rows(ordered)
    if len(rows) == len(ordered):
        return
    preds = pred_formulas(rows)
    for gaps, joined_by in ((False, FormulaRule.ROWS_IN_ORDER), (True, FormulaRule.ROWS_IN_ORDER_WITH_GAPS)):
        aligned = _aligned(page, preds, gaps=gaps, joined_by=joined_by)
        if aligned:
            yield _candidate(aligned, preds, ordered, rewritten)


def _candidate(
    rows: tuple[PairRecord, ...], preds: PredFormulas, ordered: Sequence[PredFormula], rewritten: int
) -> Candidate:
    return Candidate(with_scored_categories(rows), preds.items, len(ordered), rewritten)


@rule(
    stage="match",
    order=78,
    example=r"\begin{cases} ... \end{cases} with a logic marker -> \left\{ \begin{array}{l} ... \end{array} \right.",
)
def with_logic_braces(formulas: Sequence[PredFormula]) -> tuple[list[PredFormula], int]:
    """Predicted formulas with case braces of a logical argument rewritten as arrays, and how many changed.

    Source: end2end_dataset.py _normalize_formula_logic_brace_pred_items.
    """
    rewritten = []
    changed = 0
    for formula in formulas:
        content = normalize_logic_braces(formula.item.content)
        if content != formula.item.content:
            changed += 1
            formula = replace(formula, item=replace(formula.item, content=content))
        rewritten.append(formula)
    return rewritten, changed


@dataclass(frozen=True, slots=True)
class Cost:
    """What a candidate costs; lower is better, compared in the order of the fields."""

    distance: float
    edit_share: float
    unused_formulas: float
    mean_distance: float
    not_rewritten: float
    unmatched: float


@rule(
    stage="match",
    order=79,
    example="equal summed distances -> fewer edits a character, then fewer unused predictions, then more rewritten",
)
def candidate_cost(candidate: Candidate) -> Cost:
    """The cost of a candidate.

    Source: end2end_dataset.py _formula_candidate_total_key and _formula_match_page_stats.
    Quirk: Rows matched with the text carry positions in the mixed list, yet these are looked up among the formulas.
    """
    rows = candidate.rows
    matched = [row for row in rows if row.pred_idx]
    length = sum(max(len(row.norm_gt), len(row.norm_pred)) for row in matched)
    edits = sum(Levenshtein.distance(row.norm_gt, row.norm_pred) for row in matched)
    used = {candidate.preds[index].source for row in matched for index in row.pred_idx if index < len(candidate.preds)}
    distance = sum(float(row.edit) for row in rows)
    return Cost(
        distance=distance,
        edit_share=edits / length if length else 0.0,
        unused_formulas=max(0, candidate.raw_count - len(used)),
        mean_distance=distance / len(rows),
        not_rewritten=-candidate.rewritten,
        unmatched=len(rows) - len(matched),
    )


def _cheaper(cost: Cost, best: Cost) -> bool:
    for name in Cost.__slots__:
        value, best_value = getattr(cost, name), getattr(best, name)
        if value + POLICY.formula.tie_tolerance < best_value:
            return True
        if value > best_value + POLICY.formula.tie_tolerance:
            return False
    return False
