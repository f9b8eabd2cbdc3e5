"""Several drives of one system: at different loads, in search of the most within a latency, or to see them agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalkit.bench_summary import write_bench_summary
from evalkit.dataset import Dataset
from evalkit.errors import UserError
from evalkit.stages.infer import infer
from evalkit.store import write_json
from evalkit.types import InferSettings, PageJob

FILE = "sweep.json"
VERSION = 1
AGREEMENT_FILE = "agreement.json"
AGREE_WITHIN = 0.05
AGREEING = ("pps", "tps")
SHOWN = ("pps", "pps_full", "full_load_share", "tps", "latency_p50_s", "latency_p95_s", "ttft_p50_s", "steps_per_page")


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


class Sweeper:
    """Runs points of one sweep in folders bs-N of a run; a point that is done is not run again."""

    def __init__(self, run: Path, pages: Sequence[PageJob], settings: InferSettings, dataset: Dataset | None) -> None:
        self._run = run
        self._pages = pages
        self._settings = settings
        self._dataset = dataset
        self._points: dict[int, SweepPoint] = {}

    def point(self, in_flight: int) -> SweepPoint:
        """The point at so many requests in flight."""
        if in_flight not in self._points:
            folder = self._run / f"bs-{in_flight}"
            load = replace(self._settings.load, shape="closed", in_flight=in_flight)
            timeout_s = max(self._settings.timeout_s, load.page_timeout_s())
            infer(folder, self._pages, replace(self._settings, load=load, timeout_s=timeout_s))
            self._points[in_flight] = _point(in_flight, folder, write_bench_summary(folder, dataset=self._dataset))
        return self._points[in_flight]

    def finish(self, figure: str | None = None, limit: float | None = None, largest: int | None = None) -> Sweep:
        """Write sweep.json of all points so far."""
        points = tuple(self._points[in_flight] for in_flight in sorted(self._points))
        sweep = Sweep(points, figure, limit, largest)
        write_json(self._run / FILE, {"version": VERSION, "sweep": sweep})
        return sweep


def _point(in_flight: int, folder: Path, summary: dict[str, Any]) -> SweepPoint:
    figures = {name: summary["figures"][name].value for name in SHOWN}
    return SweepPoint(in_flight, folder.name, summary["valid"], tuple(summary["broken_rules"]), figures)


def sweep(
    run: Path, pages: Sequence[PageJob], settings: InferSettings, sizes: Sequence[int], dataset: Dataset | None = None
) -> Sweep:
    """Drive the pages once at each number of requests in flight."""
    sweeper = Sweeper(run, pages, settings, dataset)
    for in_flight in sorted(set(sizes)):
        sweeper.point(in_flight)
    return sweeper.finish()


def search(
    run: Path,
    pages: Sequence[PageJob],
    settings: InferSettings,
    limit_s: float,
    *,
    figure: str = "latency_p95_s",
    ceiling: int = 512,
    dataset: Dataset | None = None,
) -> Sweep:
    """Find the most requests in flight whose latency figure stays within the limit, up to the ceiling.

    Raises UserError when there are too few pages for the figure.
    """
    if figure not in SHOWN:
        raise UserError(f"a search goes by one of {', '.join(name for name in SHOWN if name.endswith('_s'))}")
    sweeper = Sweeper(run, pages, settings, dataset)

    def within(in_flight: int) -> bool:
        value = sweeper.point(in_flight).figures[figure]
        if value is None:
            raise UserError(f"{figure} cannot be told from {len(pages)} pages (p50 needs 6, p95 needs 72)")
        return value <= limit_s

    largest = largest_within(within, ceiling)
    return sweeper.finish(figure, limit_s, largest)


def repeat(
    run: Path, pages: Sequence[PageJob], settings: InferSettings, times: int, dataset: Dataset | None = None
) -> Agreement:
    """Drive the pages several times in folders run-N, and say whether the rates agree; written as agreement.json.

    Raises UserError under two times.
    """
    if times < 2:
        raise UserError(f"to see whether runs agree takes 2 or more, not {times}")
    points = []
    for number in range(1, times + 1):
        folder = run / f"run-{number}"
        infer(folder, pages, settings)
        points.append(_point(settings.load.in_flight, folder, write_bench_summary(folder, dataset=dataset)))
    found = agreement(points)
    write_json(run / AGREEMENT_FILE, {"version": VERSION, "agreement": found})
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
        why += [f"{point.run} breaks {', '.join(point.broken_rules)}" for point in points if not point.valid]
    if not spread:
        why = ["there is no rate to compare"]
    return Agreement(tuple(points), spread, not why, tuple(why))


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


def sweep_table(points: Sequence[SweepPoint]) -> str:
    """The points as a text table."""
    head = ["bs", *SHOWN, "valid"]
    rows = [
        [
            str(point.in_flight),
            *("-" if (value := point.figures[name]) is None else f"{value:.4g}" for name in SHOWN),
            "yes" if point.valid else f"no: {', '.join(point.broken_rules)}",
        ]
        for point in points
    ]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in [head, *rows]
    )
