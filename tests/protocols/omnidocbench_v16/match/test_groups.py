"""Overlapping runs, assignment, contained lines and leftovers."""

from __future__ import annotations

import numpy as np
import pytest

from evalkit.protocols.omnidocbench_v16.match.assignment import assign
from evalkit.protocols.omnidocbench_v16.match.contained import join_contained
from evalkit.protocols.omnidocbench_v16.match.edits import costs_between, edit_counts
from evalkit.protocols.omnidocbench_v16.match.groups import Group, group_edit, settle
from evalkit.protocols.omnidocbench_v16.match.overlaps import disjoint_runs
from evalkit.protocols.omnidocbench_v16.match.pair import MatchRule
from evalkit.protocols.omnidocbench_v16.match.run import Run, Span


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        pytest.param([], [], id="none"),
        pytest.param([Run(0.5, 2, 3), Run(0.4, 0, 1)], [(0, 1), (2, 3)], id="apart, by position"),
        pytest.param([Run(0.5, 0, 1), Run(0.2, 1, 2)], [(1, 2)], id="the cheaper of two"),
        pytest.param([Run(0.2, 0, 1), Run(0.2, 1, 2)], [(0, 1)], id="the first of equals"),
        pytest.param([Run(0.5, 0, 1), Run(0.3, 0, 1)], [(0, 1)], id="the same run claimed twice"),
        pytest.param([Run(0.6, 0, 1), Run(0.5, 1, 2), Run(0.2, 2, 3)], [(0, 1), (2, 3)], id="lowest mean"),
        pytest.param([Run(0.4, 0, 1), Run(0.3, 1, 2), Run(0.9, 2, 3)], [(1, 2)], id="one cheap run beats two"),
        pytest.param(
            [Run(0.5, 0, 1), Run(0.3, 0, 1), Run(0.35, 1, 2)], [(0, 1)], id="a run keeps the lower of its costs"
        ),
    ],
)
def test_disjoint_runs(runs: list[Run], expected: list[Span]) -> None:
    assert disjoint_runs(runs) == expected


@pytest.mark.parametrize(
    ("runs", "gts", "preds", "expected"),
    [
        pytest.param([], ["aaaa", "bbbb"], ["bbbb", "aaaa"], {(1, 1): 0, (0, 0): 1}, id="cheapest"),
        pytest.param([(0, 1)], ["ab cd"], ["ab", "cd"], {(0, 1): 0}, id="a run as one"),
        pytest.param([], ["abcdefghij"], ["abcxxxxxxx"], {(0, 0): 0}, id="0.7 is acceptable"),
        pytest.param([], ["abcdefghij"], ["abxxxxxxxx"], {}, id="0.8 is not"),
        pytest.param([], [], ["a"], {}, id="no lines"),
        pytest.param([], ["a"], [], {}, id="no pieces"),
    ],
)
def test_assign(runs: list[Span], gts: list[str], preds: list[str], expected: dict[Span, int]) -> None:
    assert assign(runs, gts, preds, costs_between(gts, preds)) == expected


@pytest.mark.parametrize(
    ("groups", "unmatched", "gts", "preds", "expected"),
    [
        pytest.param({}, [0, 1], ["one", "two"], ["oneandtwo"], {(0, 0): [0, 1]}, id="both in one piece"),
        pytest.param(
            {(0, 0): [0]}, [1], ["oneand", "two"], ["oneandtwo"], {(0, 0): [0, 1]}, id="joins a matched group"
        ),
        pytest.param({}, [0], ["one"], ["xonex", "yoney"], {(0, 0): [0], (1, 1): []}, id="first of two pieces"),
        pytest.param(
            {(0, 1): [0]}, [1], ["a b", "b"], ["a", "b"], {(0, 1): [0], (1, 1): [1]}, id="piece of a run again"
        ),
        pytest.param({}, [0], ["abcde"], ["xxabfgexx"], {}, id="2 of 5 is 0.4: not contained"),
        pytest.param({}, [0], ["abcde"], ["xxabcgexx"], {(0, 0): [0]}, id="1 of 5 is contained"),
        pytest.param({}, [0], ["longer"], ["long"], {}, id="piece shorter than the line"),
        pytest.param({}, [], ["one"], ["one"], {}, id="nothing unmatched"),
    ],
)
def test_join_contained(
    groups: dict[Span, list[int]],
    unmatched: list[int],
    gts: list[str],
    preds: list[str],
    expected: dict[Span, list[int]],
) -> None:
    given = {span: list(lines) for span, lines in groups.items()}
    assert join_contained(groups, unmatched, gts, preds, edit_counts(gts, preds)) == expected
    assert groups == given


@pytest.mark.parametrize(
    ("lines", "pieces", "expected"),
    [
        pytest.param([0], [0], 0.0, id="equal"),
        pytest.param([0], [0, 1], 3 / 5, id="pieces joined by a space"),
        pytest.param([0, 1], [0], 0.5, id="lines joined without one"),
        pytest.param([0, 1], [0, 1], 0.5, id="several lines: the first piece alone"),
    ],
)
def test_group_edit(lines: list[int], pieces: list[int], expected: float) -> None:
    assert group_edit(lines, pieces, ["ab", "cd"], ["ab", "cd"]) == expected


def test_settle_pairs_leftovers_at_edit_one() -> None:
    gts, preds = ["abc", "def", "ghi"], ["abc", "deg"]
    groups = settle({(0, 0): [0]}, {(0, 0)}, gts, preds, costs_between(gts, preds))
    assert groups == [
        Group((0,), (0,), 0.0, MatchRule.ASSIGNMENT),
        Group((1,), (1,), 1, MatchRule.LEFTOVER),
        Group((2,), (), 1, MatchRule.UNMATCHED_GT),
    ]


def test_settle_keeps_the_order_of_a_set_for_unmatched_pieces() -> None:
    """With 40 pieces of which 3 and 33 are unmatched, the official lists 33 first (scorer at commit 9dc1dec)."""
    matched = {(piece, piece): [piece] for piece in range(40) if piece not in (3, 33)}
    names = [f"{piece:02}" for piece in range(40)]
    gts = [name for piece, name in enumerate(names) if piece not in (3, 33)]
    joined = {span: [at] for at, span in enumerate(matched)}
    groups = settle(joined, set(joined), gts, names, np.zeros((38, 40)))
    assert groups[-1] == Group((), (33, 3), 1, MatchRule.UNMATCHED_PRED)


def test_a_piece_whose_lines_were_all_taken_disappears() -> None:
    gts, preds = ["one"], ["xonex", "yoney"]
    groups = settle({(0, 0): [0], (1, 1): []}, set(), gts, preds, costs_between(gts, preds))
    assert groups == [Group((0,), (0,), 2 / 5, MatchRule.CONTAINED_GT)]
