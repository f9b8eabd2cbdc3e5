"""Rows of the leaderboard: what may be ranked together stands together, and every cell says what it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from reports.columns import COLUMNS, PAGE_IOU, Column, Source, reason_of, text_of, value_of, written
from reports.layout_scores import HEADLINE_MODE
from reports.run_files import Run

NO_SCORES = "no scores"


class Standing(Protocol):
    """Intervals by metric and the tier by Overall of one run, as the report stage works them out."""

    @property
    def intervals(self) -> Mapping[str, tuple[float, float]]: ...

    @property
    def tier(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Mark:
    """A word that must stand beside a row: kind is emulated, invalid, incomplete or plain."""

    kind: str
    text: str
    explanation: str


@dataclass(frozen=True, slots=True)
class Bar:
    """An interval as places on a bar of 0 to 100: where it begins, where the value is, where it ends."""

    low: float
    value: float
    high: float


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell. `value` is the stored number that it is sorted by; `link` leads to the pages behind it."""

    column: Column
    text: str
    value: float | None
    tooltip: str
    interval: tuple[float, float] | None = None
    bar: Bar | None = None
    best: bool = False
    void: bool = False
    estimated: bool = False
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One system. `comparable` names the runs whose speed may be ranked with its own."""

    run: Run
    cells: tuple[Cell, ...]
    marks: tuple[Mark, ...]
    tier: int | None
    comparable: str


@dataclass(frozen=True, slots=True)
class Section:
    """Rows whose scores have one signature and one provenance, best first; rows of two sections are never ranked."""

    title: str
    signature: str
    emulated: bool
    rows: tuple[Row, ...] = field(default_factory=tuple)


def sections(runs: Sequence[Run], standings: Mapping[Path, Standing]) -> list[Section]:
    """All rows; measured sections first, larger ones before smaller."""
    groups: dict[tuple[bool, str], list[Run]] = {}
    for run in runs:
        signature = run.summary.signature if run.summary is not None else NO_SCORES
        groups.setdefault((run.emulated, signature), []).append(run)
    ordered = sorted(groups.items(), key=lambda item: (item[0][0], -len(item[1]), item[0][1]))
    return [_section(emulated, signature, members, standings) for (emulated, signature), members in ordered]


def _section(emulated: bool, signature: str, runs: Sequence[Run], standings: Mapping[Path, Standing]) -> Section:
    spans = {column.name: _span(column, runs, standings) for column in COLUMNS}
    best = {column.name: _best(column, runs) for column in COLUMNS}
    rows = [_row(run, standings.get(run.folder), spans, best) for run in sorted(runs, key=_rank_key)]
    return Section("Emulated" if emulated else "Measured", signature, emulated, tuple(rows))


def _rank_key(run: Run) -> tuple[bool, float, float, str]:
    """Best first by Overall; without it by TextEdit, since CDM may be missing."""
    overall = run.summary.overall if run.summary is not None else None
    text = run.summary.metrics.get("text_edit") if run.summary is not None else None
    edit = text.page_avg if text is not None and text.page_avg is not None else 2.0
    return overall is None, -(overall or 0.0), edit, run.title


def comparable_speed(run: Run) -> str:
    """What must be equal for two runs' speed to be ranked together: way of driving, load, host and emulation."""
    if run.speed is None:
        return ""
    load = run.speed.load
    parts = (run.speed.mode, load.get("shape"), load.get("in_flight"), load.get("rate_per_s"), run.emulated)
    host = run.record.host.get("cpu"), run.record.host.get("cores")
    return "|".join(map(str, (*parts, *host)))


def _span(column: Column, runs: Sequence[Run], standings: Mapping[Path, Standing]) -> tuple[float, float] | None:
    """Least and greatest end of the intervals of a column, so that the bars of a section share one scale."""
    ends = [end for run in runs if (found := _interval(run, column, standings.get(run.folder))) for end in found]
    return (min(ends), max(ends)) if ends and max(ends) > min(ends) else None


def _interval(run: Run, column: Column, standing: Standing | None) -> tuple[float, float] | None:
    if column.source is Source.SPEED:
        figure = run.figure(column.name)
        return (figure.interval[0], figure.interval[1]) if figure is not None and figure.interval else None
    if column.source is not Source.SCORE or value_of(run, column) is None:
        return None
    found = standing.intervals.get(column.name) if standing is not None else None
    if found is None and run.summary is not None and column.name in run.summary.metrics:
        found = run.summary.metrics[column.name].interval
    return (found[0], found[1]) if found is not None else None


