"""Page views of a report: which there are, how they are named, and each one when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from evalkit.types import PageScore
from reports.columns import BY_NAME, written
from reports.layout_verdicts import COVERED_SHARE
from reports.markup import render
from reports.page_images import reduced
from reports.page_order import PARTS, PageSet, worst_first
from reports.page_rows import PageRows
from reports.page_view import ELEMENTS, FormulaPicture, drawing, shown_page
from reports.pictures import timeline
from reports.run_files import Run
from reports.truth import TruthPage, read_truth

FOLDER = "pages"


@dataclass(frozen=True, slots=True)
class Neighbours:
    """File names of the next worse and next better page of a run; None at the ends."""

    worse: str | None
    better: str | None
    rank: int
    count: int


class PageSite:
    """Page views over one data set; `written_pages` are those that are files, or every page when served."""

    def __init__(self, pages: PageSet, written_pages: Sequence[str], picture: FormulaPicture | None = None) -> None:
        self.pages = pages
        self.written_pages = list(written_pages)
        self._picture = picture
        self._numbers = pages.numbers()
        self._rows: dict[str, PageRows] = {}
        self._scores = {run.key: {page.page_id: page for page in run.pages} for run in pages.runs}
        self._orders = {run.key: self._order(run) for run in pages.runs}

    def _order(self, run: Run) -> list[str]:
        kept = set(self.written_pages)
        return [page.page_id for page in worst_first(run) if page.page_id in kept]

    @cached_property
    def _truth(self) -> Mapping[str, TruthPage]:
        return read_truth(Path(self.pages.source), set(self.written_pages)) if self.pages.source else {}

    def files(self) -> Iterator[tuple[Run, str]]:
        """Run and page of every view."""
        for run in self.pages.runs:
            for page_id in self._orders[run.key]:
                yield run, page_id

    def file_name(self, page_id: str) -> str:
        """The file of a page inside its run's folder."""
        return f"{self._numbers[page_id]:05d}.html"

    def link(self, run: Run, page_id: str) -> str | None:
        """Where a page view is, from the report's folder; None when it is not among the files."""
        if page_id not in self._written_set:
            return None
        return f"{FOLDER}/{self.pages.key}/{run.key}/{self.file_name(page_id)}"

    @cached_property
    def _written_set(self) -> frozenset[str]:
        return frozenset(self.written_pages)

    def image_name(self, page_id: str) -> str | None:
        """The file of a page's reduced image; None for a page without an image."""
        truth = self._truth.get(page_id)
        return f"{self._numbers[page_id]:05d}.webp" if truth is not None and truth.image is not None else None

    def image(self, page_id: str) -> bytes | None:
        """A page's reduced image; None when there is none that can be read."""
        truth = self._truth.get(page_id)
        return reduced(truth.image if truth is not None else None)

    def page_of(self, file_name: str) -> str | None:
        """The page of a file name; None for a name that is not of a page here."""
        stem = file_name.rpartition(".")[0]
        number = int(stem) if stem.isascii() and stem.isdigit() and len(stem) < 9 else -1
        return self.pages.page_ids[number] if 0 <= number < len(self.pages.page_ids) else None

    def view(self, run: Run, page_id: str) -> str:
        """The page view as HTML."""
        if run.key not in self._rows:
            self._rows[run.key] = PageRows(run)
        part = self._rows[run.key].read(page_id)
        shown = shown_page(part, self._picture)
        name = self.image_name(page_id)
        branches, provenance = timeline.branches_of(part.request.get("extra") or {})
        score = self._scores[run.key].get(page_id)
        return render(
            "page.html",
            root="../../../",
            run=run,
            page_id=page_id,
            score=score,
            values=_values(score),
            shown=shown,
            drawing=drawing(self._truth.get(page_id), shown.boxes, f"../images/{name}" if name else None, run.layout),
            neighbours=self._neighbours(run, page_id),
            others=self._others(run, page_id),
            elements=ELEMENTS,
            covered_share=round(COVERED_SHARE * 100),
            chart=timeline.chart(branches, provenance),
        )

    def _neighbours(self, run: Run, page_id: str) -> Neighbours:
        order = self._orders[run.key]
        at = order.index(page_id) if page_id in order else 0
        return Neighbours(
            self.file_name(order[at - 1]) if at > 0 else None,
            self.file_name(order[at + 1]) if at + 1 < len(order) else None,
            at + 1,
            len(order),
        )

    def _others(self, run: Run, page_id: str) -> Sequence[tuple[str, str]]:
        """Title and file of the same page of the other runs."""
        name = self.file_name(page_id)
        return [
            (other.title + (" (emulated)" if other.emulated else ""), f"../{other.key}/{name}")
            for other in self.pages.runs
            if other.key != run.key and page_id in self._scores[other.key]
        ]


def _values(score: PageScore | None) -> list[tuple[str, str, str]]:
    """Title, text and definition of a page's values."""
    found = score.values if score is not None else {}
    columns = [BY_NAME[name] for name in (*PARTS, "table_teds_s", "formula_edit") if name in found]
    return [(column.title, written(column, found[column.name]), column.definition) for column in columns]
