"""Display formulas: which way of matching wins, and what each way permits."""

from __future__ import annotations

import pytest

from evalkit.protocols.omnidocbench_v16.formula.alignment import WorkLimitError, align_in_order
from evalkit.protocols.omnidocbench_v16.formula.assignment import assign_one_to_one
from evalkit.protocols.omnidocbench_v16.formula.choose import match_formulas, with_logic_braces
from evalkit.protocols.omnidocbench_v16.formula.partitions import partitions
from evalkit.protocols.omnidocbench_v16.formula.pool import formula_candidates
from evalkit.protocols.omnidocbench_v16.formula.prepare import (
    Distances,
    PredFormula,
    gt_formulas,
    in_position_order,
    pred_formulas,
    split_into_rows,
)
from evalkit.protocols.omnidocbench_v16.formula.rows import FormulaRule, is_complete, stack_rows
from evalkit.protocols.omnidocbench_v16.formula.segments import Limits, may_join, segment_limits, segments
from evalkit.protocols.omnidocbench_v16.match.pair import PairRecord
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.records import GtItem, PredItem
from evalkit.protocols.omnidocbench_v16.work_limits import FORMULA_ALIGNMENT, watch_limits

INLINE = "equation_inline"
ALIGNED = r"$$\begin{aligned} a&=b \\ c&=d \\ e&=f \end{aligned}$$"


def truth(*formulas: str) -> list[GtItem]:
    return [GtItem("equation_isolated", f"$${text}$$", order) for order, text in enumerate(formulas, start=1)]


def predicted(*formulas: str | tuple[str, str]) -> list[PredFormula]:
    """Formulas one after the other; (text, fine category) for one that is not a plain display formula."""
    found = []
    for source, entry in enumerate(formulas):
        text, fine = entry if isinstance(entry, tuple) else (entry, None)
        content = text if text.startswith("$$") else f"$${text}$$"
        found.append(
            PredFormula(PredItem("equation_isolated", content, (source * 100, source * 100 + 50), fine), source)
        )
    return found


def shape(rows: tuple[PairRecord, ...] | None) -> list[tuple[tuple[int, ...], float]]:
    return [(row.pred_idx, round(row.edit, 4)) for row in rows or ()]


@pytest.mark.parametrize(
    ("gt", "pred", "expected"),
    [
        pytest.param(["a=b", "c=d"], ["a=b", "c=d"], [((0,), 0), ((1,), 0)], id="equal"),
        pytest.param(["a=b", "c=d"], ["c=d", "a=b"], [((1,), 0), ((0,), 0)], id="swapped-found-one-to-one"),
        pytest.param(["a=b+c"], ["a=b", "+c"], [((0, 1), 0.1667)], id="halves-joined-with-a-blank-between"),
        pytest.param(["a=b", "c=d", "e=f"], [ALIGNED], [((0,), 0), ((1,), 0), ((2,), 0)], id="rows-of-one-formula"),
        pytest.param(
            [r"\begin{aligned} a&=b \\ c&=d \end{aligned}"], ["a=b", "c=d"], [((0,), 0), ((1,), 0)], id="truth-split"
        ),
        pytest.param(["a=b"], [], [((), 1)], id="nothing-predicted"),
        pytest.param([], ["a=b"], [], id="nothing-annotated"),
        pytest.param(["x"], ["long formula that fits nothing at all"], [((0,), 1)], id="a-bad-match-beats-none"),
    ],
)
def test_cheapest_way_wins(gt: list[str], pred: list[str], expected: list[tuple[tuple[int, ...], float]]) -> None:
    assert shape(match_formulas(truth(*gt), predicted(*pred), [], "p").rows) == expected


def test_rows_matched_with_the_text_win_when_equally_good() -> None:
    with_text = [
        PairRecord(gt_idx=(4,), gt="a", norm_gt="a", gt_category="equation_isolated", pred_idx=(0,), norm_pred="a",
                   pred_category="equation_isolated", edit=0.0, rule="assignment")
    ]  # fmt: skip
    assert match_formulas(truth("a"), predicted("a"), with_text, "p").rows == tuple(with_text)


def test_rows_matched_with_text_pieces_are_no_candidate() -> None:
    with_text = [PairRecord(gt_idx=(4,), norm_gt="a", pred_idx=(7,), norm_pred="a", pred_category="text_block", edit=0)]
    assert shape(match_formulas(truth("a"), predicted("b"), with_text, "p").rows) == [((0,), 1)]


