"""Starts the client processes of one drive and hands their outputs on as they come."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait

from evalkit.errors import ToolchainError
from evalkit.types import Load, RawOutput
from runners.chat_body import BodyStore
from runners.client_process import ClientTask
from runners.load import Board, slots_of

READY_WITHIN_S = 60.0
START_DELAY_S = 0.02
"""Time for the start message to reach every process, so that all begin at one moment."""


@dataclass(frozen=True, slots=True)
class ClientReport:
    """What one client process says about itself at its end; `exit_code` is set when it died instead."""

    lags_s: tuple[float, ...] = ()
    cpu_s: float = 0.0
    gone: bool = False
    exit_code: int | None = None


class ClientPool:
    """Client processes that are started, then released at one moment by `run`."""

    def __init__(self, task: ClientTask, load: Load, processes: int, bodies: BodyStore) -> None:
        self._board = Board.create(len(task.endpoints))
        self._pipes: list[Connection] = []
        self._children: list[subprocess.Popen[bytes]] = []
        try:
            for process in range(processes):
                self._start(
                    replace(task, process=process, processes=processes, concurrency=slots_of(load, process, processes)),
                    bodies,
                )
            for process, pipe in enumerate(self._pipes):
                self._expect_ready(process, pipe)
        except BaseException:
            self.close()
            raise

    def _start(self, task: ClientTask, bodies: BodyStore) -> None:
        ours, theirs = Pipe()
        descriptors = (theirs.fileno(), bodies.descriptor, self._board.descriptor)
        command = [sys.executable, "-P", "-m", "runners.client_process", *map(str, descriptors)]
        self._children.append(subprocess.Popen(command, pass_fds=descriptors, stdin=subprocess.DEVNULL))
        theirs.close()
        self._pipes.append(ours)
        ours.send(task)

    def _expect_ready(self, process: int, pipe: Connection) -> None:
        try:
            if pipe.poll(READY_WITHIN_S) and pipe.recv()[0] == "ready":
                return
        except (EOFError, OSError):
            pass
        raise ToolchainError(f"client process {process} did not start; its message is above")

    def run(self, on_output: Callable[[RawOutput], None], on_start: Callable[[float], None]) -> list[ClientReport]:
        """Release the processes and hand on every output until all have ended.

        `on_start` is told the start on `time.monotonic()`, at which the run's clock is 0.
        """
        start_s = time.monotonic() + START_DELAY_S
        on_start(start_s)
        for pipe in self._pipes:
            pipe.send(start_s)
        reports: dict[Connection, ClientReport] = {}
        while len(reports) < len(self._pipes):
            ready = wait([pipe for pipe in self._pipes if pipe not in reports])
            for pipe in (pipe for pipe in self._pipes if pipe in ready):
                report = self._receive(pipe, on_output)
                if report is not None:
                    reports[pipe] = report
        return [reports[pipe] for pipe in self._pipes]

    def refusing(self) -> list[int]:
        """The endpoints that went away during the drive while others were left."""
        return self._board.refusing()

    def _receive(self, pipe: Connection, on_output: Callable[[RawOutput], None]) -> ClientReport | None:
        try:
            kind, content = pipe.recv()
        except (EOFError, OSError):
            return ClientReport(exit_code=self._children[self._pipes.index(pipe)].wait())
        if kind == "output":
            on_output(content)
            return None
        return ClientReport(tuple(content["lags_s"]), content["cpu_s"], content["gone"])

    def close(self) -> None:
        """End what still runs: a process ends by itself when its pipe closes."""
        for pipe in self._pipes:
            pipe.close()
        for child in self._children:
            try:
                child.wait(timeout=5)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self._board.close()


def lag_quantile_s(reports: Sequence[ClientReport], share: float) -> float | None:
    """A quantile of the event-loop lag over all processes; None when the drive was too short to see any."""
    lags_s = sorted(lag for report in reports for lag in report.lags_s)
    return lags_s[min(len(lags_s) - 1, int(share * len(lags_s)))] if lags_s else None
