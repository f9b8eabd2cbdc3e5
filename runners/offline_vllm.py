"""The runner for vLLM's Python API: pages in batches, as HPD's own benchmark script runs them; no server, no HTTP.

Its figures are of mode offline: whole batches are timed, so that pages have no latencies of their own.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit.errors import ToolchainError, UserError
from evalkit.types import FinishState, InferSettings, PageJob, RawOutput, RunFacts, Sample, System, TokenCounts
from runners.chat_answer import TRUNCATING
from runners.launchers.diagnosis import explain, last_lines, log_tail
from runners.launchers.flags import filled
from runners.launchers.process import stop_supervised, supervised
from runners.launchers.vllm import find_vllm, weights_of
from runners.load import ordered
from runners.telemetry import TelemetrySampler

WORKER = Path(__file__).with_name("offline_worker.py")
START_TIMEOUT_S = 1800.0
STOP_TIMEOUT_S = 10.0
OnResult = Callable[[RawOutput], None]


class OfflineRunner:
    """Batches of as many pages as the load has in flight through `LLM.chat`.

    `settings.launch`: vllm (environment of the engine), model (folder of weights), log (file), start_timeout_s.
    """

    def run(self, pages: Sequence[PageJob], settings: InferSettings, on_result: OnResult) -> RunFacts:
        """Run every page once. Raises ToolchainError when the engine does not start."""
        if settings.load.shape != "closed":
            raise UserError("the offline mode runs batches; it has no arrivals")
        engine = _Engine(settings)
        telemetry = TelemetrySampler()
        try:
            version = engine.start(_task(settings.system, weights_of(settings.system, settings.launch)))
            engine.warm_up(settings.warmup)
            start_s, anchor_unix_s = time.monotonic(), time.time()
            telemetry.start(start_s)
            drive = _Drive(engine, settings, start_s, on_result)
            drive.run(ordered(pages, settings.order, settings.seed))
        finally:
            samples = telemetry.stop()
            engine.stop()
        return RunFacts(
            mode="offline",
            anchor_unix_s=anchor_unix_s,
            server={"version": version, "warmup": {"pages": [job.page.page_id for job in settings.warmup]}},
            samples=(*drive.samples, *samples),
            notes=tuple(drive.notes),
        )


def _task(system: System, weights: str) -> dict[str, Any]:
    flags = {name.replace("-", "_"): filled(value, {"weights": weights}) for name, value in system.serve.flags.items()}
    sampling = dict(system.request.sampling)
    if system.request.max_tokens is not None:
        sampling["max_tokens"] = system.request.max_tokens
    return {
        "engine": {"model": weights, "disable_log_stats": False, **flags},
        "sampling": sampling,
        "prompt": system.request.prompt,
        "system_prompt": system.request.system_prompt,
        "image_first": system.request.image_first,
    }


class EngineGoneError(Exception):
    """The engine's process ended; the rest of the pages is left for a resumed run."""


