"""Progress goes to the given stream, only for work that takes a while."""

from __future__ import annotations

import io

import pytest

from evalkit import progress as module
from evalkit.progress import progress


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def shown(stream: io.StringIO, clock: Clock, step_s: float, steps: int) -> str:
    with progress("scoring", steps, stream) as bar:
        for _ in range(steps):
            clock.now_s += step_s
            bar.advance()
    return stream.getvalue()


def test_short_work_shows_nothing(clock: Clock) -> None:
    assert shown(io.StringIO(), clock, 0.1, 10) == ""


def test_plain_lines_every_few_seconds(clock: Clock) -> None:
    lines = shown(io.StringIO(), clock, 1.0, 12).splitlines()
    assert lines == ["scoring: 5/12 in 5 s, 7 s left", "scoring: 10/12 in 10 s, 2 s left", "scoring: 12/12 in 12 s"]


def test_a_terminal_gets_a_bar_that_is_removed(clock: Clock) -> None:
    text = shown(Terminal(), clock, 1.0, 4)
    assert "2/4" in text
    assert text.endswith("\r\x1b[K")
    assert "\n" not in text
