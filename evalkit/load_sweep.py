"""Several drives of one system: at different loads, in search of the most within a latency, or to see them agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from evalkit.bench_summary import why_not_compared, write_bench_summary
from evalkit.dataset import Dataset
from evalkit.errors import UserError
from evalkit.load_plan import LoadPlan
from evalkit.load_table import SHOWN
from evalkit.store import write_json
from evalkit.types import Load

FILE = "sweep.json"
VERSION = 1
AGREEMENT_FILE = "agreement.json"
AGREE_WITHIN = 0.05
AGREEING = ("pps", "tps")
HERE = "."
"""The folder of the main drive, as named in the files of a sweep."""


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One drive of a sweep: its folder, whether it is valid, and its main figures (None where they are missing)."""

    in_flight: int
    run: str
    valid: bool
    broken_rules: tuple[str, ...]
    figures: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Sweep:
    """All points by requests in flight. `largest` is the search's answer; None without a search or an answer."""

    points: tuple[SweepPoint, ...]
    figure: str | None = None
    limit: float | None = None
    largest: int | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """Repeated drives of one load: how far each rate lies from the mean at most, and why they do not agree."""

    points: tuple[SweepPoint, ...]
    spread: dict[str, float]
    agrees: bool
    reasons: tuple[str, ...]


class Drive(Protocol):
    """What drives the pages once at a load into a folder; one that is done there is not repeated."""

    def __call__(self, folder: Path, load: Load, /) -> object: ...


@dataclass(frozen=True, slots=True)
class Drives:
    """Where the drives of one system lie, how they are made, and what their figures are counted against.

    The main drive lies in `run` itself, others in folders of it. `baseline` is the run folder of the baseline, whose
    drive at the same load, where there is one, is the reference. `allowed` names rules that may be broken,
    `edges` are of buckets of one's own.
    """

    run: Path
    drive: Drive
    pages: int
    dataset: Dataset | None = None
    baseline: Path | None = None
    allowed: tuple[str, ...] = ()
    edges: tuple[int, ...] = ()

    def point(self, load: Load, name: str) -> SweepPoint:
        """Drive at a load into the folder of that name, and work out its figures."""
        folder = self.run / name
        self.drive(folder, load)
        beside = self.baseline / name if self.baseline is not None else None
        summary = write_bench_summary(
            folder,
            dataset=self.dataset,
            baseline=beside if beside is not None and why_not_compared(beside, folder) is None else None,
            allowed=self.allowed,
            edges=self.edges,
        )
        return _point(load.in_flight, name, summary)


def _point(in_flight: int, name: str, summary: dict[str, Any]) -> SweepPoint:
    figures = {name: summary["figures"][name].value for name in SHOWN}
    return SweepPoint(in_flight, name, summary["valid"], tuple(summary["broken_rules"]), figures)


class Sweeper:
    """Runs points of one sweep: the main load in the run's folder, others in folders bs-N of it."""

    def __init__(self, drives: Drives, main: int) -> None:
        self._drives = drives
        self._main = main
        self._points: dict[int, SweepPoint] = {}

    def point(self, in_flight: int) -> SweepPoint:
        """The point at so many requests in flight."""
        if in_flight not in self._points:
            name = HERE if in_flight == self._main else f"bs-{in_flight}"
            self._points[in_flight] = self._drives.point(Load("closed", in_flight), name)
        return self._points[in_flight]

    def finish(self, figure: str | None = None, limit: float | None = None, largest: int | None = None) -> Sweep:
        """Write sweep.json of all points so far."""
        points = tuple(self._points[in_flight] for in_flight in sorted(self._points))
        sweep = Sweep(points, figure, limit, largest)
        write_json(self._drives.run / FILE, {"version": VERSION, "sweep": sweep})
        return sweep


def drive_loads(plan: LoadPlan, drives: Drives) -> tuple[Sweep | None, Agreement | None]:
    """Carry a plan out: the main drive first, then what the plan asks for besides, written beside it.

    Raises UserError for a plan that cannot be carried out over so many pages.
    """
    plan.check(drives.pages)
    if plan.repeats > 1:
        return None, repeat(drives, plan.main, plan.repeats)
    if plan.is_swept:
        return sweep(drives, plan), None
    drives.drive(drives.run, plan.main)
    return None, None


def sweep(drives: Drives, plan: LoadPlan) -> Sweep:
    """Drive the pages once at each load of a plan that was checked, then at those that its search asks for."""
    sweeper = Sweeper(drives, max(plan.sizes))
    for in_flight in sorted(set(plan.sizes), reverse=True):
        sweeper.point(in_flight)
    if plan.max_latency_s is None:
        return sweeper.finish()
    limit_s, figure = plan.max_latency_s, plan.latency_figure
    sweeper.finish(figure, limit_s)

    def within(in_flight: int) -> bool:
        value = sweeper.point(in_flight).figures[figure]
        if value is None:
            raise UserError(f"the search ends at {in_flight} in flight: {figure} is not known there")
        return value <= limit_s

    return sweeper.finish(figure, limit_s, largest_within(within, plan.max_in_flight))


def repeat(drives: Drives, load: Load, times: int) -> Agreement:
    """Drive the pages several times, and say whether the rates agree; written as agreement.json.

    The first drive is the main one, further ones lie in folders run-2 and so on. Raises UserError under two times.
    """
    if times < 2:
        raise UserError(f"to see whether runs agree takes 2 or more, not {times}")
    names = [HERE, *(f"run-{number}" for number in range(2, times + 1))]
    found = agreement([drives.point(load, name) for name in names])
    write_json(drives.run / AGREEMENT_FILE, {"version": VERSION, "agreement": found})
    return found


def agreement(points: Sequence[SweepPoint]) -> Agreement:
    """Whether the rates of repeated drives lie within 5 % of their mean, and what speaks against them where not."""
    spread = {
        name: value for name in AGREEING if (value := _spread([point.figures[name] for point in points])) is not None
    }
    why = [
        f"{name} differs by up to {value:.1%} from the mean" for name, value in spread.items() if value > AGREE_WITHIN
    ]
    if why:
        why += [f"{_named(point)} breaks {', '.join(point.broken_rules)}" for point in points if not point.valid]
    if not spread:
        why = ["there is no rate to compare"]
    return Agreement(tuple(points), spread, not why, tuple(why))


def _named(point: SweepPoint) -> str:
    return "the first drive" if point.run == HERE else point.run


def _spread(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    mean = sum(known) / len(known) if known else 0.0
    return max(abs(value - mean) for value in known) / mean if len(known) > 1 and mean else None


def largest_within(within: Callable[[int], bool], ceiling: int) -> int | None:
    """The largest number from 1 to the ceiling that is within, by doubling and then halving the gap.

    Taken for granted is that what is not within stays so for larger numbers. None when 1 is not within.
    """
    if not within(1):
        return None
    good, tried = 1, 2
    while tried <= ceiling and within(tried):
        good, tried = tried, tried * 2
    bad = min(tried, ceiling + 1)
    while bad - good > 1:
        middle = (good + bad) // 2
        if within(middle):
            good = middle
        else:
            bad = middle
    return good