def _best(column: Column, runs: Sequence[Run]) -> float | None:
    """The best value of a column; None where nothing is to be ranked."""
    counted = [run for run in runs if column.source is not Source.SPEED or not run.invalid]
    values = [value for run in counted if (value := value_of(run, column)) is not None]
    one_kind = column.source is Source.SCORE or len({comparable_speed(run) for run in counted}) <= 1
    if column.name == PAGE_IOU:
        one_kind = len({run.layout.signature for run in counted if run.layout is not None}) <= 1
    if column.better == "none" or column.source is Source.RUN or len(values) < 2 or not one_kind:
        return None
    return max(values) if column.better == "high" else min(values)


def _row(
    run: Run,
    standing: Standing | None,
    spans: Mapping[str, tuple[float, float] | None],
    best: Mapping[str, float | None],
) -> Row:
    cells = tuple(_cell(run, column, standing, spans[column.name], best[column.name]) for column in COLUMNS)
    return Row(run, cells, tuple(marks(run)), standing.tier if standing is not None else None, comparable_speed(run))


def _cell(
    run: Run, column: Column, standing: Standing | None, span: tuple[float, float] | None, best: float | None
) -> Cell:
    value = value_of(run, column)
    interval = _interval(run, column, standing)
    if value is None:
        text = text_of(run, column)
        absent = "" if text else f"{column.title}: {reason_of(run, column)}"
        return Cell(column, text or "–", None, absent)
    figure = run.figure(column.name) if column.source is Source.SPEED else None
    void = column.source is Source.SPEED and run.invalid
    return Cell(
        column,
        written(column, value),
        value,
        _tooltip(run, column, value, interval),
        interval,
        _bar(span, value, interval),
        best is not None and value == best and not void,
        void,
        figure is not None and figure.provenance == "estimated",
        _link(run, column),
    )


def _link(run: Run, column: Column) -> str:
    if column.name == PAGE_IOU:
        return "#layout"
    return f"runs/{run.key}.html#by-{column.name}" if column.source is Source.SCORE else f"runs/{run.key}.html"


def _tooltip(run: Run, column: Column, value: float, interval: tuple[float, float] | None) -> str:
    figure = run.figure(column.name) if column.source is Source.SPEED else None
    lines = [f"{column.title} {written(column, value)} {column.unit}".rstrip()]
    if interval is not None:
        lines.append(f"95 % interval {written(column, interval[0])} to {written(column, interval[1])}")
    metric = run.summary.metrics.get(column.name) if run.summary is not None else None
    if metric is not None and column.source is Source.SCORE:
        lines.append(f"{metric.pages} pages, {metric.samples} pairs, {metric.unscored} not scored")
    if figure is not None:
        lines.append(f"{figure.provenance}; n = {figure.count}" if figure.count is not None else figure.provenance)
    lines.append(figure.definition if figure is not None else column.definition)
    if column.name == PAGE_IOU and run.layout is not None:
        lines.append(run.layout.signature_in(HEADLINE_MODE))
    elif column.source is Source.SCORE and run.summary is not None:
        lines.append(run.summary.signature.replace("overall|", f"{column.name}|", 1))
    return "\n".join(lines)


def _bar(span: tuple[float, float] | None, value: float, interval: tuple[float, float] | None) -> Bar | None:
    if span is None or interval is None:
        return None
    low, high = span

    def place(at: float) -> float:
        return round(max(0.0, min(100.0, (at - low) / (high - low) * 100)), 2)

    return Bar(place(interval[0]), place(value), place(interval[1]))


def marks(run: Run) -> list[Mark]:
    """The words beside a run's title."""
    return [*_emulated_mark(run), *_speed_marks(run), *_missing_mark(run)]


def score_marks(run: Run) -> list[Mark]:
    """The words beside a run's title where only its scores are shown."""
    return [*_emulated_mark(run), *_missing_mark(run)]


def _emulated_mark(run: Run) -> list[Mark]:
    if not run.emulated:
        return []
    return [Mark("emulated", "emulated", "A model of an engine answered: neither speed nor accuracy was measured.")]


def _speed_marks(run: Run) -> list[Mark]:
    found = []
    if run.invalid and run.speed is not None:
        found.append(Mark("invalid", "speed invalid", "Broken rules: " + ", ".join(run.speed.broken_rules)))
    allowed = [check.name for check in run.speed.checks if check.allowed and check.passed is False] if run.speed else []
    if allowed:
        found.append(Mark("incomplete", "rules waived", "Allowed by the user to be broken: " + ", ".join(allowed)))
    return found


def _missing_mark(run: Run) -> list[Mark]:
    missing = _missing(run)
    if not missing:
        return []
    return [Mark("incomplete", f"{missing} pages missing", "Pages without a prediction count as empty pages.")]


def _missing(run: Run) -> int:
    if run.summary is None:
        return 0
    names = ("missing_pages", "failed_pages", "crashed_pages", "unreadable_pages", "oversized_pages")
    return sum(run.summary.counts.get(name, 0) for name in names)
