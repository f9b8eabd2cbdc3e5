"""The infer stage: drives a system over pages and logs every answer; run again, it goes on where it stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from evalkit import registry
from evalkit.errors import DriveInterruptedError, UserError
from evalkit.requests_log import (
    BRANCHES_SCHEMA,
    FILE,
    SAMPLES_SCHEMA,
    SCHEMA,
    SESSIONS_FILE,
    SESSIONS_SCHEMA,
    VERSION,
    branches_path,
    read_requests,
    read_sessions,
    samples_path,
)
from evalkit.store import STAMP, JsonlAppender, locked, sha256_json, to_plain, write_jsonl, write_stamp
from evalkit.types import FinishState, InferSettings, PageJob, RawOutput, RunFacts

STAGE_VERSION = 1
FAILED = frozenset({FinishState.ERROR, FinishState.TIMEOUT})
FREE_TO_CHANGE = (
    "endpoints",
    "timeout_s",
    "processes",
    "warmup",
    "sample_every_s",
    "check_client",
    "launch",
    "preflight",
    "sample_alone",
)
"""Settings in which a resumed drive may differ from the first."""


class Runner(Protocol):
    """What drives a system: registered under the kind "runner"."""

    def run(
        self, pages: Sequence[PageJob], settings: InferSettings, on_result: Callable[[RawOutput], None]
    ) -> RunFacts:
        """Send every page once; `on_result` gets each output as it ends, in this thread."""


@dataclass(frozen=True, slots=True)
class InferReport:
    """The state of an infer folder: pages asked for, how the answered ones ended, drives, and what to know."""

    pages: int
    states: Mapping[str, int]
    sessions: int
    notes: tuple[str, ...] = ()

    @property
    def missing(self) -> int:
        """Pages without any row; a further run of the stage asks for them."""
        return self.pages - sum(self.states.values())

    @property
    def unanswered(self) -> int:
        """Pages without an answer: not asked for yet, or ended in error or time-out."""
        return self.missing + sum(self.states.get(state.value, 0) for state in FAILED)


def infer(
    run: Path,
    pages: Sequence[PageJob],
    settings: InferSettings,
    *,
    retry_failed: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> InferReport:
    """Fill `run`/infer with one row a page, skipping pages that have one.

    With `retry_failed` pages that ended in error or time-out are asked again. Raises UserError when the folder
    holds a drive with other settings, or another process is writing to it.
    """
    _check_pages(pages)
    _check_settings(settings)
    folder = run / "infer"
    with locked(folder):
        parameters = _parameters(settings)
        _check_same(folder, parameters)
        todo = _left(folder, pages, retry_failed)
        notes: tuple[str, ...] = ()
        if todo:
            (folder / STAMP).unlink(missing_ok=True)
            notes = _Session(folder, parameters, settings).drive(todo, len(pages), on_progress)
        report = _report(folder, pages, notes)
        if not report.missing:
            inputs = {"pages": sha256_json([job.page.page_id for job in pages])}
            write_stamp(folder, STAGE_VERSION, inputs, parameters)
        return report


def is_inferred(run: Path, pages: Sequence[PageJob], settings: InferSettings, *, retry_failed: bool = False) -> bool:
    """Whether every page has its row already, so that no server need be started.

    With `retry_failed` a row that says error or time-out is none. Raises UserError when the folder holds a drive
    with other settings.
    """
    folder = run / "infer"
    _check_same(folder, _parameters(settings))
    return not _left(folder, pages, retry_failed)


def infer_report(run: Path, pages: Sequence[PageJob]) -> InferReport:
    """The state of a run's infer folder as it is on disk."""
    return _report(run / "infer", pages, ())


def _check_pages(pages: Sequence[PageJob]) -> None:
    twice = [page_id for page_id, count in Counter(job.page.page_id for job in pages).items() if count > 1]
    if twice:
        raise UserError(f"page ids must be unique; given twice: {', '.join(sorted(twice)[:5])}")
    if not pages:
        raise UserError("there are no pages to infer")


