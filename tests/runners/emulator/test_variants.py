"""Pages become streams: what is counted where, what is cut, and which path is the longest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from runners.emulator.pages import BlockTokens, Content, PagePlan, PageTokens, StreamPlan
from runners.emulator.variants import Forking, plan_page
from tests.runners.emulator.cases import page_lists, variant

PAGE = PageTokens("p", 100, 400, (BlockTokens(5, 20), BlockTokens(4, None), BlockTokens(6, 30, Content.TABLE)))


@pytest.mark.parametrize(
    ("forking", "expected"),
    [
        # one marker before each content, one closing token
        (Forking.NONE, [5 + 1 + 20 + 4 + 6 + 1 + 30 + 1]),
        # one fork marker each in the main stream, one end token in every stream
        (Forking.ENGINE, [5 + 1 + 4 + 6 + 1 + 1, 20 + 1, 30 + 1]),
        (Forking.REQUEST, [5 + 1 + 4 + 6 + 1 + 1, 20 + 1, 30 + 1]),
        (Forking.CROPS, [5 + 4 + 6 + 1, 20 + 1, 30 + 1]),
    ],
)
def test_tokens_of_streams(forking: Forking, expected: list[int]) -> None:
    assert [stream.tokens for stream in plan_page(PAGE, variant(forking), 0).streams] == expected


def test_branches_see_the_main_stream_up_to_their_fork() -> None:
    plan = plan_page(PAGE, variant(Forking.ENGINE), 0)
    assert [stream.fork_after for stream in plan.streams] == [None, 6, 17]


def test_crops_start_after_the_layout_with_their_own_prompt() -> None:
    plan = plan_page(PAGE, variant(Forking.CROPS), 0)
    assert [(stream.fork_after, stream.own_prompt, stream.patches) for stream in plan.streams[1:]] == [(16, 7, 16)] * 2


def test_regions_over_the_branch_limit_stay_in_the_main_stream() -> None:
    plan = plan_page(PAGE, variant(Forking.REQUEST, branches=1), 0)
    assert [stream.tokens for stream in plan.streams] == [5 + 1 + 4 + 6 + 30 + 1, 21]


@pytest.mark.parametrize(
    ("limit", "tokens", "truncated"), [(1000, 68, False), (68, 68, False), (67, 67, True), (9, 9, True)]
)
def test_the_token_limit(limit: int, tokens: int, truncated: bool) -> None:
    plan = plan_page(PAGE, variant(Forking.NONE), 0, max_tokens=limit)
    assert (plan.tokens, plan.truncated) == (tokens, truncated)


def test_a_branch_whose_fork_was_cut_away_is_not_started() -> None:
    plan = plan_page(PAGE, variant(Forking.ENGINE), 0, max_tokens=10)
    assert [stream.fork_after for stream in plan.streams] == [None, 6]


def test_critical_path_by_hand() -> None:
    ones = np.ones(17, dtype=np.int64)
    fast = np.array([3, 3, 3, 3, 3], dtype=np.int64)
    main = StreamPlan(0, np.array([4, 4, 4, 5], dtype=np.int64))
    plan = PagePlan("p", "p", 10, 0, (main, StreamPlan(1, ones, fork_after=3), StreamPlan(2, fast, fork_after=12)))
    # 3 tokens exist after one step, then 17; 12 after three, then 5; the main stream alone takes 4
    assert plan.critical_path_steps() == 18
    assert plan.critical_path_tokens() == max(17, 3 + 17, 12 + 15)


@given(pages=page_lists)
def test_plans_depend_on_page_and_seed_alone(pages: list[PageTokens]) -> None:
    how = variant(Forking.ENGINE, drafts=True)
    for page in pages:
        first, again = plan_page(page, how, 3), plan_page(page, how, 3)
        assert [stream.steps.tolist() for stream in first.streams] == [
            stream.steps.tolist() for stream in again.streams
        ]
        undrafted = plan_page(page, variant(Forking.ENGINE), 3)
        assert first.tokens == undrafted.tokens
        assert first.critical_path_steps() <= undrafted.critical_path_steps() == undrafted.critical_path_tokens()


def test_another_seed_draws_other_steps() -> None:
    how = variant(Forking.NONE, drafts=True)
    page = replace(PAGE, blocks=PAGE.blocks * 20)
    assert plan_page(page, how, 1).streams[0].steps.tolist() != plan_page(page, how, 2).streams[0].steps.tolist()
