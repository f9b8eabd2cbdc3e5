"""The drives of one run beside each other: at several loads, in search of the most in flight, or repeated."""

from __future__ import annotations

from dataclasses import dataclass

from reports.run_files import Drive, Run

COLUMNS = (
    ("pps", "pages/s"),
    ("pps_full", "pages/s at full load"),
    ("tps", "tokens/s"),
    ("latency_p50_s", "latency p50, s"),
    ("latency_p95_s", "latency p95, s"),
    ("ttft_p50_s", "first token p50, s"),
    ("steps_per_page", "steps/page"),
)


@dataclass(frozen=True, slots=True)
class LoadRow:
    """One drive: what it is called, its figures as text, and the rules of measurement that it breaks."""

    name: str
    cells: tuple[str, ...]
    broken: str


@dataclass(frozen=True, slots=True)
class LoadTable:
    """The drives of a run, and what they say together."""

    caption: str
    titles: tuple[str, ...]
    rows: tuple[LoadRow, ...]
    verdict: str


def load_table(run: Run) -> LoadTable | None:
    """Sweep or repeated drives of a run; None of a single drive."""
    titles = tuple(title for _, title in COLUMNS)
    if run.sweep:
        rows = tuple(_row(f"{point.in_flight} in flight", point) for point in run.sweep)
        return LoadTable("By requests in flight; answers of the run's own drive are scored", titles, rows, _found(run))
    if run.repeats:
        names = ["the run's own", *(point.run for point in run.repeats[1:])]
        rows = tuple(_row(name, point) for name, point in zip(names, run.repeats, strict=True))
        verdict = "; ".join(run.disagreement) or "the rates lie within 5 % of their mean"
        return LoadTable("Repeated drives of one load", titles, rows, f"Do they agree? {verdict}.")
    return None


def _row(name: str, drive: Drive) -> LoadRow:
    values = [drive.figures.get(figure) for figure, _ in COLUMNS]
    cells = tuple("–" if value is None else f"{value:.4g}" for value in values)
    return LoadRow(name + (" (the run's own)" if drive.run == "." and "own" not in name else ""), cells, drive.broken)


def _found(run: Run) -> str:
    if run.search is None:
        return ""
    figure, limit_s, largest = run.search
    return f"Largest number in flight with {figure} within {limit_s:g} s: {largest or 'none'}."
