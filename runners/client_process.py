"""One client process: sends its share of the pages and reports each answer to the parent over a pipe.

It does nothing but network work, so that writing logs and sampling counters cannot delay a time stamp.
Run as `python -m runners.client_process PIPE_FD BODIES_FD BOARD_FD`; it ends when its parent is gone.
"""

from __future__ import annotations

import asyncio
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe
from typing import Any

from evalkit.types import FinishState, RawOutput
from runners.chat_answer import ChatAnswer
from runners.chat_body import BodySlot, BodyStore
from runners.http_exchange import ConnectionPool, Endpoint, ExchangeError, request_head
from runners.load import Board

CHAT_PATH = "/v1/chat/completions"
LAG_EVERY_S = 0.01
Emit = Callable[[RawOutput], None]


@dataclass(frozen=True, slots=True)
class ClientTask:
    """What one client process is to do. `concurrency` is its share of a closed loop's slots."""

    process: int
    processes: int
    endpoints: tuple[str, ...]
    slots: Sequence[BodySlot]
    concurrency: int
    timeout_s: float
    arrivals_s: Sequence[float] | None = None
    stream: bool = True
    marker: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class ServerGoneError(Exception):
    """Every endpoint refuses connections: the rest of the pages is left for a resumed run."""


class Client:
    """Sends pages of one task. Times in outputs are seconds since `start_s` of `time.monotonic()`."""

    def __init__(self, task: ClientTask, bodies: BodyStore, board: Board, start_s: float, emit: Emit) -> None:
        self._task = task
        self._bodies = bodies
        self._board = board
        self._start_s = start_s
        self._emit = emit
        self._pool = ConnectionPool()
        self._endpoints = [Endpoint.parse(url) for url in task.endpoints]
        self.gone = False

    async def drive(self) -> None:
        """Send the pages until none is left."""
        try:
            if self._task.arrivals_s is None:
                await asyncio.gather(*(self._closed_slot() for _ in range(self._task.concurrency)))
            else:
                await self._open_loop(self._task.arrivals_s)
        finally:
            self._pool.close()

    async def _closed_slot(self) -> None:
        arrival_s = self._start_s
        while not self.gone:
            index = self._board.take()
            if index >= len(self._task.slots):
                return
            await self._page(index, arrival_s)
            arrival_s = time.monotonic()

    async def _open_loop(self, arrivals_s: Sequence[float]) -> None:
        async with asyncio.TaskGroup() as group:
            for index in range(self._task.process, len(self._task.slots), self._task.processes):
                arrival_s = self._start_s + arrivals_s[index]
                await asyncio.sleep(max(0.0, arrival_s - time.monotonic()))
                if self.gone:
                    return
                group.create_task(self._page(index, arrival_s))

    async def _page(self, index: int, arrival_s: float) -> None:
        try:
            output = await self._request(index, arrival_s)
        except ServerGoneError:
            self.gone = True
            return
        except Exception as error:  # the door of one page: a bug here costs this page, with its reason
            page_id = self._task.slots[index].page_id
            output = RawOutput(page_id, None, FinishState.ERROR, f"internal: {type(error).__name__}: {error}")
        self._emit(output)

    async def _request(self, index: int, arrival_s: float) -> RawOutput:
        slot = self._task.slots[index]
        if slot.problem is not None:
            return RawOutput(slot.page_id, None, FinishState.ERROR, slot.problem)
        chosen = self._board.choose_endpoint()
        answer = ChatAnswer()
        send_s = time.monotonic()
        try:
            async with asyncio.timeout(self._task.timeout_s):
                send_s = await self._exchange(self._endpoints[chosen], slot, answer)
            state, reason = answer.verdict(self._task.marker)
        except TimeoutError:
            state, reason = FinishState.TIMEOUT, f"timeout: no complete answer in {self._task.timeout_s:g} s"
        except ExchangeError as error:
            state, reason = FinishState.ERROR, str(error)
            if reason.startswith("refused"):
                if not self._board.refuse(chosen):
                    raise ServerGoneError from error
                return await self._request(index, arrival_s)  # nothing was sent: another server gets the page
        finally:
            self._board.finished(chosen)
        return self._output(index, answer, state, reason, arrival_s, send_s, chosen)

    async def _exchange(self, endpoint: Endpoint, slot: BodySlot, answer: ChatAnswer) -> float:
        connection = await self._pool.acquire(endpoint)
        head = request_head(endpoint, CHAT_PATH, slot.length, self._task.headers)
        body = self._bodies.body(slot)
        send_s = time.monotonic()
        try:
            await connection.exchange(head, body, answer)
        finally:
            self._pool.release(endpoint, connection)
        answer.finish(time.monotonic())
        return send_s

    def _output(
        self,
        index: int,
        answer: ChatAnswer,
        state: FinishState,
        reason: str | None,
        arrival_s: float,
        send_s: float,
        endpoint: int,
    ) -> RawOutput:
        now_s = time.monotonic()
        failed = state in {FinishState.ERROR, FinishState.TIMEOUT}
        times_s = answer.chunk_times_s
        streamed = answer.content_type == "text/event-stream"
        extra: dict[str, Any] = {
            "order": index,
            "endpoint": endpoint,
            "http_status": answer.status or None,
            "chunk_times_s": [self._clock(time_s) for time_s in times_s],
            "chunk_chars": answer.chunk_chars,
        }
        if answer.chunk_tokens:
            extra["chunk_tokens"] = answer.chunk_tokens
        if answer.metrics is not None:
            extra["server_metrics"] = answer.metrics
        if answer.emulated:
            extra["emulated"] = True
        if failed and answer.text:
            extra["partial_text"] = answer.text
        return RawOutput(
            page_id=self._task.slots[index].page_id,
            text=None if failed else answer.text,
            state=state,
            reason=reason,
            finish_reason=answer.finish_reason,
            arrival_s=self._clock(arrival_s),
            send_s=self._clock(send_s),
            first_s=self._clock(times_s[0]) if times_s and streamed else None,
            last_s=self._clock(times_s[-1] if times_s and not failed else now_s),
            tokens=answer.tokens(),
            extra=extra,
        )

    def _clock(self, time_s: float) -> float:
        return round(time_s - self._start_s, 6)


