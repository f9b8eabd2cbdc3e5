"""Two runs side by side: differences of scores and figures with their intervals, without a judgement."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evalkit.columns import aligned
from evalkit.errors import unknown_name
from evalkit.gating.accuracy import difference_interval
from evalkit.gating.config import StatisticsSettings
from evalkit.gating.judge import metric_is_higher_better
from evalkit.gating.outputs.text import values, writable
from evalkit.gating.page_table import PageTable, Selection
from evalkit.gating.verdict import PageMove
from evalkit.snapshot import OVERALL, Snapshot
from evalkit.statistics import Interval, quantile_interval

SETTINGS = StatisticsSettings()


@dataclass(frozen=True, slots=True)
class ScoreDifference:
    """One metric, over all pages or those of a group. `interval` is that of second - first."""

    name: str
    pages: int
    first: float
    second: float
    interval: Interval | None
    moves: tuple[PageMove, ...] = ()


@dataclass(frozen=True, slots=True)
class FigureDifference:
    """One figure of speed, of the first speed run of each side."""

    name: str
    unit: str
    first: float | None
    second: float | None
    provenance: tuple[str, str]


@dataclass(frozen=True, slots=True)
class LatencyRatio:
    """Latency of the second run over the first's, page by page: median with its interval."""

    pages: int
    median: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All differences of two runs."""

    first: str
    second: str
    scores: tuple[ScoreDifference, ...]
    figures: tuple[FigureDifference, ...]
    latency: LatencyRatio | None
    one_sided: tuple[str, ...] = ()
    """Metrics that have a value on one side only, and are left out of `scores`."""


def compare(first: Snapshot, second: Snapshot, *, by: str | None = None, top: int = 5) -> Comparison:
    """Every score and figure that both sides have. The two must have the same pages."""
    return Comparison(
        first=first.run_id,
        second=second.run_id,
        scores=tuple(_scores(first, second, by, top)) if first.pages and second.pages else (),
        figures=tuple(_figures(first, second)),
        latency=_latency(first, second),
        one_sided=_one_sided(first, second),
    )


def _one_sided(first: Snapshot, second: Snapshot) -> tuple[str, ...]:
    before, after = ({name for name, value in side.metrics.items() if value is not None} for side in (first, second))
    return tuple(sorted(before ^ after)) if before and after else ()


def _scores(first: Snapshot, second: Snapshot, by: str | None, top: int) -> list[ScoreDifference]:
    table = PageTable(first, second, SETTINGS)
    if by is not None and by not in table.attributes:
        raise unknown_name("page attribute", by, table.attributes)
    selections = [
        one
        for name in (OVERALL, *table.metrics)
        for one in (Selection(name), *(Selection(name, by, value) for value in (table.values_of(by) if by else ())))
    ]
    found = []
    for one, means in table.bootstrap(selections).items():
        before, after = means.estimate
        if math.isnan(before) or math.isnan(after):
            continue
        better = one.metric == OVERALL or metric_is_higher_better(one.metric)
        moves = table.moves(one, higher_is_better=better, count=top) if one.attribute is None else ()
        found.append(ScoreDifference(str(one), means.pages, before, after, difference_interval(means, SETTINGS), moves))
    return found


def _figures(first: Snapshot, second: Snapshot) -> list[FigureDifference]:
    if not first.speed or not second.speed:
        return []
    before, after = first.speed[0].figures, second.speed[0].figures
    return [
        FigureDifference(
            name,
            before[name].unit,
            before[name].value,
            after[name].value,
            (before[name].provenance, after[name].provenance),
        )
        for name in before
        if name in after
    ]


def _latency(first: Snapshot, second: Snapshot) -> LatencyRatio | None:
    before = {page.page_id: page.latency_s for page in first.pages}
    ratios = [
        page.latency_s / earlier
        for page in second.pages
        if page.latency_s is not None and (earlier := before.get(page.page_id))
    ]
    if not ratios:
        return None
    return LatencyRatio(len(ratios), float(np.median(ratios)), quantile_interval(ratios, 0.5))


def comparison_table(found: Comparison) -> str:
    """A comparison for a terminal."""
    lines = [f"{found.first} -> {found.second}", ""]
    head = ("score", "pages", "first", "second", "difference", "95 % interval")
    rows = [
        (
            one.name,
            str(one.pages),
            f"{one.first:.5g}",
            f"{one.second:.5g}",
            f"{one.second - one.first:+.4g}",
            _range(one.interval),
        )
        for one in found.scores
    ]
    lines += aligned([head, *rows]) if rows else ["no scores on both sides"]
    if found.one_sided:
        lines.append(f"scored on one side only, so not compared: {', '.join(found.one_sided)}")
    if found.figures:
        head_figures = ("figure", "first", "second", "change", "provenance")
        lines += ["", *aligned([head_figures, *(_figure_row(one) for one in found.figures)])]
    if found.latency is not None:
        shown = f"{found.latency.median:.4g} {_range(found.latency.interval)}".rstrip()
        lines += ["", f"latency of the same pages, second / first: median {shown}, {found.latency.pages} pages"]
    for one in found.scores:
        if one.moves:
            lines += ["", f"{one.name}: pages that moved most (share of the change, below 0 is worse)"]
            lines += [f"  {move.share:<+11.4g} {move.page_id}  {values(move)}".rstrip() for move in one.moves]
    return writable("\n".join(lines))


def _figure_row(one: FigureDifference) -> tuple[str, ...]:
    change = f"{one.second / one.first - 1:+.2%}" if one.first and one.second is not None else "-"
    provenance = " / ".join(dict.fromkeys(one.provenance))
    return f"{one.name} ({one.unit})", _value(one.first), _value(one.second), change, provenance


def _range(interval: Interval | None) -> str:
    return "" if interval is None else f"[{interval.low:+.4g}, {interval.high:+.4g}]"


def _value(value: float | None) -> str:
    return "-" if value is None else f"{value:.5g}"
