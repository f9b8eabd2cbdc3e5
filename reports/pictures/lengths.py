"""Latency, decoding steps and throughput by output length, with the pages in each bucket (HPD-Parsing, Figure 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from reports.pictures.canvas import GRID, MUTED, WIDE, Canvas, Look, Picture
from reports.run_files import Run

NAME = "by-length"
TITLE = "By output length"
PANELS = (("latency_mean_s", "latency, s"), ("steps", "decoding steps"), ("request_throughput", "pages/s"))


def draw(runs: Sequence[Run], looks: Mapping[str, Look], edges: str = "hpd") -> Picture:
    """Three panels over the same buckets; a page stands in the bucket of its reference, where a run has one."""
    tables = {run.key: rows for run in runs if not run.invalid and (rows := bucket_rows(run, edges))}
    names = [row["name"] for row in next(iter(tables.values()), ())]
    if not tables or not names:
        return Picture(NAME, TITLE, "", reason="no run reports its output tokens")
    used = [place for place in range(len(names)) if any(rows[place].get("pages") for rows in tables.values())]
    counts = _counts(tables)
    labels = [f"{_short(names[place])}\n{counts[place]} page{'s' * (counts[place] != 1)}" for place in used]
    canvas = Canvas(NAME, width=WIDE, height=3.9, columns=3)
    for axes, (field, title) in zip(canvas.axes, PANELS, strict=True):
        _columns(axes, [counts[place] for place in used])
        for key, rows in tables.items():
            _line(axes, rows, used, field, looks[key])
        axes.set_title(title, loc="left", fontsize=10.5, color=MUTED)
        axes.set_xticks(range(len(used)), labels)
        axes.set_ylim(bottom=0)
    canvas.axes[1].set_xlabel("output tokens of a page")
    canvas.legend_below(canvas.axes[0])
    caption = (
        "Mean over the pages of a bucket; grey columns are the share of pages in it. Pages are put in buckets by the "
        "length of the baseline's answer where a run has a baseline, else by their own. Throughput is requests in "
        "flight x pages / sum of latencies: the rate at which such pages alone would come out."
    )
    return Picture(NAME, TITLE, caption, canvas.svg(TITLE), wide=True)


def bucket_rows(run: Run, edges: str) -> list[dict[str, Any]]:
    """A run's figures by length; [] where its output tokens are not known."""
    table = (run.speed.buckets if run.speed is not None else {}).get(edges) or {}
    rows = table.get("by_baseline_length") or table.get("by_own_length") or []
    return rows if any(row.get("pages") for row in rows) else []


def _counts(tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[int]:
    """Pages in each bucket, of the run with the most pages."""
    rows = max(tables.values(), key=lambda rows: sum(row.get("pages") or 0 for row in rows))
    return [int(row.get("pages") or 0) for row in rows]


def _columns(axes: Axes, counts: Sequence[int]) -> None:
    """Share of pages in each bucket as columns in the background."""
    behind = axes.twinx()
    behind.bar(range(len(counts)), [count / sum(counts) for count in counts], 0.72, color=GRID, alpha=0.55)
    behind.set_ylim(0, 1)
    behind.set_axis_off()
    axes.set_zorder(behind.get_zorder() + 1)


def _line(axes: Axes, rows: Sequence[Mapping[str, Any]], used: Sequence[int], field: str, look: Look) -> None:
    points = [(x, rows[place][field]) for x, place in enumerate(used) if rows[place].get(field) is not None]
    if points:
        xs, ys = zip(*points, strict=True)
        axes.plot(xs, ys, look.line, marker=look.marker, color=look.colour, label=look.label)


def _short(name: str) -> str:
    """2000-3000 as 2-3k, so that the names of buckets fit."""
    low, dash, high = name.rstrip("+").partition("-")
    if not low.isdigit() or (high and not high.isdigit()) or int(low) % 1000 or int(high or 0) % 1000:
        return name
    return f"{int(low) // 1000}{dash}{int(high) // 1000 if high else '+'}k" if dash else f"{int(low) // 1000}k+"