def test_gaps_reach_over_a_row_of_the_same_formula_only() -> None:
    gt = gt_formulas(truth("a c", "z"))
    rows = split_into_rows(predicted(r"$$\begin{aligned} a \\ qqqqqq \\ c \\ z \end{aligned}$$"))
    found = align_in_order(gt, pred_formulas(rows), Distances(gt.norms), gaps=True, joined_by=FormulaRule.ROWS_IN_ORDER)
    assert shape(found) == [((0, 2), 0.3333), ((3,), 0)]
    apart = pred_formulas(predicted("a", "qqqqqq", "c", "z"))
    found = align_in_order(gt, apart, Distances(gt.norms), gaps=True, joined_by=FormulaRule.IN_ORDER)
    assert shape(found) == [((0, 1, 2), 0.8), ((3,), 0)]


def test_alignment_keeps_the_order_and_assignment_does_not() -> None:
    gt = gt_formulas(truth("aaaa", "bbbb"))
    pred = pred_formulas(predicted("bbbb", "aaaa"))
    distances = Distances(gt.norms)
    assert shape(assign_one_to_one(gt, pred, distances, FormulaRule.ONE_TO_ONE)) == [((1,), 0), ((0,), 0)]
    aligned = align_in_order(gt, pred, distances, gaps=False, joined_by=FormulaRule.IN_ORDER)
    assert shape(aligned) == [((), 1), ((0, 1), 0.5556)]


def test_a_way_of_more_work_than_the_budget_is_left_out_and_said_so() -> None:
    count = int((POLICY.formula.alignment_budget / POLICY.formula.join) ** 0.5) + 20
    gt = truth(*[f"x_{number}" for number in range(count)])
    pred = predicted(*[f"x_{number}" for number in range(count)])
    laid_out = gt_formulas(gt)
    with pytest.raises(WorkLimitError):
        align_in_order(
            laid_out, pred_formulas(pred), Distances(laid_out.norms), gaps=False, joined_by=FormulaRule.IN_ORDER
        )
    with watch_limits() as met:
        found = match_formulas(gt, pred, [], "p")
    assert met == {FORMULA_ALIGNMENT}
    assert {row.edit for row in found.rows} == {0.0}
    with watch_limits() as met:
        match_formulas(gt[:5], pred[:5], [], "p")
    assert not met


def test_assignment_of_very_many_formulas_leaves_nothing_out() -> None:
    gt = gt_formulas(truth("x_7", "x_9"))
    pred = pred_formulas(predicted(*[f"x_{number}" for number in range(POLICY.formula.full_matrix_size)]))
    assert shape(assign_one_to_one(gt, pred, Distances(gt.norms), FormulaRule.ONE_TO_ONE)) == [((7,), 0), ((9,), 0)]


@pytest.mark.parametrize(
    ("gt", "pred", "gaps", "expected"),
    [
        pytest.param(1, 20, False, Limits(10, 10, 0), id="one-truth"),
        pytest.param(5, 6, False, Limits(6, 6, 0), id="few-predicted"),
        pytest.param(5, 20, False, Limits(12, 12, 0), id="counts-differ"),
        pytest.param(20, 19, False, Limits(10, 10, 0), id="counts-alike"),
        pytest.param(20, 19, True, Limits(10, 12, 1), id="one-skip"),
        pytest.param(3, 3, True, Limits(3, 3, 0), id="no-skip-for-few"),
        pytest.param(4, 4, True, Limits(4, 4, 1), id="one-skip-from-four"),
        pytest.param(1, 4, True, Limits(4, 4, 2), id="two-skips"),
    ],
)
def test_segment_limits(gt: int, pred: int, gaps: bool, expected: Limits) -> None:
    assert segment_limits(gt, pred, gaps=gaps) == expected


def test_runs_come_in_the_order_in_which_ties_are_decided() -> None:
    rows = pred_formulas(split_into_rows(predicted(ALIGNED)))
    lines = [run.lines for run in segments(rows, Limits(3, 3, 1), 100) or []]
    assert lines == [(0,), (0, 1), (0, 1, 2), (0, 2), (1,), (1, 2), (2,)]


