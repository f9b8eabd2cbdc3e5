"""Worker processes: order kept, a killed worker costs one item, nothing hangs."""

from __future__ import annotations

import pytest

from evalkit.executor import IN_PROCESS_ITEMS, LOCAL, Done, chunks

WORK = "tests.fakes.work:"


def run(name: str, items: list[int], workers: int = 2) -> tuple[list[Done], int]:
    steps: list[int] = []
    done = LOCAL.map(WORK + name, items, weights=[1.0] * len(items), workers=workers, advance=lambda: steps.append(1))
    return done, len(steps)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, IN_PROCESS_ITEMS, IN_PROCESS_ITEMS + 1, 40])
def test_outcomes_are_in_the_order_of_the_items(count: int, workers: int) -> None:
    done, steps = run("double", list(range(count)), workers)
    assert [one.value for one in done] == [2 * number for number in range(count)]
    assert steps == count


def test_very_many_quick_items_come_back() -> None:
    done, steps = run("double", list(range(3000)))
    assert [one.value for one in done] == [2 * number for number in range(3000)]
    assert steps == 3000


def test_prints_and_large_outcomes_do_not_mix() -> None:
    done, _ = run("talk", list(range(20)))
    assert [len(one.value) for one in done] == [number * 100_000 for number in range(20)]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param("die_on_seven", "killed its worker process twice (signal 9)", id="killed"),
        pytest.param("leave_on_seven", "killed its worker process twice (exit code 3)", id="exits"),
        pytest.param("raise_on_seven", "ValueError: seven", id="raises"),
    ],
)
def test_a_bad_item_costs_itself_alone(name: str, reason: str) -> None:
    done, steps = run(name, list(range(30)))
    assert done[7] == Done(failure=reason)
    assert [one.value for one in done if one.failure is None] == [2 * number for number in range(30) if number != 7]
    assert steps == 30


@pytest.mark.parametrize(
    ("weights", "workers", "expected"),
    [
        pytest.param([], 2, [], id="nothing"),
        pytest.param([1, 9, 1], 1, [(1,), (0,), (2,)], id="heaviest-first"),
        pytest.param([100] + [1] * 20, 1, [(0,), tuple(range(1, 11)), tuple(range(11, 21))], id="light-together"),
        pytest.param([0] * 20, 1, [(number,) for number in range(20)], id="weightless"),
    ],
)
def test_chunks(weights: list[float], workers: int, expected: list[tuple[int, ...]]) -> None:
    assert chunks(weights, workers) == expected
