"""Blocks: taken, shared, cached, evicted, never lost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.emulator.kv import BlockPool, Lease
from runners.emulator.timetable import Timetable


def lease(pool: BlockPool, key: str, blocks: int) -> Lease:
    pool.take(blocks)
    return Lease(key, blocks, references=1)


def test_a_released_prefix_is_cached_and_found_again() -> None:
    pool = BlockPool(10)
    first = lease(pool, "a", 6)
    pool.release(first, keep=4)
    assert (pool.free, pool.cached_blocks, pool.in_use) == (6, 4, 0)
    pool.revive(first)
    assert (pool.cached("a"), first.references, pool.in_use) == (None, 1, 4)


def test_shared_blocks_are_freed_with_the_last_reference() -> None:
    pool = BlockPool(10)
    shared = lease(pool, "a", 6)
    shared.references += 2
    for expected in (6, 6, 0):
        pool.release(shared, keep=0)
        assert pool.in_use == expected


def test_the_oldest_prefix_is_evicted_first_and_from_its_tail() -> None:
    pool = BlockPool(10)
    old, new = lease(pool, "old", 4), lease(pool, "new", 4)
    pool.release(old, keep=4)
    pool.release(new, keep=4)
    pool.take(5)
    assert (old.blocks, new.blocks, pool.evicted_blocks) == (1, 4, 3)
    pool.take(2)
    assert (pool.cached("old"), new.blocks) == (None, 3)


def test_more_than_there_is_cannot_be_taken() -> None:
    with pytest.raises(ValueError, match="11 blocks asked for, 10 available"):
        BlockPool(10).take(11)


def test_a_reset_forgets_what_nobody_reads() -> None:
    pool = BlockPool(10)
    pool.release(lease(pool, "a", 4), keep=4)
    held = lease(pool, "b", 3)
    pool.reset_cache()
    assert (pool.free, pool.cached("a"), held.blocks) == (7, None, 3)


growths = st.lists(st.tuples(st.integers(0, 30), st.lists(st.integers(0, 5), min_size=1, max_size=9)), max_size=20)


@given(rows=growths)
def test_the_timetable_sums_what_was_added(rows: list[tuple[int, list[int]]]) -> None:
    table = Timetable()
    expected: dict[int, int] = {}
    for start, values in sorted(rows):
        row = np.array(values, dtype=np.int64)
        table.add(start, row, 2 * row)
        for offset, value in enumerate(values):
            expected[start + offset] = expected.get(start + offset, 0) + value
    assert all(table.tokens_at(at) == value for at, value in expected.items())
    assert all(table.blocks_at(at) == 2 * value for at, value in expected.items())


def test_the_timetable_moves_on_without_growing() -> None:
    table = Timetable()
    row = np.ones(3000, dtype=np.int64)
    for iteration in range(0, 200_000, 1000):
        table.add(iteration, row, row)
        assert table.tokens_at(iteration) == min(iteration // 1000 + 1, 3)
    table.add(199_000, row, row, sign=-1)
    assert table.tokens_at(199_500) == 2
