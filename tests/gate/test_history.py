"""History: rows survive, steps are found where the level changes and not where it does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lxml import etree

from evalkit.baseline import load_side
from evalkit.errors import InvalidFileError, UserError
from evalkit.history import Entry, append_history, find_steps, plot_history, read_history, series
from evalkit.store import write_jsonl
from tests.gate.runs import figure, made_scores, write_run


def noisy(*levels: tuple[int, float], sd: float = 0.1, seed: int = 3) -> list[float]:
    rng = np.random.default_rng(seed)
    return [float(level + rng.normal(0, sd)) for count, level in levels for _ in range(count)]


@pytest.mark.parametrize(
    ("values", "places"),
    [
        ([], []),
        ([1.0] * 30, []),
        (noisy((40, 5.0)), []),
        (noisy((12, 5.0), (12, 4.0)), [12]),
        (noisy((10, 5.0), (10, 4.0), (10, 6.0)), [10, 20]),
        ([5.0] * 8 + [4.0] * 8, [8]),
        ([5.0] * 3 + [4.0] * 3, []),
    ],
    ids=["nothing", "constant", "noise", "one step", "two steps", "exact figures", "too few to tell"],
)
def test_steps(values: list[float], places: list[int]) -> None:
    assert [step.index for step in find_steps(values)] == places


def test_a_step_says_the_levels_of_its_two_sides() -> None:
    (step,) = find_steps([5.0] * 8 + [4.0] * 8)
    assert (step.before, step.after) == (5.0, 4.0)
    assert 0 < step.p_value < 0.01


def test_false_steps_are_as_rare_as_the_limit_says() -> None:
    found = sum(bool(find_steps(noisy((20, 1.0), seed=seed))) for seed in range(100))
    assert found <= 5


def test_rows_are_appended_and_read_again(tmp_path: Path) -> None:
    run = load_side([write_run(tmp_path / "run", made_scores(9), figures={"pps": figure(2.0)})])
    path = tmp_path / "h" / "history.jsonl"
    append_history(path, run, "pass")
    append_history(path, run, "fail")
    entries = read_history(path)
    assert [entry.verdict for entry in entries] == ["pass", "fail"]
    assert series(entries, "pps")[1] == [2.0, 2.0]
    assert series(entries, "overall")[1] == [run.metrics["overall"]] * 2
    with pytest.raises(UserError, match="unknown figure in the history 'ppp'"):
        series(entries, "ppp")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"run_id": "a"}, "line 2: not a run of a history"),
        ({"run_id": "a", "recorded_utc": "", "figures": []}, "line 2: not a run of a history"),
        ({"run_id": "a", "recorded_utc": "", "figures": {"x": "1"}}, "line 2: x is no finite number"),
    ],
)
def test_rows_that_are_none(tmp_path: Path, row: dict[str, object], message: str) -> None:
    path = tmp_path / "history.jsonl"
    write_jsonl(path, "evalkit.history", 1, [row])
    with pytest.raises(InvalidFileError, match=message):
        read_history(path)


def test_the_plot_marks_the_step_and_is_the_same_each_time(tmp_path: Path) -> None:
    values = [5.0] * 8 + [4.0] * 8
    entries = [Entry(f"run-$x_{place}<&", "t", {"pps": value}) for place, value in enumerate(values)]
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    assert [step.index for step in plot_history(entries, "pps", first)] == [8]
    plot_history(entries, "pps", second)
    assert first.read_bytes() == second.read_bytes()
    assert etree.parse(first).getroot().tag == "{http://www.w3.org/2000/svg}svg"
