"""Pages of the data sets of a report: their numbers, and which of them are the worst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from evalkit.types import PageScore
from reports.columns import BY_NAME
from reports.run_files import Run, safe_name

MOST_FILES = 600
PARTS = ("text_edit", "table_teds", "formula_cdm", "read_order_edit")


@dataclass(frozen=True, slots=True)
class PageSet:
    """The pages of one data set: page ids by number, and the runs over it. `key` is safe as a folder name."""

    key: str
    source: str
    page_ids: tuple[str, ...]
    runs: tuple[Run, ...]

    def numbers(self) -> dict[str, int]:
        """Number of each page."""
        return {page_id: number for number, page_id in enumerate(self.page_ids)}


def page_sets(runs: Sequence[Run]) -> list[PageSet]:
    """One set for every data set that the runs were evaluated on."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        if run.pages:
            groups.setdefault(str(run.record.dataset.get("sha256") or run.key), []).append(run)
    sets = []
    for digest, members in groups.items():
        name = str(members[0].record.dataset.get("name") or "data")
        page_ids = tuple(dict.fromkeys(page.page_id for run in members for page in run.pages))
        source = next((str(run.record.dataset["source"]) for run in members if run.record.dataset.get("source")), "")
        sets.append(PageSet(f"{safe_name(name, 40)}-{safe_name(digest, 8)}", source, page_ids, tuple(members)))
    return sets


def badness(page: PageScore, metric: str | None = None) -> float:
    """How far a page is from perfect, 0 to 1: of one metric, or the mean of its parts. Only for sorting."""
    found = []
    for name in (metric,) if metric else PARTS:
        value = page.values.get(name)
        if value is not None:
            found.append(value if BY_NAME[name].better == "low" else 1 - value)
    return sum(found) / len(found) if found else -1.0


def worst_first(run: Run, metric: str | None = None) -> list[PageScore]:
    """A run's pages from the worst on; pages without a value are last."""
    return sorted(run.pages, key=lambda page: -badness(page, metric))


def chosen_pages(pages: PageSet, most: int | None = None) -> list[str]:
    """Up to `most` pages to be written: all when they are few, else the worst of every run and metric in turn.

    None takes as many as make MOST_FILES views.
    """
    most = max(1, MOST_FILES // len(pages.runs)) if most is None else most
    if len(pages.page_ids) <= most:
        return list(pages.page_ids)
    rankings = [
        [page.page_id for page in worst_first(run, metric)[:most] if badness(page, metric) > 0]
        for metric in (None, *PARTS)
        for run in pages.runs
    ]
    in_turn = (page for row in zip_longest(*rankings) for page in row if page is not None)
    return list(dict.fromkeys(in_turn))[:most]
