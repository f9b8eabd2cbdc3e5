"""Accuracy against throughput with the Pareto front (HPD-Parsing, Figure 1b)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from reports.columns import BY_NAME, value_of
from reports.pictures.canvas import INK, MUTED, PAPER, WIDE, Canvas, Look, Picture
from reports.run_files import Run

NAME = "accuracy-speed"
TITLE = "Accuracy against throughput"
MOST_NARROW = 8
_ACCURACY = ("overall", "text_edit")


def draw(runs: Sequence[Run], looks: Mapping[str, Look]) -> Picture:
    """One point a run. Without any Overall the vertical axis is 1 - TextEdit, and the caption says so."""
    name = _ACCURACY[0] if any(value_of(run, BY_NAME["overall"]) is not None for run in runs) else _ACCURACY[1]
    points = [(run, pps, accuracy) for run in runs if (pps := _pps(run)) and (accuracy := _accuracy(run, name))]
    if not points:
        return Picture(NAME, TITLE, "", reason="no run has both an accuracy and a throughput that counts")
    wide = len(points) > MOST_NARROW
    canvas = Canvas(NAME, width=WIDE, height=5.4) if wide else Canvas(NAME)
    room = _Room(0.0058, 0.04) if wide else _Room(0.0125, 0.06)
    axes = canvas.axes[0]
    measured = [(pps, accuracy) for run, pps, accuracy in points if not run.emulated]
    front = pareto_front(measured)
    if len(front) > 1:
        axes.plot(*zip(*front, strict=True), color=MUTED, linewidth=1.2, linestyle="--", zorder=1)
    for run, pps, accuracy in points:
        look = looks[run.key]
        fill = PAPER if run.emulated else look.colour
        axes.plot([pps], [accuracy], look.marker, color=look.colour, markerfacecolor=fill, markersize=9, linestyle="")
    _frame(axes, name, points)
    _name_points(axes, [(looks[run.key].label, pps, accuracy) for run, pps, accuracy in points], room)
    caption = (
        "Up and to the right is better. The dashed line joins measured runs that no other measured run beats in both; "
        "hollow points are emulated and take no part in it."
    )
    words = f"{TITLE}: " + ", ".join(f"{run.title} {pps:.3g} pages/s" for run, pps, _ in points)
    return Picture(NAME, TITLE, caption, canvas.svg(words), wide=wide)


def _frame(axes: Axes, name: str, points: Sequence[tuple[Run, float, float]]) -> None:
    speeds, values = [pps for _, pps, _ in points], [accuracy for _, _, accuracy in points]
    axes.set_xscale("log")
    axes.set_xlim(min(speeds) / 1.8, max(speeds) * 1.8)
    room = max(1.0, 0.16 * (max(values) - min(values)))
    axes.set_ylim(min(values) - room, max(values) + room)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("pages/s (log scale)")
    axes.set_ylabel("Overall" if name == "overall" else "(1 - TextEdit) x 100")


@dataclass(frozen=True, slots=True)
class _Room:
    """What a label takes of the axes: of their width a character, of their height a line."""

    character: float
    line: float


def _name_points(axes: Axes, points: Sequence[tuple[str, float, float]], room: _Room) -> None:
    """A label above each point; one that would touch another moves up or down, and a thin line leads to it."""
    low, high = (math.log(end) for end in axes.get_xlim())
    bottom, top = axes.get_ylim()
    placed = [
        (label, (math.log(pps) - low) / (high - low), (accuracy - bottom) / (top - bottom))
        for label, pps, accuracy in sorted(points, key=lambda point: -point[2])
    ]
    taken = [(x, y, 0.012) for _, x, y in placed]
    for label, x, y in placed:
        half = len(label) * room.character / 2
        middle = min(max(x, half), 1 - half)
        place = next(found for found in _places(y, room) if not _touches((middle, found, half), taken, room))
        taken.append((middle, place, half))
        axes.text(middle, place, label, transform=axes.transAxes, ha="center", va="center", fontsize=9, color=INK)
        if abs(place - y) > 1.5 * room.line:
            near = place + (0.45 if place < y else -0.45) * room.line
            axes.plot([x, middle], [y, near], color=MUTED, linewidth=0.6, transform=axes.transAxes, zorder=0.5)


def _places(at: float, room: _Room) -> Iterator[float]:
    """Heights to try: just above, just below, and on from there without end."""
    for step in count(2):
        yield at + step * room.line / 2
        yield at - step * room.line / 2


def _touches(one: tuple[float, float, float], taken: Sequence[tuple[float, float, float]], room: _Room) -> bool:
    return any(
        abs(one[0] - other[0]) < one[2] + other[2] and abs(one[1] - other[1]) < room.line * 0.9 for other in taken
    )


def _pps(run: Run) -> float | None:
    return None if run.invalid else value_of(run, BY_NAME["pps"])


def _accuracy(run: Run, name: str) -> float | None:
    value = value_of(run, BY_NAME[name])
    return value if value is None or name == "overall" else (1 - value) * 100


def pareto_front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other reaches in both, from left to right; larger is better in both."""
    front: list[tuple[float, float]] = []
    best = float("-inf")
    for first, second in sorted(points, key=lambda point: (-point[0], -point[1])):
        if second > best:
            front.append((first, second))
            best = second
    return front[::-1]
