"""Two runs side by side as a page: every difference with its interval, and the pages that moved most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.store import write_text
from reports.columns import BY_NAME
from reports.leaderboard import Bar
from reports.markup import render
from reports.page_order import page_sets
from reports.page_site import PageSite
from reports.page_view import FormulaPicture
from reports.run_files import Run, read_runs
from reports.site import INDEX, write_assets, write_pages

MOST_PAGES = 60


@dataclass(frozen=True, slots=True)
class ShownDifference:
    """One score of both sides. `verdict` is better, worse or open (the interval holds 0, or there is none)."""

    name: str
    group: str
    pages: int
    first: str
    second: str
    difference: str
    interval: str
    verdict: str
    definition: str
    bar: Bar | None
    moves: tuple[ShownMove, ...]


@dataclass(frozen=True, slots=True)
class ShownMove:
    """A page that moved, with its views where there are any."""

    page_id: str
    share: str
    worse: bool
    first: str
    second: str
    links: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShownFigure:
    """One figure of speed of both sides."""

    name: str
    unit: str
    first: str
    second: str
    ratio: str
    provenance: str


def write_comparison(
    found: Mapping[str, Any], out: Path, folders: Sequence[Path], picture: FormulaPicture | None = None
) -> Path:
    """Write a comparison, as plain values, into a folder and return its page.

    `folders` are the run folders of the two sides; the pages that moved most get views where both are there.
    """
    runs, _ = read_runs(folders)
    site = _page_site(runs, found, picture)
    write_assets(out)
    if site is not None:
        write_pages(out, site)
    page = render(
        "compare.html",
        root="",
        first=found["first"],
        second=found["second"],
        emulated=[run.title for run in runs if run.emulated],
        scores=[_score(row, runs, site) for row in found["scores"]],
        figures=[_figure(row) for row in found["figures"]],
        latency=_latency(found["latency"]),
        one_sided=[BY_NAME[name].title if name in BY_NAME else name for name in found["one_sided"]],
    )
    write_text(out / INDEX, page)
    return out / INDEX


def _page_site(runs: Sequence[Run], found: Mapping[str, Any], picture: FormulaPicture | None) -> PageSite | None:
    sets = page_sets(runs)
    if len(runs) != 2 or len(sets) != 1:
        return None
    moved = (move["page_id"] for score in found["scores"] for move in score["moves"])
    known = set(sets[0].page_ids)
    return PageSite(sets[0], [page for page in dict.fromkeys(moved) if page in known][:MOST_PAGES], picture)


def _score(row: Mapping[str, Any], runs: Sequence[Run], site: PageSite | None) -> ShownDifference:
    name, _, group = str(row["name"]).partition(" [")
    column = BY_NAME.get(name)
    scale = column.scale if column else 1.0
    digits = column.digits if column else 4
    change = row["second"] - row["first"]
    interval = row["interval"]
    better = column is None or column.better != "low"
    return ShownDifference(
        name=column.title if column else name,
        group=group.rstrip("]"),
        pages=int(row["pages"]),
        first=f"{row['first'] * scale:.{digits}f}",
        second=f"{row['second'] * scale:.{digits}f}",
        difference=f"{change * scale:+.{digits}f}",
        interval=f"{interval[0] * scale:+.{digits}f} to {interval[1] * scale:+.{digits}f}" if interval else "–",
        verdict=_verdict(interval, better),
        definition=column.definition if column else "",
        bar=_bar(change, interval),
        moves=tuple(_move(move, scale, digits, runs, site) for move in row["moves"]),
    )


def _verdict(interval: Sequence[float] | None, higher_is_better: bool) -> str:
    if interval is None or interval[0] <= 0 <= interval[1]:
        return "open"
    return "better" if (interval[0] > 0) == higher_is_better else "worse"


def _bar(change: float, interval: Sequence[float] | None) -> Bar | None:
    """The interval on a bar that has 0 in its middle; None where there is none."""
    reach = max((abs(end) for end in interval or ()), default=0.0)
    if not interval or reach == 0:
        return None
    low, value, high = (round(50 + 48 * end / reach, 2) for end in (interval[0], change, interval[1]))
    return Bar(low, max(2.0, min(98.0, value)), high)


def _move(move: Mapping[str, Any], scale: float, digits: int, runs: Sequence[Run], site: PageSite | None) -> ShownMove:
    links = [site.link(run, move["page_id"]) for run in runs] if site is not None else []
    return ShownMove(
        page_id=move["page_id"],
        share=f"{move['share']:+.4g}",
        worse=move["share"] < 0,
        first="–" if move["baseline"] is None else f"{move['baseline'] * scale:.{digits}f}",
        second="–" if move["candidate"] is None else f"{move['candidate'] * scale:.{digits}f}",
        links=tuple(link for link in links if link is not None),
    )


def _figure(row: Mapping[str, Any]) -> ShownFigure:
    first, second = row["first"], row["second"]
    return ShownFigure(
        name=row["name"],
        unit="" if row["unit"] == "1" else row["unit"],
        first="–" if first is None else f"{first:.4g}",
        second="–" if second is None else f"{second:.4g}",
        ratio=f"{second / first:.3f}x" if first and second is not None else "–",
        provenance=" / ".join(dict.fromkeys(row["provenance"])),
    )


def _latency(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return ""
    interval = row["interval"]
    shown = f" ({interval[0]:.3f} to {interval[1]:.3f})" if interval else ""
    return f"{row['median']:.3f}{shown} on {row['pages']} pages"