@pytest.mark.parametrize(
    ("formulas", "lines", "expected"),
    [
        pytest.param(["a", "b"], (0, 1), True, id="neighbours"),
        pytest.param(["a", "b", "c"], (0, 2), False, id="not-neighbours"),
        pytest.param(["a", ("b", INLINE)], (0, 1), False, id="inline"),
        pytest.param(["a", ("b", "table_formula_rescue")], (0, 1), True, id="rescued-counts-as-display"),
        pytest.param([ALIGNED], (0, 2), True, id="rows-of-one-formula"),
    ],
)
def test_may_join(formulas: list[str | tuple[str, str]], lines: tuple[int, ...], expected: bool) -> None:
    assert may_join(pred_formulas(split_into_rows(predicted(*formulas))), lines) is expected


@pytest.mark.parametrize(
    ("formulas", "expected"),
    [
        pytest.param(["a"], 0, id="nothing-to-cut"),
        pytest.param([ALIGNED], 4, id="three-rows"),
        pytest.param([ALIGNED, "b", ALIGNED], 16, id="two-formulas"),
        pytest.param([ALIGNED] * 4, 0, id="too-many-partitions"),
        pytest.param(["$$" + r" \\ ".join("abcdefghi") + "$$"], 0, id="too-many-rows"),
    ],
)
def test_partitions(formulas: list[str], expected: int) -> None:
    assert len(partitions(predicted(*formulas))) == expected


def test_partition_starts_uncut_and_joins_rows_as_an_array() -> None:
    first, second, *_ = partitions(predicted(ALIGNED))
    assert [one.item.content for one in first] == [r"\[\begin{array}{l} {a&=b} \\ {c&=d} \\ {e&=f} \end{array}\]"]
    assert len(second) == 2


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param(["$a$", r"\[b\]"], r"\begin{array}{l} {a} \\ {b} \end{array}", id="two"),
        pytest.param(["$a$", "$$ $$"], "a", id="one-left"),
        pytest.param(["", "$$"], "", id="bare-dollars"),
        pytest.param([], "", id="none"),
    ],
)
def test_stack_rows(parts: list[str], expected: str) -> None:
    assert stack_rows(parts) == expected


def test_candidates_are_distinct_and_rescued_ones_become_formulas() -> None:
    item = PredItem("equation_isolated", "$$a$$", (0, 5))
    rescued = PredItem("formula_rescue", "a", (0, 5), "text_formula")
    found = formula_candidates({"equation_isolated": [item, item], "formula_rescue": [rescued], "text_all": [item]})
    assert [(one.item.content, one.category, one.source) for one in found] == [
        ("$$a$$", "equation_isolated", 0),
        ("a", "equation_isolated", 1),
    ]


def test_position_order_puts_display_before_inline_and_short_before_long() -> None:
    items = [((5, 9), None), ((0, 9), INLINE), ((0, 9), None), ((0, 4), None)]
    formulas = [PredFormula(PredItem("equation_isolated", str(n), at, fine), n) for n, (at, fine) in enumerate(items)]
    assert [one.source for one in in_position_order(formulas)] == [3, 2, 1, 0]


@pytest.mark.parametrize(
    ("owners", "categories", "count", "expected"),
    [
        pytest.param([(0,), (1,)], ["", "equation_inline"], 2, True, id="complete"),
        pytest.param([(0,)], [""], 2, False, id="one-missing"),
        pytest.param([(0,), (0,)], ["", ""], 2, False, id="twice"),
        pytest.param([(0, 1)], [""], 1, False, id="joined-truth"),
        pytest.param([(0,)], ["text_block"], 1, False, id="matched-to-text"),
    ],
)
def test_is_complete(owners: list[tuple[int, ...]], categories: list[str], count: int, expected: bool) -> None:
    rows = [PairRecord(gt_idx=owner, pred_category=kind) for owner, kind in zip(owners, categories, strict=True)]
    assert is_complete(rows, count) is expected


def test_logic_braces_are_counted_where_they_change_something() -> None:
    rewritten, count = with_logic_braces(predicted(r"\begin{cases} a \\ \Rightarrow b \end{cases}", "x"))
    assert count == 1
    assert r"\left\{ \begin{array}{l}" in rewritten[0].item.content
    assert rewritten[1].item.content == "$$x$$"


def test_an_empty_row_shifts_positions_to_its_neighbour() -> None:
    items = [GtItem("equation_isolated", "", 1), GtItem("equation_isolated", "$$a$$", 2)]
    (row,) = match_formulas(items, predicted("a"), [], "p").rows
    assert row.gt_position == (1,)
