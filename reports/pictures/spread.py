"""How the scores of single pages are spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from reports.columns import BY_NAME
from reports.pictures.canvas import INK, WIDE, Canvas, Look, Picture
from reports.run_files import Run

NAME = "spread"
TITLE = "Scores of single pages"
METRICS = ("text_edit", "table_teds", "formula_cdm", "read_order_edit")


def draw(runs: Sequence[Run], looks: Mapping[str, Look]) -> Picture:
    """For each metric, the share of pages that are at least so good: a higher curve is better."""
    values = {metric: {run.key: found for run in runs if (found := goodness(run, metric))} for metric in METRICS}
    shown = [metric for metric in METRICS if values[metric]]
    if not shown:
        return Picture(NAME, TITLE, "", reason="no run has scores of pages")
    canvas = Canvas(NAME, width=WIDE, height=3.6, columns=len(shown))
    for axes, metric in zip(canvas.axes, shown, strict=True):
        for key, found in values[metric].items():
            xs, ys = survival(found)
            look = looks[key]
            axes.step(xs, ys, where="pre", linestyle=look.line, color=look.colour, linewidth=1.7, label=look.label)
        low_is_better = BY_NAME[metric].better == "low"
        axes.set_title(f"1 - {BY_NAME[metric].title}" if low_is_better else BY_NAME[metric].title, loc="left",
                       fontsize=10.5, color=INK)  # fmt: skip
        axes.set_xlim(0, 100)
        axes.set_ylim(0, 102)
        axes.set_xticks([0, 50, 100])
    canvas.axes[0].set_ylabel("% of pages at least so good")
    canvas.legend_below(canvas.axes[0])
    caption = "Of all pages with a value, the share that scores at least the value below; 100 is perfect."
    return Picture(NAME, TITLE, caption, canvas.svg(TITLE), wide=True)


def goodness(run: Run, metric: str) -> list[float]:
    """Page values from 0 (worst) to 100 (perfect)."""
    found = [value for page in run.pages if (value := page.values.get(metric)) is not None]
    return [100 * (1 - value if BY_NAME[metric].better == "low" else value) for value in found]


def survival(values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Points of the share (%) of values at or above x, thinned to what a picture can show."""
    ordered = np.sort(np.round(np.asarray(values, np.float64), 1))
    xs = np.unique(np.concatenate([[0.0], ordered, [100.0]]))
    ys = 100 * (1 - np.searchsorted(ordered, xs, side="left") / len(ordered))
    return xs.tolist(), ys.tolist()