class _Engine:
    """The worker process, under a supervisor that ends it with this process."""

    def __init__(self, settings: InferSettings) -> None:
        program = Path(find_vllm(settings.launch.get("vllm")))
        self._python = program.with_name("python")
        if not self._python.exists():
            raise ToolchainError(f"{program}: no python beside it; name the engine's environment with --vllm")
        self._name = settings.system.name
        self._env = settings.system.serve.env
        self._log = Path(settings.launch.get("log") or os.devnull)
        self._timeout_s = float(settings.launch.get("start_timeout_s", START_TIMEOUT_S))
        self._page_timeout_s = settings.timeout_s
        self._buffer = b""
        self._process: subprocess.Popen[bytes] | None = None
        self._tasks = self._answers = -1

    def start(self, task: Mapping[str, Any]) -> str:
        """Start the engine; its version. Raises ToolchainError with the cause and the log's last lines."""
        theirs_in, self._tasks = os.pipe()
        self._answers, theirs_out = os.pipe()
        words = [str(self._python), str(WORKER), str(theirs_in), str(theirs_out)]
        self._process = supervised(
            {
                "command": words,
                "env": dict(self._env),
                "log": str(self._log),
                "stop_timeout_s": STOP_TIMEOUT_S,
                "pass_fds": (theirs_in, theirs_out),
            }
        )
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            answer = self._ask(task, self._timeout_s)
        except EngineGoneError:
            answer = {}
        if "ready" not in answer:
            raise self._failure("does not start", str(answer.get("failed", "its process ended")))
        return str(answer["ready"])

    def _failure(self, what: str, cause: str) -> ToolchainError:
        tail = log_tail(self._log)
        remedy = explain(tail + cause)
        return ToolchainError(f"the engine of {self._name} {what}: {cause}. {remedy}\n{last_lines(tail)}")

    def warm_up(self, jobs: Sequence[PageJob]) -> None:
        """Run pages that are not timed. Raises ToolchainError when the engine ends over them."""
        if not jobs:
            return
        try:
            self.batch(jobs)
        except EngineGoneError as error:
            raise self._failure("ended while it warmed up", "its process ended, or did not answer in time") from error

    def batch(self, jobs: Sequence[PageJob]) -> dict[str, Any]:
        """Run one batch. Raises EngineGoneError, also when it takes longer than all its pages may."""
        pages = [[job.page.page_id, job.image] for job in jobs]
        return self._ask({"pages": pages}, self._page_timeout_s * len(pages))

    def _ask(self, task: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        try:
            os.write(self._tasks, json.dumps(task).encode() + b"\n")
        except BrokenPipeError as error:
            raise EngineGoneError from error
        deadline_s = time.monotonic() + timeout_s
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, deadline_s - time.monotonic()))
            data = os.read(self._answers, 1 << 16) if ready else b""
            if not data:
                raise EngineGoneError
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def stop(self) -> None:
        """End the process and all that it started."""
        for descriptor in (self._tasks, self._answers):
            if descriptor >= 0:
                os.close(descriptor)
        if self._process is not None:
            stop_supervised(self._process, STOP_TIMEOUT_S)


class _Drive:
    """Pages in batches, each timed as a whole on the run's clock."""

    def __init__(self, engine: _Engine, settings: InferSettings, start_s: float, on_result: OnResult) -> None:
        self._engine = engine
        self._settings = settings
        self._start_s = start_s
        self._on_result = on_result
        self.samples: list[Sample] = []
        self.notes: list[str] = []

    def run(self, jobs: Sequence[PageJob]) -> None:
        size = self._settings.load.in_flight
        for start in range(0, len(jobs), size):
            batch = jobs[start : start + size]
            try:
                answer = self._engine.batch(batch)
            except EngineGoneError:
                self.notes.append("stopped: the engine ended or did not answer in time; run again to go on")
                return
            self._take(batch, answer, start // size)

    def _take(self, batch: Sequence[PageJob], answer: Mapping[str, Any], number: int) -> None:
        if "failed" in answer:
            for job in batch:
                self._on_result(
                    RawOutput(job.page.page_id, None, FinishState.ERROR, f"server_error: {answer['failed']}"[:300])
                )
            return
        start_s, end_s = answer["start_s"] - self._start_s, answer["end_s"] - self._start_s
        self.samples += [Sample(start_s, "server", answer["before"]), Sample(end_s, "server", answer["after"])]
        for page_id, problem in answer["problems"].items():
            self._on_result(RawOutput(page_id, None, FinishState.ERROR, problem))
        for row in answer["outputs"]:
            self._on_result(_output(row, start_s, end_s, number, self._settings.system.output.marker))


def _output(row: Mapping[str, Any], start_s: float, end_s: float, batch: int, marker: str | None) -> RawOutput:
    finish, text = row["finish_reason"], row["text"]
    if finish in TRUNCATING:
        state, reason = FinishState.TRUNCATED, TRUNCATING[finish]
    elif finish != "stop":
        state, reason = FinishState.ERROR, f"stopped: finish_reason {finish}"
    elif not text.strip():
        state, reason = FinishState.INVALID, "empty: the answer has no text"
    elif marker is not None and marker not in text:
        state, reason = FinishState.INVALID, f"no_marker: the answer has no {marker}"
    else:
        state, reason = FinishState.OK, None
    return RawOutput(
        page_id=row["page_id"],
        text=None if state is FinishState.ERROR else text,
        state=state,
        reason=reason,
        finish_reason=finish,
        arrival_s=round(start_s, 6),
        send_s=round(start_s, 6),
        last_s=round(end_s, 6),
        tokens=TokenCounts(row["input"], row["output"], row["cached"]),
        extra={"batch": batch},
    )


RUNNER = OfflineRunner()