async def watch_lag(lags_s: list[float]) -> None:
    """Note, until cancelled, how much later than asked the event loop wakes up."""
    while True:
        due_s = time.monotonic() + LAG_EVERY_S
        await asyncio.sleep(LAG_EVERY_S)
        lags_s.append(max(0.0, time.monotonic() - due_s))


async def _drive_watched(client: Client) -> list[float]:
    lags_s: list[float] = []
    watcher = asyncio.create_task(watch_lag(lags_s))
    try:
        await client.drive()
    finally:
        watcher.cancel()
    return lags_s


def serve_parent(pipe: Pipe, bodies_descriptor: int, board_descriptor: int) -> None:
    """Take a task from the parent, say ready, wait for the start time, drive, and report."""
    task: ClientTask = pipe.recv()
    bodies = BodyStore(bodies_descriptor)
    board = Board(board_descriptor, len(task.endpoints))
    pipe.send(("ready", task.process))
    start_s: float = pipe.recv()
    threading.Thread(target=_exit_with_parent, args=(pipe,), daemon=True).start()
    outbox: queue.SimpleQueue[tuple[str, Any] | None] = queue.SimpleQueue()
    sender = threading.Thread(target=_send_all, args=(pipe, outbox))
    sender.start()
    time.sleep(max(0.0, start_s - time.monotonic()))
    cpu_s = time.process_time()
    client = Client(task, bodies, board, start_s, lambda output: outbox.put(("output", output)))
    lags_s = asyncio.run(_drive_watched(client))
    report = {"lags_s": lags_s, "cpu_s": time.process_time() - cpu_s, "gone": client.gone}
    outbox.put(("finished", report))
    outbox.put(None)
    sender.join()


def _send_all(pipe: Pipe, outbox: queue.SimpleQueue[tuple[str, Any] | None]) -> None:
    while (message := outbox.get()) is not None:
        pipe.send(message)


def _exit_with_parent(pipe: Pipe) -> None:
    try:
        pipe.recv()
    except (EOFError, OSError):
        os._exit(0)


def main(arguments: Sequence[str]) -> None:
    """Entry of the process: the inherited descriptors of pipe, bodies and board."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe_descriptor, bodies_descriptor, board_descriptor = map(int, arguments)
    with Pipe(pipe_descriptor) as pipe:
        try:
            serve_parent(pipe, bodies_descriptor, board_descriptor)
        except (EOFError, BrokenPipeError):
            os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
