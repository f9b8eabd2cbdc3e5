"""Runs of pieces that are joined to one block, against the definition tried out in full."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from evalkit.protocols.omnidocbench_v16.match import run_growth
from evalkit.protocols.omnidocbench_v16.match.edits import costs_of, edit_counts
from evalkit.protocols.omnidocbench_v16.match.run import Run
from evalkit.protocols.omnidocbench_v16.match.runs import best_runs
from evalkit.protocols.omnidocbench_v16.policy import POLICY

Found = list[tuple[float, int, int]]


def found_runs(gts: Sequence[str], preds: Sequence[str]) -> Found:
    counts = edit_counts(gts, preds)
    return [(run.cost, run.first, run.last) for run in best_runs(gts, preds, counts, costs_of(counts, gts, preds))]


def cost(block: str, text: str) -> float:
    return Levenshtein.distance(block, text) / max(len(block), len(text))


def closest_stretch(block: str, piece: str) -> float:
    if len(block) < len(piece):
        return 2.0
    size = len(piece)
    return min(Levenshtein.distance(block[at : at + size], piece) / size for at in range(len(block) - size + 1))


def every_run_tried(gts: Sequence[str], preds: Sequence[str]) -> Found:
    """The rule of best_runs as it is told, without its short cuts."""
    table = [[cost(gt, pred) for pred in preds] for gt in gts]
    free = [all(row[piece] >= POLICY.match.close_edit for row in table) for piece in range(len(preds))]
    found: Found = []
    for gt, row in zip(gts, table, strict=True):
        if min(row) >= POLICY.match.close_edit and any(free):
            runs = (run_from(gt, preds, free, first) for first in range(len(preds)) if free[first])
            found.append(min(runs, key=lambda run: run[:2]))
    return found


def run_from(block: str, preds: Sequence[str], free: Sequence[bool], first: int) -> tuple[float, int, int]:
    last = first
    ratio = POLICY.match.piece_in_block_edit
    while last + 1 < len(preds) and free[last + 1] and last - first + 1 < POLICY.match.run_pieces:
        now, more = " ".join(preds[first : last + 1]), " ".join(preds[first : last + 2])
        if cost(block, more) > cost(block, now):
            break
        if closest_stretch(block, preds[first]) > ratio or closest_stretch(block, preds[last + 1]) >= ratio:
            break
        last += 1
        if len(more) > len(block):
            break
    return cost(block, " ".join(preds[first : last + 1])), first, last


PIECE = st.text("abc", min_size=1, max_size=9)


@st.composite
def cut_blocks(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """One or two blocks, and their text cut into pieces with pieces of other text in between."""
    gts = draw(st.lists(st.text("abc", min_size=1, max_size=60), min_size=1, max_size=2))
    sizes = draw(st.lists(st.integers(1, 9), min_size=1, max_size=20))
    text = "".join(gts)
    preds = []
    for size in sizes:
        preds.append(text[:size])
        text = text[size:]
    preds = [piece for piece in preds if piece] + draw(st.lists(PIECE, max_size=3))
    return gts, draw(st.permutations(preds)) if draw(st.booleans()) else preds


@pytest.mark.parametrize("distances_before_a_pass", [0, 2, 1000])
@settings(deadline=None)
@given(case=cut_blocks())
def test_best_runs_are_those_of_trying_every_run(
    case: tuple[list[str], list[str]], distances_before_a_pass: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_growth, "distances_worth_a_pass", lambda length: distances_before_a_pass)
        assert found_runs(*case) == every_run_tried(*case)


LONG = "the quick brown fox jumps over the lazy dog"


@pytest.mark.parametrize(
    ("gts", "preds", "expected"),
    [
        pytest.param([LONG], [LONG[:20], LONG[20:]], [(1 / 44, 0, 1)], id="two halves"),
        pytest.param([LONG], ["unrelated", LONG[:20], LONG[20:], "more"], [(1 / 44, 1, 2)], id="among others"),
        pytest.param([LONG], [LONG], [], id="already close"),
        pytest.param([LONG, "0123456789"], ["0123456789"], [], id="no free piece"),
        pytest.param(["abcdef"], ["abc", "xyz"], [(0.5, 0, 0)], id="a piece of other text is refused"),
        pytest.param(["abcdef"], ["abc", "abc"], [(0.5, 0, 0)], id="first of equals"),
    ],
)
def test_best_runs(gts: list[str], preds: list[str], expected: Found) -> None:
    assert found_runs(gts, preds) == expected == every_run_tried(gts, preds)


def test_a_run_has_at_most_160_pieces() -> None:
    pieces = [chr(0x4E00 + place) * 2 for place in range(200)]
    [run] = found_runs([" ".join(pieces)], pieces)
    assert run[2] - run[1] + 1 == POLICY.match.run_pieces == 160


def test_a_block_predicted_by_one_line_over_and_over_is_answered() -> None:
    line = "the cat sat on the mat "
    [run] = found_runs(["".join(chr(97 + place % 26) for place in range(600))], [line] * 5000)
    assert run[1] == 0


def test_runs_know_about_how_long_the_official_looks() -> None:
    gts = ["".join(chr(97 + (place * place) % 26) for place in range(2000))]
    preds = [gts[0][at : at + 60] for at in range(0, 2000, 60)]
    counts = edit_counts(gts, preds)
    [run] = best_runs(gts, preds, counts, costs_of(counts, gts, preds))
    assert isinstance(run, Run)
    assert 1 < run.official_s < 60
