"""Worker processes: order kept, a killed worker costs one item, nothing hangs."""

from __future__ import annotations

import pickle
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from evalkit import executor
from evalkit.errors import ToolchainError
from evalkit.executor import LOCAL, Done, chunks
from evalkit.types import BlockKind
from evalkit.worker_loop import frame

WORK = "tests.fakes.work:"


def run(name: str, items: Sequence[int], workers: int = 2, expected_s: float = 0.0) -> list[Done]:
    with LOCAL.open(WORK + name, workers=workers, expected_s=expected_s) as pool:
        outcomes = list(pool.run(items, [1.0] * len(items)))
    assert sorted(number for number, _ in outcomes) == list(range(len(items)))
    return [done for _, done in sorted(outcomes, key=lambda outcome: outcome[0])]


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 12, 40])
@pytest.mark.parametrize("expected_s", [0.0, 60.0])
def test_every_item_has_one_outcome(count: int, workers: int, expected_s: float) -> None:
    done = run("double", range(count), workers, expected_s)
    assert [one.value for one in done] == [2 * number for number in range(count)]


def test_very_many_quick_items_come_back() -> None:
    done = run("double", range(3000))
    assert [one.value for one in done] == [2 * number for number in range(3000)]


def test_prints_and_large_outcomes_do_not_mix() -> None:
    done = run("talk", range(20))
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
    done = run(name, range(30))
    assert done[7] == Done(failure=reason)
    assert [one.value for one in done if one.failure is None] == [2 * number for number in range(30) if number != 7]


def test_little_work_is_done_by_a_process_of_its_own_too() -> None:
    with LOCAL.open(WORK + "die_on_seven", workers=2) as pool:
        outcomes = dict(pool.run([7, 8], [1e-6, 1e-6]))
    assert outcomes == {0: Done(failure="killed its worker process twice (signal 9)"), 1: Done(16)}


class Counted(list[int]):
    """Items that count how often each was taken."""

    def __init__(self, items: Iterable[int]) -> None:
        super().__init__(items)
        self.taken: Counter[int] = Counter()

    def __getitem__(self, number: Any) -> Any:
        self.taken[number] += 1
        return super().__getitem__(number)


def test_an_item_is_put_together_when_its_turn_comes_and_once_more_for_a_second_attempt() -> None:
    items = Counted(range(100))
    with LOCAL.open(WORK + "die_on_seven", workers=2) as pool:
        outcomes = pool.run(items, [1.0] * 100)
        next(outcomes)
        assert len(items.taken) < 100
        list(outcomes)
    assert set(items.taken) == set(range(100))
    assert items.taken[7] == 2


@pytest.mark.parametrize(
    ("name", "setup"),
    [
        pytest.param("nothing_of_that_name", (), id="target"),
        pytest.param("double", (WORK + "leave", "5"), id="leaves"),
        pytest.param("double", (WORK + "raise_on_seven", "seven", "eight"), id="raises"),
    ],
)
def test_workers_that_do_not_start_are_said_at_once(name: str, setup: tuple[str, ...]) -> None:
    with (
        LOCAL.open(WORK + name, workers=2, expected_s=60.0, setup=setup) as pool,
        pytest.raises(ToolchainError, match="a worker process did not start"),
    ):
        list(pool.run(range(30), [1.0] * 30))


def test_a_pool_left_early_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(executor.subprocess, "Popen", Noted)
    with LOCAL.open(WORK + "sleep", workers=2, expected_s=60.0) as pool:
        outcomes = pool.run([0.0] * 20 + [3600.0] * 20, [1.0] * 40)
        next(outcomes)
    assert [process.returncode is None for process in started] == [False, False]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A record of one value."""

    value: float


@dataclass(frozen=True, slots=True)
class Branch:
    """A record in which a record occurs twice."""

    left: Leaf
    right: Leaf
    names: Mapping[str, tuple[Leaf, ...]]
    kind: BlockKind = BlockKind.TABLE


@dataclass
class Derived:
    """A record whose constructor does not take all it holds."""

    given: int
    doubled: int = field(init=False)

    def __post_init__(self) -> None:
        self.doubled = 2 * self.given


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(Leaf(0.5), id="one-field"),
        pytest.param(Branch(Leaf(1.0), Leaf(2.0), {"a": (Leaf(3.0),)}), id="nested"),
        pytest.param(Derived(2), id="derived"),
        pytest.param([Leaf, {"x": None}, BlockKind.TITLE], id="class"),
    ],
)
def test_records_come_out_of_a_frame_as_they_went_in(value: Any) -> None:
    body = frame(value)
    assert int.from_bytes(body[:8], "little") == len(body) - 8
    assert pickle.loads(body[8:]) == value


def test_a_record_that_occurs_twice_stays_one() -> None:
    leaf = Leaf(1.0)
    branch = pickle.loads(frame(Branch(leaf, leaf, {}))[8:])
    assert branch.left is branch.right


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
