"""Work spread over processes in chunks; results come back whole, and nothing is left behind when it is interrupted."""

from __future__ import annotations

import multiprocessing
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from evalkit.errors import ToolchainError
from metrics.cdm.format import Workshop
from metrics.cdm.match import Match, Side, match
from metrics.cdm.rendering import Rendering, render
from metrics.cdm.typeset import Typesetter

MIN_CHUNK = 30  # formulas a TeX run should share: its start costs as much as typesetting these
MAX_CHUNK = 200
CHUNKS_A_WORKER = 2
FORMULAS_A_WORKER = 75  # fewer are drawn before a further process has started
PAIRS_A_FORMULA = 4  # pairs matched in the time of drawing a formula

Job = TypeVar("Job")
Result = TypeVar("Result")
RenderJob = tuple[int, Sequence[str]]
MatchJob = tuple[int, Sequence[tuple[Side, Side]]]

_typesetter: Typesetter | None = None  # of this worker process


class Crew:
    """Renders and matches chunks, in this process or in several."""

    def __init__(self, workshop: Workshop, scratch: Path, size: int, executor: ProcessPoolExecutor | None) -> None:
        self.size = size
        self._own = Typesetter(workshop, scratch) if executor is None else None
        self._executor = executor

    def render(self, jobs: Sequence[RenderJob]) -> Iterator[tuple[int, list[Rendering]]]:
        """Renderings of each chunk, in the order in which they are done."""
        if self._own is None:
            yield from self._spread(_render_job, jobs)
            return
        for number, formulas in jobs:
            yield number, render(self._own, formulas)

    def match(self, jobs: Sequence[MatchJob]) -> Iterator[tuple[int, list[Match]]]:
        """Matches of each chunk, in the order in which they are done."""
        yield from map(_match_job, jobs) if len(jobs) == 1 else self._spread(_match_job, jobs)

    def _spread(self, work: Callable[[Job], Result], jobs: Sequence[Job]) -> Iterator[Result]:
        if self._executor is None:
            yield from map(work, jobs)
            return
        try:
            for future in as_completed([self._executor.submit(work, job) for job in jobs]):
                yield future.result()
        except BrokenProcessPool as error:
            raise ToolchainError(
                "formula_cdm stopped: one of its processes was ended from outside, perhaps for want of memory.\n"
                "Run it again with fewer workers; what was drawn so far is kept."
            ) from error


@contextmanager
def crew(workshop: Workshop, workers: int) -> Iterator[Crew]:
    """A crew with this many processes; 1 works in the calling process. Ends with all its processes and files gone."""
    scratch = Path(tempfile.mkdtemp(prefix="evalkit-cdm-"))
    before = set(multiprocessing.active_children())
    executor = _start_executor(workshop, scratch, workers) if workers > 1 else None
    try:
        yield Crew(workshop, scratch, workers if executor else 1, executor)
    except BaseException:
        for process in set(multiprocessing.active_children()) - before if executor else ():
            process.terminate()
        raise
    finally:
        if executor is not None:
            executor.shutdown(cancel_futures=True)
        shutil.rmtree(scratch, ignore_errors=True)


def _start_executor(workshop: Workshop, scratch: Path, workers: int) -> ProcessPoolExecutor | None:
    """Worker processes; None on a system without shared memory for their locks (some containers)."""
    context = multiprocessing.get_context("spawn")
    try:
        return ProcessPoolExecutor(workers, context, _start_worker, (workshop, scratch))
    except OSError:
        return None


def useful_workers(wanted: int, formulas: int, pairs: int) -> int:
    """Processes that are worth their start for this much work."""
    return max(1, min(wanted, (formulas + pairs // PAIRS_A_FORMULA) // FORMULAS_A_WORKER))


def chunk_size(count: int, workers: int) -> int:
    """Formulas a chunk: enough to share TeX's start, few enough to keep all workers busy."""
    share = -(-count // (workers * CHUNKS_A_WORKER)) if workers > 1 else count
    return max(MIN_CHUNK, min(MAX_CHUNK, share))


def _start_worker(workshop: Workshop, scratch: Path) -> None:
    """Leave interrupts to the parent; end with clean-up when it says so."""
    global _typesetter
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end_with_clean_up)
    _typesetter = Typesetter(workshop, scratch)


def _end_with_clean_up(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(1)


def _render_job(job: RenderJob) -> tuple[int, list[Rendering]]:
    number, formulas = job
    if _typesetter is None:
        raise RuntimeError("the worker was not started")
    return number, render(_typesetter, formulas)


def _match_job(job: MatchJob) -> tuple[int, list[Match]]:
    number, pairs = job
    return number, [match(gt, pred) for gt, pred in pairs]