def _check_settings(settings: InferSettings) -> None:
    if not settings.timeout_s > 0:
        raise UserError(f"--timeout must be above 0 seconds, not {settings.timeout_s:g}")
    if settings.processes is not None and settings.processes < 1:
        raise UserError(f"--processes must be 1 or more, not {settings.processes}")


def _parameters(settings: InferSettings) -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(settings)
    return {key: value for key, value in plain.items() if key not in FREE_TO_CHANGE}


def _check_same(folder: Path, parameters: Mapping[str, Any]) -> None:
    sessions = read_sessions(folder)
    if not sessions:
        return
    before = sessions[0].settings
    changed = [
        f"{key}: {_short(before.get(key))} before, {_short(parameters[key])} now"
        for key in parameters
        if before.get(key) != parameters[key]
    ]
    if changed:
        listing = "\n".join(f"  - {line}" for line in changed)
        raise UserError(f"{folder}: this run was begun with other settings; choose another --out.\n{listing}")


def _short(value: object) -> str:
    if isinstance(value, dict) and "name" in value:
        return f"{value['name']} as it was read"
    return str(value)[:80]


def _left(folder: Path, pages: Sequence[PageJob], retry_failed: bool) -> list[PageJob]:
    path = folder / FILE
    if not path.exists():
        return list(pages)
    done = {output.page_id for output in read_requests(path) if not (retry_failed and output.state in FAILED)}
    return [job for job in pages if job.page.page_id not in done]


class _Session:
    """One drive of the stage: its rows carry its number, since each drive has its own clock."""

    def __init__(self, folder: Path, parameters: Mapping[str, Any], settings: InferSettings) -> None:
        self._folder = folder
        self._parameters = parameters
        self._settings = settings
        self._number = len(read_sessions(folder))

    def drive(
        self, todo: Sequence[PageJob], total: int, on_progress: Callable[[int, int], None] | None
    ) -> tuple[str, ...]:
        runner: Runner = registry.load("runner", self._settings.system.runner)
        done = total - len(todo)
        with (
            JsonlAppender(self._folder / SESSIONS_FILE, SESSIONS_SCHEMA, VERSION, fsync_every=1) as sessions,
            JsonlAppender(self._folder / FILE, SCHEMA, VERSION) as requests,
        ):
            begin = {"event": "begin", "pages": len(todo), "settings": self._parameters}
            begun = False

            def on_result(output: RawOutput) -> None:
                nonlocal done, begun
                if not begun:  # a drive that never came to an answer is none
                    sessions.append(begin)
                    begun = True
                requests.append(replace(output, extra={**output.extra, "session": self._number}))
                done += 1
                if on_progress is not None:
                    on_progress(done, total)

            try:
                facts = runner.run(todo, self._settings, on_result)
            except DriveInterruptedError as stop:
                if begun:
                    self._end(sessions, stop.facts)
                raise
            if begun:
                self._end(sessions, facts)
        return facts.notes

    def _end(self, sessions: JsonlAppender, facts: RunFacts) -> None:
        write_jsonl(samples_path(self._folder, self._number), SAMPLES_SCHEMA, VERSION, facts.samples)
        write_jsonl(branches_path(self._folder, self._number), BRANCHES_SCHEMA, VERSION, facts.branches)
        sessions.append({"event": "end", "facts": to_plain(replace(facts, samples=(), branches=()))})


def _report(folder: Path, pages: Sequence[PageJob], notes: tuple[str, ...]) -> InferReport:
    wanted = {job.page.page_id for job in pages}
    path = folder / FILE
    outputs = read_requests(path) if path.exists() else []
    states = Counter(output.state.value for output in outputs if output.page_id in wanted)
    return InferReport(len(pages), dict(states), len(read_sessions(folder)), notes)
