"""Time in the encoder and prefill against time in decoding (HPD-Parsing, Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reports.pictures.canvas import INK, MUTED, Canvas, Look, Picture, beside
from reports.run_files import Run

NAME = "phases"
TITLE = "Prefill against decode"


def draw(runs: Sequence[Run], looks: Mapping[str, Look]) -> Picture:
    """Mean time of a request in each phase, from the server's own histograms of the drive."""
    rows = [(run, found) for run in runs if (found := phase_times(run)) is not None]
    if not rows:
        return Picture(NAME, TITLE, "", reason="no server reports how long requests prefill and decode")
    canvas = Canvas(NAME, height=0.9 + 0.55 * len(rows))
    axes = canvas.axes[0]
    for place, (run, (prefill_s, decode_s)) in enumerate(rows):
        colour = looks[run.key].colour
        axes.barh(place, prefill_s, 0.55, color=colour, alpha=0.45, label="encoder and prefill" if not place else None)
        axes.barh(place, decode_s, 0.55, left=prefill_s, color=colour, label="decode" if not place else None)
        ratio = f"decode {decode_s / prefill_s:.1f}x" if prefill_s > 0 else ""
        beside(axes, prefill_s + decode_s, place, ratio)
    axes.set_yticks(range(len(rows)), [looks[run.key].label for run, _ in rows], color=INK)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.margins(x=0.25)
    axes.set_xlabel("seconds a request, mean", color=MUTED)
    caption = "Light: image encoder and prefill; full: decoding. Means of the server's own histograms over the drive."
    return Picture(NAME, TITLE, caption, canvas.svg(TITLE))


def phase_times(run: Run) -> tuple[float, float] | None:
    """Mean seconds of prefill and of decode by the server's histograms; None where it has none."""
    counters = run.speed.counters if run.speed is not None else {}
    count = counters.get("request_decode_time_seconds_count") or 0
    prefill = counters.get("request_prefill_time_seconds_sum")
    decode = counters.get("request_decode_time_seconds_sum")
    if not count or prefill is None or decode is None or prefill + decode <= 0:
        return None
    return prefill / count, decode / count
