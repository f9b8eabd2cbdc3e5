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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, Any

from evalkit.collector import no_collections
from evalkit.errors import ToolchainError
from evalkit.worker_loop import call, frame, read_frame

WORTH_A_WORKER_S = 0.4  # a worker takes a quarter of a second to start
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
    ready: bool = False
    running: deque[int] = field(default_factory=deque)


class LocalProcesses:
    """Executor on this machine."""

    @contextmanager
    def open(
        self, target: str, *, workers: int, expected_s: float = 0.0, setup: Sequence[str] = ()
    ) -> Iterator[LocalPool]:
        """At most so many workers for calls of `target` (module:function), gone when the block ends.

        One worker is this process itself, which an item that ends its worker would end; more are processes of their
        own. With `expected_s`, the work expected in seconds of one core, as many as that is worth start at once, while
        this process prepares the items. `setup` is what a worker calls first: module:function, then its arguments.
        """
        pool = LocalPool(target, workers, expected_s, setup)
        try:
            yield pool
        finally:
            pool.close()


class LocalPool:
    """The workers of one target and what they still have to do."""

    def __init__(self, target: str, workers: int, expected_s: float, setup: Sequence[str]) -> None:
        self._target = target
        self._most = workers
        self._setup = setup
        self._items: Sequence[Any] = ()
        self._chunks: deque[tuple[int, ...]] = deque()
        self._next: tuple[tuple[int, ...], bytes] | None = None
        self._deaths: dict[int, int] = {}
        self._selector = selectors.DefaultSelector()
        self._start_to(self._worthwhile(expected_s) if expected_s else 0)

    def run(self, items: Sequence[Any], weights: Sequence[float]) -> Iterator[tuple[int, Done]]:
        """(number, outcome) of every item as they come, the heaviest items first.

        `weights` are estimates in seconds. An item is taken from `items` when its turn comes, and again for a second
        attempt. Raises ToolchainError when workers do not start.
        """
        self._start_to(self._worthwhile(sum(weights)) if items else 0)
        if not self._selector.get_map():
            yield from ((number, Done(*call(self._target, item))) for number, item in enumerate(items))
            return
        self._items = items
        self._chunks.extend(chunks(weights, len(self._selector.get_map())))
        with no_collections():
            while self._selector.get_map():
                self._prepare()
                for key, _ in self._selector.select():
                    yield from self._receive(key.data)

    def close(self) -> None:
        """Stop all workers, whatever they are at."""
        for key in list(self._selector.get_map().values()):
            self._stop(key.data)
        self._selector.close()

    def _worthwhile(self, seconds: float) -> int:
        """How many processes some work is worth: at least one, none where this process is the one worker."""
        return 0 if self._most == 1 else max(min(self._most, int(seconds / WORTH_A_WORKER_S)), 1)

    def _start_to(self, count: int) -> None:
        for _ in range(len(self._selector.get_map()), count):
            self._start()

    def _start(self) -> None:
        path = os.pathsep.join(part for part in sys.path if part)
        process = subprocess.Popen(
            [sys.executable, "-m", "evalkit.worker_loop", self._target, *self._setup],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        worker = _Worker(process, process.stdin, process.stdout)
        self._selector.register(worker.stdout, selectors.EVENT_READ, worker)

    def _prepare(self) -> None:
        """Have the next chunk at hand, so that no worker waits for it."""
        if self._next is None and self._chunks:
            numbers = self._chunks.popleft()
            self._next = numbers, frame([self._items[number] for number in numbers])

    def _give(self, worker: _Worker) -> None:
        """The next chunk for an idle worker, or its end when none is left."""
        self._prepare()
        if self._next is None:
            self._stop(worker)
            return
        numbers, body = self._next
        self._next = None
        worker.running = deque(numbers)
        with suppress(BrokenPipeError):  # its end is seen on its other pipe
            worker.stdin.write(body)
            worker.stdin.flush()

    def _receive(self, worker: _Worker) -> Iterator[tuple[int, Done]]:
        answer = read_frame(worker.stdout.fileno())
        if answer is None:
            yield from self._bury(worker)
        elif not worker.ready:
            worker.ready = True
            self._give(worker)
        else:
            number = worker.running.popleft()
            if not worker.running:
                self._give(worker)
            yield number, Done(*pickle.loads(answer))

    def _bury(self, worker: _Worker) -> Iterator[tuple[int, Done]]:
        """A worker died: the item it was at is tried once more, alone; the rest of its chunk goes back."""
        self._selector.unregister(worker.stdout)
        code = worker.process.wait()
        if not worker.ready:
            raise ToolchainError(f"a worker process did not start ({_exit(code)}); its last words are above")
        rest = tuple(worker.running)
        if rest:
            suspect = rest[0]
            self._deaths[suspect] = self._deaths.get(suspect, 0) + 1
            if self._deaths[suspect] < ATTEMPTS:
                self._chunks.append((suspect,))
            else:
                yield suspect, Done(failure=f"killed its worker process twice ({_exit(code)})")
            if rest[1:]:
                self._chunks.append(rest[1:])
        if self._chunks or self._next is not None:
            self._start()

    def _stop(self, worker: _Worker) -> None:
        self._selector.unregister(worker.stdout)
        if worker.running or not worker.ready:
            worker.process.kill()
        with suppress(BrokenPipeError):
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


def _exit(code: int) -> str:
    return f"{'signal' if code < 0 else 'exit code'} {abs(code)}"


LOCAL = LocalProcesses()
