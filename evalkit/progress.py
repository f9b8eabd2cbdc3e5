"""Progress of long work on stderr: a bar on a terminal, else a plain line every few seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from evalkit.errors import printable

QUIET_S = 2.0
TERMINAL_EVERY_S = 0.1
PLAIN_EVERY_S = 5.0
BAR_WIDTH = 30


class Progress:
    """Counts steps of one task; nothing is shown for work of under two seconds."""

    def __init__(self, task: str, total: int, stream: TextIO) -> None:
        self._task = task
        self._total = total
        self._stream = stream
        self._done = 0
        self._start_s = time.monotonic()
        self._shown_s = self._start_s
        self._visible = False
        self._terminal = stream.isatty()

    def advance(self, steps: int = 1) -> None:
        """Count further steps as done."""
        self.update(self._done + steps)

    def update(self, done: int, total: int | None = None) -> None:
        """Set the number of steps done, and the total when it has changed."""
        self._done = done
        if total is not None:
            self._total = total
        now_s = time.monotonic()
        every_s = TERMINAL_EVERY_S if self._terminal else PLAIN_EVERY_S
        if now_s - self._start_s >= QUIET_S and now_s - self._shown_s >= every_s:
            self._show(now_s)

    def _show(self, now_s: float) -> None:
        self._shown_s = now_s
        self._visible = True
        elapsed_s = now_s - self._start_s
        left = f", {elapsed_s / self._done * (self._total - self._done):.0f} s left" if self._done else ""
        text = f"{self._task}: {self._done}/{self._total} in {elapsed_s:.0f} s{left}"
        if self._terminal:
            filled = BAR_WIDTH * self._done // max(self._total, 1)
            bar = "█" * filled + "·" * (BAR_WIDTH - filled)
            self._stream.write(f"\r\x1b[K{bar} {text}")
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Remove the bar from a terminal, or close with a plain line when lines were shown."""
        if not self._visible:
            return
        if self._terminal:
            self._stream.write("\r\x1b[K")
        else:
            elapsed_s = time.monotonic() - self._start_s
            self._stream.write(f"{self._task}: {self._done}/{self._total} in {elapsed_s:.0f} s\n")
        self._stream.flush()


@contextmanager
def progress(task: str, total: int, stream: TextIO | None = None) -> Iterator[Progress]:
    """Show the progress of `total` steps on stderr while the block runs."""
    shown = Progress(task, total, stream or sys.stderr)
    try:
        yield shown
    finally:
        shown.close()


def say(text: str) -> None:
    """One line on stderr about what happens now; what servers and programs said in it cannot drive the terminal."""
    print(printable(text), file=sys.stderr, flush=True)
