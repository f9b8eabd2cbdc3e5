"""The whole report: leaderboard, pictures, run cards and page views, as files that open from disk."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit.errors import UserError
from evalkit.store import write_text
from reports import exports
from reports.columns import COLUMNS, Source, text_of, value_of, written
from reports.heatmap import heat_maps
from reports.layout_scores import CLASSES, MEASURES
from reports.layout_table import CLASS_TITLES, MEASURE_DEFINITIONS, MEASURE_TITLES, layout_tables, unmapped_labels
from reports.leaderboard import Section, Standing, marks, sections
from reports.load_rows import load_table
from reports.markup import ASSETS, printable, render
from reports.page_order import chosen_pages, page_sets, worst_first
from reports.page_site import FOLDER as PAGES
from reports.page_site import PageSite
from reports.page_view import FormulaPicture
from reports.pictures.canvas import Picture
from reports.pictures.gallery import gallery
from reports.problems import read_problems
from reports.published import published_table
from reports.run_card import card, checks, figures
from reports.run_files import Run, Unreadable, read_runs

INDEX = "index.html"
EXPORTS = {
    "leaderboard.csv": exports.to_csv,
    "leaderboard.json": exports.to_json,
    "leaderboard.md": exports.to_markdown,
    "leaderboard.tex": exports.to_latex,
}


class Site:
    """Everything of a report but its files: pages are made when they are asked for."""

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        standings: Mapping[Path, Standing],
        published: Mapping[str, Sequence[Mapping[str, Any]]],
        worst_pages: int | None = None,
        every_page: bool = False,
        picture: FormulaPicture | None = None,
    ) -> None:
        self.runs, unreadable = read_runs(folders)
        self._problems = read_problems(folders)
        failed = {problem.folder for problem in self._problems}
        self._unreadable = [one for one in unreadable if one.folder not in failed]
        if not self.runs:
            raise UserError("no run can be shown:\n" + "\n".join(one.reason for one in unreadable))
        self._published = published
        self.sections: list[Section] = sections(self.runs, standings)
        self.page_sites = [
            PageSite(pages, pages.page_ids if every_page else chosen_pages(pages, worst_pages), picture)
            for pages in page_sets(self.runs)
        ]
        self._site_of = {run.key: site for site in self.page_sites for run in site.pages.runs}
        self._pictures: list[Picture] | None = None

    def index(self) -> str:
        """The first page: leaderboard and pictures."""
        if self._pictures is None:
            self._pictures = gallery([row.run for section in self.sections for row in section.rows])
        return render(
            "index.html",
            root="",
            title=_title(self.runs),
            sections=self.sections,
            columns=COLUMNS,
            visible=visible_columns(self.runs),
            tiers=any(row.tier for section in self.sections if len(section.rows) > 1 for row in section.rows),
            tier_name=tier_name,
            runs=self.runs,
            unreadable=_unreadable(self._unreadable),
            problems=self._problems,
            pictures=[picture for picture in self._pictures if picture.svg],
            alone=_alone(self._pictures),
            missing=[picture for picture in self._pictures if not picture.svg],
            maps=heat_maps(self.runs),
            layouts=layout_tables(self.runs, self._published),
            layout_classes=[CLASS_TITLES[name] for name in CLASSES],
            layout_measures=[(MEASURE_TITLES[name], MEASURE_DEFINITIONS[name]) for name in MEASURES],
            unmapped=unmapped_labels(self.runs),
            published=published_table(self._published, self.runs),
            exports=list(EXPORTS),
        )

    def run_page(self, run: Run) -> str:
        """A run's card, with its pages from the worst on."""
        site = self._site_of.get(run.key)
        names = [column for column in COLUMNS if any(column.name in page.values for page in run.pages)]
        pages = [
            {
                "id": page.page_id,
                "state": page.prediction_state,
                "link": site.link(run, page.page_id) if site is not None else None,
                "cells": [(page.values.get(one.name), written(one, page.values.get(one.name))) for one in names],
            }
            for page in worst_first(run)
        ]
        every = site is not None and len(site.written_pages) == len(site.pages.page_ids)
        return render(
            "run.html",
            root="../",
            run=run,
            marks=marks(run),
            card=card(run),
            checks=checks(run),
            figures=figures(run),
            loads=load_table(run),
            columns=names,
            pages=pages,
            every_page=every,
        )


def build_site(
    folders: Sequence[Path],
    out: Path,
    *,
    standings: Mapping[Path, Standing],
    published: Mapping[str, Sequence[Mapping[str, Any]]],
    worst_pages: int | None = None,
    picture: FormulaPicture | None = None,
) -> Path:
    """Write the report of some runs into a folder and return its first page.

    `worst_pages` bounds the pages that get a view of their own; None takes all of a small data set, else as many of
    the worst as fit a fixed number of files. `picture` draws what CDM compared of a formula. Raises UserError when no
    run can be shown.
    """
    site = Site(folders, standings=standings, published=published, worst_pages=worst_pages, picture=picture)
    shutil.rmtree(out / PAGES, ignore_errors=True)
    shutil.rmtree(out / "runs", ignore_errors=True)
    write_assets(out)
    for name, export in EXPORTS.items():
        write_text(out / name, printable(export(site.sections)))
    for run in site.runs:
        _write(out / "runs" / f"{run.key}.html", site.run_page(run))
    for pages in site.page_sites:
        write_pages(out, pages)
    write_text(out / INDEX, site.index())
    return out / INDEX


def write_assets(out: Path) -> None:
    """Style sheet, script and icon of every page."""
    for asset in sorted(ASSETS.iterdir()):
        if asset.suffix in {".css", ".js", ".svg"}:
            write_text(out / "assets" / asset.name, asset.read_text(encoding="utf-8"))


def write_pages(out: Path, site: PageSite) -> None:
    """All page views over a data set, with their images."""
    folder = out / PAGES / site.pages.key
    for run, page_id in site.files():
        _write(folder / run.key / site.file_name(page_id), site.view(run, page_id))
    for page_id in site.written_pages:
        name = site.image_name(page_id)
        image = site.image(page_id) if name else None
        if name and image is not None:
            (folder / "images").mkdir(parents=True, exist_ok=True)
            (folder / "images" / name).write_bytes(image)


def _write(path: Path, text: str) -> None:
    """Files that the index alone leads to need no fsync each; the index itself is written last, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")


def _alone(pictures: Sequence[Picture]) -> Picture | None:
    """The last narrow picture where their number is odd, so that it gets a row of its own."""
    narrow = [picture for picture in pictures if picture.svg and not picture.wide]
    return narrow[-1] if len(narrow) % 2 else None


def visible_columns(runs: Sequence[Run]) -> set[str]:
    """Columns that are shown at first: the main scores always, others where a run has a value."""
    filled = {
        column.name
        for column in COLUMNS
        if any(value_of(run, column) is not None or text_of(run, column) for run in runs)
    }
    return {
        column.name for column in COLUMNS if column.shown and (column.source is Source.SCORE or column.name in filled)
    }


def tier_name(tier: int | None) -> str:
    """A, B, … for tiers 1, 2, …; beyond the alphabet the number."""
    if tier is None:
        return "–"
    return chr(ord("A") + tier - 1) if tier <= 26 else str(tier)


def _title(runs: Sequence[Run]) -> str:
    names = list(dict.fromkeys(str(run.record.dataset.get("name") or "?") for run in runs))
    return f"Document parsing on {names[0]}" if len(names) == 1 else "Document parsing"


def _unreadable(found: Sequence[Unreadable]) -> list[tuple[str, str]]:
    return [(one.folder.name, one.reason) for one in found]
