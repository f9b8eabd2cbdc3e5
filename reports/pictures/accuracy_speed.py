"""Accuracy against throughput with the Pareto front (HPD-Parsing, Figure 1b)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reports.columns import BY_NAME, value_of
from reports.pictures.canvas import INK, MUTED, PAPER, Canvas, Look, Picture
from reports.run_files import Run

NAME = "accuracy-speed"
TITLE = "Accuracy against throughput"
_ACCURACY = ("overall", "text_edit")


def draw(runs: Sequence[Run], looks: Mapping[str, Look]) -> Picture:
    """One point a run. Without any Overall the vertical axis is 1 - TextEdit, and the caption says so."""
    name = _ACCURACY[0] if any(value_of(run, BY_NAME["overall"]) is not None for run in runs) else _ACCURACY[1]
    points = [(run, pps, accuracy) for run in runs if (pps := _pps(run)) and (accuracy := _accuracy(run, name))]
    if not points:
        return Picture(NAME, TITLE, "", reason="no run has both an accuracy and a throughput that counts")
    canvas = Canvas(NAME)
    axes = canvas.axes[0]
    measured = [(pps, accuracy) for run, pps, accuracy in points if not run.emulated]
    front = pareto_front(measured)
    if len(front) > 1:
        axes.plot(*zip(*front, strict=True), color=MUTED, linewidth=1.2, linestyle="--", zorder=1)
    for run, pps, accuracy in points:
        look = looks[run.key]
        fill = PAPER if run.emulated else look.colour
        axes.plot([pps], [accuracy], look.marker, color=look.colour, markerfacecolor=fill, markersize=9, linestyle="")
        axes.annotate(
            look.label, (pps, accuracy), xytext=(0, 9), textcoords="offset points", ha="center", fontsize=9, color=INK
        )
    _frame(axes, name, [point[1] for point in points])
    caption = (
        "Up and to the right is better. The dashed line joins measured runs that no other measured run beats in both; "
        "hollow points are emulated and take no part in it."
    )
    words = f"{TITLE}: " + ", ".join(f"{run.title} {pps:.3g} pages/s" for run, pps, _ in points)
    return Picture(NAME, TITLE, caption, canvas.svg(words))


def _frame(axes: object, name: str, values: Sequence[float]) -> None:
    axes.set_xscale("log")  # type: ignore[attr-defined]
    axes.set_xlabel("pages/s (log scale)")  # type: ignore[attr-defined]
    axes.set_ylabel("Overall" if name == "overall" else "(1 - TextEdit) x 100")  # type: ignore[attr-defined]
    axes.margins(x=0.22, y=0.2)  # type: ignore[attr-defined]
    if max(values) - min(values) < 1:
        axes.set_ylim(min(values) - 1, max(values) + 1)  # type: ignore[attr-defined]


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
