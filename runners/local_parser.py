"""Runner for parsers that run on this machine: worker processes that load their models once."""

from __future__ import annotations

import json
import os
import queue
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from evalkit.errors import ToolchainError, UserError
from evalkit.types import FinishState, InferSettings, PageJob, RawOutput, RunFacts
from runners.load import ordered, require_closed

START_TIMEOUT_S = 300.0
STOP_TIMEOUT_S = 5.0


class WorkerTimeout(Exception):
    """A worker did not answer in time."""


class WorkerGone(Exception):
    """A worker ended without an answer."""


class Worker:
    """One parser process; `ask` sends an image path and waits for the answer line."""

    def __init__(self, parser: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "runners.parsers.worker", parser],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._buffer = b""
        try:
            ready = self._read(START_TIMEOUT_S)
        except (WorkerGone, WorkerTimeout) as error:
            self.close()
            raise ToolchainError(f"the parser {parser} does not start. Try: evalkit doctor {parser}") from error
        if "ready" not in ready:
            self.close()
            raise ToolchainError(f"the parser {parser} does not start: {ready.get('failed')}")

    def ask(self, image: str, timeout_s: float) -> dict[str, Any]:
        """The worker's answer. Raises WorkerTimeout or WorkerGone; the worker is of no use afterwards."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"image": image}).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise WorkerGone(f"exit code {self._process.wait()}") from error
        return self._read(timeout_s)

    def _read(self, timeout_s: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        end_s = time.monotonic() + timeout_s
        while b"\n" not in self._buffer:
            if not select.select([descriptor], [], [], max(end_s - time.monotonic(), 0.0))[0]:
                raise WorkerTimeout
            data = os.read(descriptor, 1 << 16)
            if not data:
                raise WorkerGone(f"exit code {self._process.wait()}")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        row: dict[str, Any] = json.loads(line)
        return row

    def close(self) -> None:
        """End the process, by force where it does not go by itself."""
        self._process.kill()
        self._process.wait(STOP_TIMEOUT_S)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


class LocalParserRunner:
    """Drives a parser of `runners.parsers` in worker processes, one page at a time in each."""

    def run(
        self, pages: Sequence[PageJob], settings: InferSettings, on_result: Callable[[RawOutput], None]
    ) -> RunFacts:
        """Parse all pages; `on_result` gets each answer as it comes, in this thread."""
        if not settings.system.command:
            raise UserError(f'system {settings.system.name}: `command` must name a parser, such as ["tesseract"]')
        require_closed(settings.load, settings.system)
        parser = settings.system.command[0]
        count = max(min(settings.processes or settings.load.in_flight, len(os.sched_getaffinity(0)), len(pages)), 1)
        workers = [Worker(parser) for _ in range(count)]
        drive = _Drive(parser, workers, ordered(pages, settings.order, settings.seed), settings)
        anchor_unix_s, start_s = time.time(), time.monotonic()
        try:
            drive.run(start_s, on_result)
        finally:
            drive.close()
        return RunFacts(mode="command", anchor_unix_s=anchor_unix_s, client={"slots": count, "parser": parser})


class _Drive:
    """The pages of one run handed to workers by a thread each."""

    def __init__(self, parser: str, workers: list[Worker], pages: Sequence[PageJob], settings: InferSettings) -> None:
        self._parser = parser
        self._workers = workers
        self._settings = settings
        self._jobs: queue.SimpleQueue[PageJob] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[RawOutput | Exception] = queue.SimpleQueue()
        self._left = len(pages)
        self._stopped = False
        for page in pages:
            self._jobs.put(page)

    def run(self, start_s: float, on_result: Callable[[RawOutput], None]) -> None:
        for slot in range(len(self._workers)):
            threading.Thread(target=self._serve, args=(slot, start_s), daemon=True).start()
        while self._left:
            result = self._results.get()
            if isinstance(result, Exception):
                raise result
            self._left -= 1
            on_result(result)

    def close(self) -> None:
        self._stopped = True
        for worker in self._workers:
            worker.close()

    def _serve(self, slot: int, start_s: float) -> None:
        while not self._stopped:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            try:
                self._results.put(self._page(slot, job, start_s))
            except ToolchainError as error:
                self._results.put(error)
                return

    def _page(self, slot: int, job: PageJob, start_s: float) -> RawOutput:
        send_s = time.monotonic() - start_s
        try:
            row = self._workers[slot].ask(job.image, self._settings.timeout_s)
        except (WorkerTimeout, WorkerGone) as failure:
            if self._stopped:
                return _output(job, None, FinishState.ERROR, "stopped", send_s, send_s)
            last_s = time.monotonic() - start_s
            self._workers[slot].close()
            self._workers[slot] = Worker(self._parser)
            if isinstance(failure, WorkerTimeout):
                reason = f"no answer within {self._settings.timeout_s:g} s"
                return _output(job, None, FinishState.TIMEOUT, reason, send_s, last_s)
            return _output(job, None, FinishState.ERROR, f"the parser process died ({failure})", send_s, last_s)
        last_s = time.monotonic() - start_s
        if "error" in row:
            return _output(job, None, FinishState.ERROR, str(row["error"]), send_s, last_s)
        return _output(job, json.dumps(row, ensure_ascii=False), FinishState.OK, None, send_s, last_s)


def _output(
    job: PageJob, text: str | None, state: FinishState, reason: str | None, send_s: float, last_s: float
) -> RawOutput:
    return RawOutput(
        page_id=job.page.page_id,
        text=text,
        state=state,
        reason=reason,
        arrival_s=send_s,
        send_s=send_s,
        last_s=last_s,
    )


RUNNER = LocalParserRunner()
