"""Runs one function over many items in worker processes; an item that kills its worker costs that item alone.

Workers are fresh interpreters that talk over pipes: nothing is forked from this process, its main module is not
imported again, and results depend neither on their number nor on their timing.
"""

from __future__ import annotations

import os
import pickle
import selectors
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from evalkit.worker_loop import call, frame, read_frame

IN_PROCESS_ITEMS = 12
WORTH_A_WORKER_S = 1.0  # a worker takes over half a second to start
MOST_ITEMS_A_CHUNK = 16
CHUNKS_A_WORKER = 12
ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one item: its value, or the reason why there is none."""

    value: Any = None
    failure: str | None = None


@dataclass(slots=True)
class _Worker:
    process: subprocess.Popen[bytes]
    stdin: IO[bytes]
    stdout: IO[bytes]
    running: deque[int] = field(default_factory=deque)

    def send(self, numbers: Sequence[int], items: Sequence[Any]) -> None:
        self.running = deque(numbers)
        self.stdin.write(frame([items[number] for number in numbers]))
        self.stdin.flush()


class LocalProcesses:
    """Executor on this machine."""

    def map(
        self,
        target: str,
        items: Sequence[Any],
        *,
        weights: Sequence[float],
        workers: int,
        advance: Callable[[], None],
    ) -> list[Done]:
        """`target` (module:function) of each item, in the order of the items; the heaviest are run first.

        `weights` are estimates in seconds. What is not worth a second worker runs in this process.
        """
        useful = min(workers, int(sum(weights) / WORTH_A_WORKER_S))
        if useful < 2 or len(items) <= IN_PROCESS_ITEMS:
            return [_advanced(Done(*call(target, item)), advance) for item in items]
        return _Pool(target, items, weights, useful, advance).run()


def _advanced(done: Done, advance: Callable[[], None]) -> Done:
    advance()
    return done


class _Pool:
    """The workers of one call and what they still have to do."""

    def __init__(
        self, target: str, items: Sequence[Any], weights: Sequence[float], workers: int, advance: Callable[[], None]
    ) -> None:
        self._target = target
        self._items = items
        self._count = workers
        self._advance = advance
        self._chunks = deque(chunks(weights, workers))
        self._deaths: dict[int, int] = {}
        self._done: list[Done | None] = [None] * len(items)
        self._selector = selectors.DefaultSelector()

    def run(self) -> list[Done]:
        """Every item's outcome; the workers are gone when this returns or raises."""
        try:
            for _ in range(self._count):
                self._start()
            while self._selector.get_map():
                for key, _ in self._selector.select():
                    self._receive(key.data)
        finally:
            for key in list(self._selector.get_map().values()):
                self._stop(key.data)
            self._selector.close()
        return [done if done is not None else Done(failure="not run") for done in self._done]

    def _start(self) -> None:
        path = os.pathsep.join(part for part in sys.path if part)
        process = subprocess.Popen(
            [sys.executable, "-m", "evalkit.worker_loop", self._target],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        worker = _Worker(process, process.stdin, process.stdout)
        self._selector.register(worker.stdout, selectors.EVENT_READ, worker)
        self._give(worker)

    def _give(self, worker: _Worker) -> None:
        """The next chunk for an idle worker, or its end when none is left."""
        if not self._chunks:
            self._stop(worker)
            return
        try:
            worker.send(self._chunks.popleft(), self._items)
        except BrokenPipeError:
            self._bury(worker)

    def _receive(self, worker: _Worker) -> None:
        answer = read_frame(worker.stdout.fileno())
        if answer is None:
            self._bury(worker)
            return
        self._finish(worker.running.popleft(), Done(*pickle.loads(answer)))
        if not worker.running:
            self._give(worker)

    def _finish(self, number: int, done: Done) -> None:
        self._done[number] = done
        self._advance()

    def _bury(self, worker: _Worker) -> None:
        """A worker died: the item it was at is tried once more, alone; the rest of its chunk goes back."""
        self._selector.unregister(worker.stdout)
        code = worker.process.wait()
        rest = list(worker.running)
        if rest:
            suspect = rest.pop(0)
            self._deaths[suspect] = self._deaths.get(suspect, 0) + 1
            if self._deaths[suspect] < ATTEMPTS:
                self._chunks.append((suspect,))
            else:
                self._finish(suspect, Done(failure=_death(code)))
            if rest:
                self._chunks.append(tuple(rest))
        if self._chunks:
            self._start()

    def _stop(self, worker: _Worker) -> None:
        self._selector.unregister(worker.stdout)
        if worker.running:
            worker.process.kill()
        worker.stdin.close()
        worker.process.wait()
        worker.stdout.close()


def chunks(weights: Sequence[float], workers: int) -> list[tuple[int, ...]]:
    """Item numbers in chunks, heaviest first: heavy items alone, light ones together."""
    order = sorted(range(len(weights)), key=lambda number: (-weights[number], number))
    fair = sum(weights) / (workers * CHUNKS_A_WORKER)
    found: list[tuple[int, ...]] = []
    chunk: list[int] = []
    load = 0.0
    for number in order:
        chunk.append(number)
        load += weights[number]
        if load >= fair or len(chunk) == MOST_ITEMS_A_CHUNK:
            found.append(tuple(chunk))
            chunk, load = [], 0.0
    return [*found, tuple(chunk)] if chunk else found


def _death(code: int) -> str:
    return f"killed its worker process twice ({'signal' if code < 0 else 'exit code'} {abs(code)})"


LOCAL = LocalProcesses()
