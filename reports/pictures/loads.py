"""Throughput and latency against requests in flight (PaDoc, Figure 2 and Table 3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from reports.pictures.canvas import WIDE, Canvas, Look, Picture
from reports.run_files import Run

NAME = "loads"
TITLE = "Load: throughput and p95 latency"
PANELS = (("pps", "pages/s"), ("latency_p95_s", "latency p95, s"))
Point = tuple[int, Mapping[str, float | None]]


def draw(runs: Sequence[Run], looks: Mapping[str, Look]) -> Picture:
    """A line a system over the loads it was driven at, from sweeps and from runs of the same system."""
    lines = {key: points for key, points in load_points(runs).items() if len({load for load, _ in points}) > 1}
    if not lines:
        return Picture(NAME, TITLE, "", reason="no system was driven at more than one load (evalkit bench --bs 16,64)")
    canvas = Canvas(NAME, width=WIDE, height=3.9, columns=2)
    for axes, (figure, title) in zip(canvas.axes, PANELS, strict=True):
        for key, points in lines.items():
            shown = [(load, value) for load, figures in sorted(points, key=lambda point: point[0])
                     if (value := figures.get(figure)) is not None]  # fmt: skip
            if shown:
                look = looks[key]
                axes.plot(*zip(*shown, strict=True), look.line, marker=look.marker, color=look.colour, label=look.label)
        axes.set_title(title, loc="left", fontsize=10.5)
        axes.set_xscale("log", base=2)
        loads = sorted({load for points in lines.values() for load, _ in points})
        axes.set_xticks(loads, list(map(str, loads)))
        axes.set_xlabel("requests in flight")
        axes.set_ylim(bottom=0)
    canvas.legend_below(canvas.axes[0])
    caption = "One drive a point. Points whose run broke a rule of measurement are left out."
    if all(figures.get("latency_p95_s") is None for points in lines.values() for _, figures in points):
        caption += " No drive has a p95 latency, which takes 72 pages."
    return Picture(NAME, TITLE, caption, canvas.svg(TITLE), wide=True)


def load_points(runs: Sequence[Run]) -> dict[str, list[Point]]:
    """Valid drives by system and way of driving, named by the key of the first run of each."""
    by_system: dict[tuple[object, ...], list[Run]] = defaultdict(list)
    for run in runs:
        named = (run.record.system or {}).get("name") or run.key
        mode = run.speed.mode if run.speed is not None else None
        by_system[named, run.record.dataset.get("sha256"), run.emulated, mode].append(run)
    return {members[0].key: [point for run in members for point in _points(run)] for members in by_system.values()}


def _points(run: Run) -> list[Point]:
    points = [(point.in_flight, point.figures) for point in run.sweep if point.valid]
    speed = run.speed
    load = speed.load.get("in_flight") if speed is not None else None
    if not points and speed is not None and speed.valid and isinstance(load, int):
        points = [(load, {name: figure.value for name, figure in speed.figures.items()})]
    return points
