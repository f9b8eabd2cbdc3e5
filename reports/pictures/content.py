"""Speed-up over the baseline by what a page holds, and the drafts accepted by position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from reports.pictures.canvas import INK, MUTED, Canvas, Look, Picture
from reports.run_files import Run

MOST_NUMBERED = 3
SPEEDUP = "speedup-content"
SPEEDUP_TITLE = "Speed-up by content"
ACCEPTED = "accepted"
ACCEPTED_TITLE = "Accepted draft tokens"


def draw_speedup(runs: Sequence[Run], looks: Mapping[str, Look]) -> Picture:
    """Geometric mean of the page-by-page latency ratio with its interval, for all pages and each content."""
    tables = {run.key: rows for run in runs if not run.invalid and (rows := speedup_rows(run))}
    if not tables:
        return Picture(SPEEDUP, SPEEDUP_TITLE, "", reason="no run has a baseline among the runs")
    names = list(dict.fromkeys(name for rows in tables.values() for name in rows))
    canvas = Canvas(SPEEDUP)
    axes = canvas.axes[0]
    width = 0.8 / len(tables)
    for number, (key, rows) in enumerate(tables.items()):
        for name, found in rows.items():
            x = names.index(name) + (number - (len(tables) - 1) / 2) * width
            value = float(found["geometric_mean"])
            low, high = found.get("interval") or (value, value)
            named = looks[key].label if name == next(iter(rows)) else None
            axes.bar(x, value, width * 0.86, color=looks[key].colour, alpha=0.85, label=named)
            axes.plot([x, x], [low, high], color=INK, linewidth=1.2)
            if len(tables) <= MOST_NUMBERED:
                axes.annotate(f"{value:.2f}x", (x, high), (0, 3), textcoords="offset points", ha="center", fontsize=9)
    axes.axhline(1, color=MUTED, linewidth=1, linestyle="--")
    axes.set_xticks(range(len(names)), [f"{name}\n{_pages(tables, name)} pages" for name in names], color=INK)
    axes.grid(axis="x", visible=False)
    axes.set_ylabel("latency of baseline / own")
    axes.margins(y=0.15)
    canvas.legend_below(axes)
    caption = (
        "Geometric mean of the latency ratio over pages that ended well in both, with its 95 % interval. A page counts "
        "as table when it holds one, else as formula when it holds a displayed one, else as text."
    )
    return Picture(SPEEDUP, SPEEDUP_TITLE, caption, canvas.svg(SPEEDUP_TITLE))


def speedup_rows(run: Run) -> dict[str, Mapping[str, Any]]:
    """Speed-ups of a run by content, all pages first; {} without a baseline."""
    if run.speed is None or not run.speed.speedup:
        return {}
    groups = run.speed.groups.get("content") or ()
    return {"all": run.speed.speedup} | {row["name"]: row["speedup"] for row in groups if row.get("speedup")}


def _pages(tables: Mapping[str, Mapping[str, Mapping[str, Any]]], name: str) -> int:
    return max(int(rows[name].get("pages") or 0) for rows in tables.values() if name in rows)


def draw_accepted(runs: Sequence[Run], looks: Mapping[str, Look]) -> Picture:
    """How many decoding steps accepted so many drafted tokens, from the server's counts by position."""
    found = {run.key: shares for run in runs if not run.invalid and (shares := accepted_shares(run))}
    if not found:
        return Picture(ACCEPTED, ACCEPTED_TITLE, "", reason="no server reports accepted tokens by position")
    canvas = Canvas(ACCEPTED)
    axes = canvas.axes[0]
    width = 0.8 / len(found)
    for number, (key, shares) in enumerate(found.items()):
        xs = [place + (number - (len(found) - 1) / 2) * width for place in range(len(shares))]
        axes.bar(xs, [100 * share for share in shares], width * 0.9, color=looks[key].colour, label=looks[key].label)
    longest = max(map(len, found.values()))
    axes.set_xticks(range(longest), [str(place + 1) for place in range(longest)])
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("tokens that a step brings")
    axes.set_ylabel("% of steps")
    canvas.legend_below(axes)
    caption = "A step brings one token and as many drafted ones as are accepted; from the counts by draft position."
    return Picture(ACCEPTED, ACCEPTED_TITLE, caption, canvas.svg(ACCEPTED_TITLE))


def accepted_shares(run: Run) -> list[float]:
    """Share of the steps that accept 0, 1, 2 … drafted tokens. Position i counts the steps that accept more than i."""
    figure = run.figure("accepted_length")
    if figure is None or not figure.count:
        return []
    reached = [float(count) for count in figure.details.get("by_position") or ()]
    if not reached:
        return []
    at_least = [float(figure.count), *reached, 0.0]
    return [(here - beyond) / figure.count for here, beyond in pairwise(at_least)]
