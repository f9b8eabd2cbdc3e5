"""What must hold at every iteration, whatever the pages, the memory and the way of forking."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.emulator.engine import Engine, PageTooLargeError
from runners.emulator.pages import BlockTokens, PagePlan, PageTokens
from runners.emulator.streams import Page, Phase
from runners.emulator.variants import Forking, Variant, plan_page
from tests.runners.emulator.cases import engine, page_lists, variant

FORKINGS = list(Forking)
ROOMY = 5000
TIGHT = 0
"""As many blocks as the largest page needs, so that pages are preempted all the time."""


def run(how: Variant, pages: list[PageTokens], blocks: int, check: bool = True) -> tuple[Engine, list[Page]]:
    """All pages through an engine, arriving one iteration apart, its invariants checked after every iteration."""
    waiting = [plan_page(page, how, seed=5) for page in pages]
    under_test = engine(how, blocks or tight(how, waiting))
    ended: list[Page] = []
    under_test.on_page = ended.append
    submitted: list[Page] = []
    for _ in range(20_000):
        if waiting:
            submitted.append(under_test.submit(waiting.pop(0), under_test.now_s))
        if under_test.idle:
            break
        under_test.step()
        if check:
            check_memory(under_test)
            check_contexts(under_test)
    assert under_test.idle, "a page never ended"
    assert sorted(page.arrival for page in ended) == [page.arrival for page in submitted]
    return under_test, submitted


def tight(how: Variant, plans: list[PagePlan]) -> int:
    memory = engine(how, 1).memory
    return max(memory.of_page(plan) for plan in plans)


def check_memory(under_test: Engine) -> None:
    """Every block is free, cached, or held by exactly one owner."""
    held = sum(
        under_test.memory.private_blocks(stream, under_test.iteration)
        for page in under_test.pages.values()
        for stream in page.streams
    )
    trunks = {
        id(page.trunk): under_test.memory.trunk_blocks(page, under_test.iteration)
        for page in under_test.pages.values()
        if page.trunk.references
    }
    assert under_test.pool.in_use == held + sum(trunks.values())
    assert min(under_test.pool.free, under_test.pool.cached_blocks) >= 0


def check_contexts(under_test: Engine) -> None:
    """What decoding streams read is prompt, main stream up to their fork, and themselves: nothing of a sibling."""
    expected = 0
    for page in under_test.pages.values():
        for stream in page.streams:
            if stream.phase is Phase.DECODE:
                steps = stream.steps_at(under_test.iteration)
                prompt = page.plan.prompt_tokens if stream.plan.own_prompt is None else stream.plan.own_prompt
                shared = stream.plan.fork_after if stream.plan.fork_after and stream.plan.own_prompt is None else 0
                expected += prompt + shared + int(stream.plan.steps[:steps].sum())
    assert under_test.context_tokens == expected


@pytest.mark.parametrize("forking", FORKINGS)
@pytest.mark.parametrize("drafts", [False, True])
@given(pages=page_lists, blocks=st.sampled_from([TIGHT, ROOMY]))
@settings(max_examples=40, deadline=None)
def test_every_page_ends_and_nothing_is_lost(
    forking: Forking, drafts: bool, pages: list[PageTokens], blocks: int
) -> None:
    under_test, submitted = run(variant(forking, drafts=drafts, max_streams=20, occupancy=1.0), pages, blocks)
    assert under_test.counters.generated == sum(page.plan.tokens for page in submitted)
    assert under_test.pool.in_use == 0
    assert under_test.context_tokens == 0
    for page in submitted:
        assert page.ended_s is not None
        assert all(stream.steps_done == len(stream.plan.steps) for stream in page.streams)


@pytest.mark.parametrize("forking", FORKINGS)
@given(pages=page_lists)
@settings(max_examples=25, deadline=None)
def test_pages_start_in_order_of_arrival_and_the_oldest_is_never_preempted(
    forking: Forking, pages: list[PageTokens]
) -> None:
    _, submitted = run(variant(forking, drafts=True, max_streams=20), pages, TIGHT, check=False)
    starts = [page.started_s for page in submitted]
    assert starts == sorted(starts)
    assert submitted[0].preemptions == 0


@pytest.mark.parametrize("forking", FORKINGS)
@given(pages=page_lists)
@settings(max_examples=25, deadline=None)
def test_output_does_not_depend_on_the_schedule(forking: Forking, pages: list[PageTokens]) -> None:
    how = variant(forking, drafts=True, max_streams=20, occupancy=1.0)
    alone = [spliced(run(how, [page], ROOMY, check=False)[1][0]) for page in pages]
    crowded = [spliced(page) for page in run(how, pages, TIGHT, check=False)[1]]
    assert crowded == alone


def spliced(page: Page) -> list[tuple[int, int, int]]:
    """(stream, step, tokens) in reading order, each branch where it forked."""
    rows = [(stream.plan.fork_after or 0, stream.plan.index, stream) for stream in page.streams]
    return [
        (index, step, int(tokens))
        for _, index, stream in sorted(rows, key=lambda row: row[:2])
        for step, tokens in enumerate(stream.plan.steps[: stream.steps_done])
    ]


@pytest.mark.parametrize("forking", [Forking.ENGINE, Forking.REQUEST, Forking.CROPS])
@given(pages=page_lists)
@settings(max_examples=25, deadline=None)
def test_a_branch_starts_only_once_its_fork_exists(forking: Forking, pages: list[PageTokens]) -> None:
    how = variant(forking)
    under_test = engine(how, ROOMY)
    running = [under_test.submit(plan_page(page, how, 5), 0.0) for page in pages]
    while not under_test.idle:
        under_test.step()
        for page in running:
            reached = page.main.tokens_after(page.main.steps_at(under_test.iteration))
            for stream in page.streams[1:]:
                assert (stream.phase is Phase.UNBORN) == (reached < (stream.plan.fork_after or 0))


def test_the_youngest_page_is_preempted_when_memory_runs_out() -> None:
    pages = [PageTokens(f"p{number}", 60, 0, (BlockTokens(2, 100), BlockTokens(2, 100))) for number in range(3)]
    for forking in FORKINGS:
        _, submitted = run(variant(forking, occupancy=1.0, max_streams=20), pages, 80)
        assert submitted[0].preemptions == 0
        assert submitted[-1].preemptions > 0, forking


def test_children_pass_the_gate_that_holds_pages_back() -> None:
    text = PageTokens("a", 8, 0, tuple(BlockTokens(2, 40) for _ in range(6)))
    how = variant(Forking.ENGINE, max_streams=1)
    under_test, submitted = run(how, [text, text], ROOMY)
    assert max(step.live for step in under_test.log) > 1
    assert submitted[1].started_s >= max(stream.started_s or 0.0 for stream in submitted[0].streams)


@pytest.mark.parametrize("forking", [Forking.ENGINE, Forking.REQUEST])
def test_branches_go_before_pages_that_wait(forking: Forking) -> None:
    pages = [PageTokens(f"p{number}", 8, 0, (BlockTokens(2, 20),)) for number in range(6)]
    _, submitted = run(variant(forking, max_streams=1), pages, ROOMY)
    for page, following in pairwise(submitted):
        branch = page.streams[1]
        assert branch.started_s is not None
        assert following.started_s is not None
        assert branch.started_s <= following.started_s


def test_branches_of_requests_count_against_the_limit() -> None:
    page = PageTokens("p", 8, 0, tuple(BlockTokens(2, 40) for _ in range(6)))
    engine_children, _ = run(variant(Forking.ENGINE, max_streams=3), [page, page], ROOMY)
    requests, _ = run(variant(Forking.REQUEST, max_streams=3), [page, page], ROOMY)
    assert max(step.live for step in requests.log) == 3
    assert max(step.live for step in engine_children.log) > 3


@pytest.mark.parametrize(("forking", "computed"), [(Forking.ENGINE, 18), (Forking.REQUEST, 18 + 1 + 3)])
def test_what_a_fork_computes_again(forking: Forking, computed: int) -> None:
    # prompt 18, fork after 5 tokens: 23 visible, of which 20 lie in whole blocks of 4
    page = PageTokens("p", 18, 0, (BlockTokens(4, 10),))
    under_test, _ = run(variant(forking), [page], ROOMY)
    assert under_test.counters.computed_tokens == computed


def test_an_evicted_prefix_is_computed_again_by_the_branch_that_needs_it() -> None:
    pages = [PageTokens(f"p{number}", 100, 0, (BlockTokens(2, 60), BlockTokens(2, 60))) for number in range(8)]
    roomy, _ = run(variant(Forking.REQUEST, occupancy=1.0), pages, ROOMY)
    tight, _ = run(variant(Forking.REQUEST, occupancy=1.0), pages, 70)
    assert tight.counters.computed_tokens > roomy.counters.computed_tokens


def test_a_repeated_page_hits_the_prefix_cache_until_it_is_reset() -> None:
    how = variant(Forking.NONE)
    under_test = engine(how, ROOMY)
    plan = plan_page(PageTokens("p", 41, 0, (BlockTokens(2, 5),), prefix_key="same"), how, 1)
    hits = []
    for reset in (False, False, True):
        if reset:
            under_test.pool.reset_cache()
        page = under_test.submit(plan, under_test.now_s)
        while not under_test.idle:
            under_test.step()
        hits.append(page.cached_tokens)
    assert hits == [0, 40, 0]


def test_no_page_starts_before_it_came() -> None:
    how = variant(Forking.NONE)
    under_test = engine(how, ROOMY)
    page = under_test.submit(plan_page(PageTokens("p", 41, 0, (BlockTokens(2, 5),)), how, 1), under_test.now_s + 1e-3)
    under_test.step()
    assert page.started_s == page.main.started_s == page.arrival_s == 1e-3


def test_a_page_that_can_never_fit_is_refused() -> None:
    how = variant(Forking.NONE)
    with pytest.raises(PageTooLargeError, match="needs 28 blocks"):
        engine(how, 20).submit(plan_page(PageTokens("p", 100, 0, (BlockTokens(2, 5),)), how, 1), 0.0)


@given(pages=page_lists, at=st.integers(0, 30))
@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("forking", FORKINGS)
def test_aborted_pages_leave_nothing_behind(forking: Forking, pages: list[PageTokens], at: int) -> None:
    how = variant(forking, drafts=True, max_streams=20, occupancy=1.0)
    plans = [plan_page(page, how, 5) for page in pages]
    under_test = engine(how, tight(how, plans))
    submitted = [under_test.submit(plan, 0.0) for plan in plans]
    for step in range(20_000):
        if step == at:
            for page in submitted[::2]:
                under_test.abort(page)
            check_memory(under_test)
        if under_test.idle:
            break
        under_test.step()
        check_memory(under_test)
    assert under_test.idle
    assert under_test.pool.in_use == 0
