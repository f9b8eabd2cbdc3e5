"""Pages scored one by one in worker processes: what goes to a worker and what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from evalkit import registry
from evalkit.prediction_files import PredictionText, markdown_bytes
from evalkit.progress import progress
from evalkit.protocols.result import PageResult
from evalkit.stages import convert as convert_stage
from evalkit.store import dump_line
from evalkit.types import GroundTruth
from evalkit.workers import worker_count

DEFAULT_PROTOCOL = "omnidocbench-1.6"
PAGE_WORK, SETUP = (f"evalkit.stages.page_scoring:{name}" for name in ("score_one", "get_ready"))
SECONDS_A_BYTE = 2.4e-6  # of a prediction; measured on ordinary pages, truth included


@dataclass(frozen=True, slots=True)
class PageWork:
    """One page for a worker. `image_name` is its name in files of the official layout."""

    protocol: str
    prepared: Any
    page_id: str
    image_name: str
    markdown: str


@dataclass(frozen=True, slots=True)
class ScoredPage:
    """A page's scored pairs, and their lines in files, written where the page is scored.

    `pair_lines` are those of pairs.jsonl; `official_lines` those of files in the official layout that no later score
    changes, by name.
    """

    result: PageResult
    pair_lines: tuple[bytes, ...]
    official_lines: Mapping[str, tuple[bytes, ...]]


@dataclass(frozen=True)
class PageWorks(Sequence[PageWork]):
    """What is sent to the workers, put together page by page as they ask for it."""

    rules: Any
    truths: Sequence[GroundTruth]
    texts: Sequence[PredictionText]

    def __len__(self) -> int:
        return len(self.truths)

    def __getitem__(self, number: Any) -> Any:
        truth = self.truths[number]
        page_id = truth.page.page_id
        prepared, markdown = self.rules.prepare(truth), self.texts[number].markdown
        return PageWork(self.rules.name, prepared, page_id, self._image_names[page_id], markdown)

    @cached_property
    def _image_names(self) -> Mapping[str, str]:
        names: Mapping[str, str] = self.rules.image_names(self.truths)
        return names

    def weights(self) -> list[float]:
        """How many seconds each page takes, roughly."""
        return [self.rules.weight(truth, text.markdown) for truth, text in zip(self.truths, self.texts, strict=True)]


def get_ready(protocol: str) -> None:
    """Runs in a worker before its first page: imports what scores pages."""
    registry.load("protocol", protocol).get_ready()


def score_one(work: PageWork) -> ScoredPage:
    """Runs in a worker: the scored pairs of one page."""
    rules = registry.load("protocol", work.protocol)
    result: PageResult = rules.score_page(work.prepared, work.page_id, work.markdown)
    rows = rules.official_rows(result, work.image_name)
    return ScoredPage(
        result,
        pair_lines=tuple(dump_line(one.pair) for one in result.pairs),
        official_lines={name: tuple(map(dump_line, found)) for name, found in rows.items()},
    )


def score_pages(works: PageWorks, pool: Any) -> tuple[list[ScoredPage], dict[str, str]]:
    """Results in the order of the pages, and why pages failed; a failed page is scored as an empty one."""
    pages: list[ScoredPage | None] = [None] * len(works)
    crashed: dict[str, str] = {}
    with progress("matching", len(works)) as bar:
        for number, done in pool.run(works, works.weights()):
            page = done.value
            if done.failure is not None:
                work = works[number]
                crashed[work.page_id] = done.failure
                page = _as_empty(work, done.failure)
            pages[number] = page
            bar.advance()
    return [page for page in pages if page is not None], crashed


def _as_empty(work: PageWork, failure: str) -> ScoredPage:
    page = score_one(replace(work, markdown=""))
    return replace(page, result=replace(page.result, notes=(f"crashed: {failure}",)))


def page_workers(
    predictions: Path, workers: int | None, protocol: str = DEFAULT_PROTOCOL, executor: str = "local"
) -> AbstractContextManager[Any]:
    """Worker processes for `evaluate`, as many as the predictions seem worth.

    Opened before the data set is loaded, they start meanwhile.
    """
    count = worker_count(workers)
    known = registry.is_builtin("protocol", protocol) or protocol in registry.names("protocol")
    workers_of: AbstractContextManager[Any] = registry.load("executor", executor).open(
        PAGE_WORK,
        workers=count,
        expected_s=SECONDS_A_BYTE * markdown_bytes(_markdown_folder(predictions)),
        setup=(SETUP, protocol) if known else (),
    )
    return workers_of


def _markdown_folder(predictions: Path) -> Path:
    convert = convert_folder(predictions)
    return convert / convert_stage.MARKDOWN_FOLDER if convert.is_dir() else predictions


def convert_folder(predictions: Path) -> Path:
    """The convert stage of a run, given its folder or that of the run."""
    return predictions if predictions.name == convert_stage.FOLDER else predictions / convert_stage.FOLDER
