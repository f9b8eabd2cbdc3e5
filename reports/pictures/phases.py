"""Time before the first token against time in decoding, by output length (HPD-Parsing, Figure 2)."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

from matplotlib.axes import Axes

from reports.pictures.canvas import INK, WIDE, Canvas, Look, Picture
from reports.request_times import PhaseTimes
from reports.run_files import Run

NAME = "phases"
TITLE = "Encoder and prefill against decoding"
EDGES = (0, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000)
MOST_PANELS = 4


def draw(runs: Sequence[Run], looks: Mapping[str, Look], times: Mapping[str, Sequence[PhaseTimes]]) -> Picture:
    """A panel a run: mean seconds of both phases in each bucket of output length, with how often decoding is longer."""
    shown = [run for run in runs if times.get(run.key)][:MOST_PANELS]
    if not shown:
        return Picture(NAME, TITLE, "", reason="no server tells when the first token of a request came")
    canvas = Canvas(NAME, width=WIDE if len(shown) > 1 else 6.4, height=3.6, columns=len(shown))
    for axes, run in zip(canvas.axes, shown, strict=True):
        _panel(axes, times[run.key], looks[run.key])
    canvas.axes[0].set_ylabel("seconds a request, mean")
    guessed = [run.title for run in shown if not all(one.by_server for one in times[run.key])]
    waits = f" Of {', '.join(guessed)}, timed by the client, it holds the wait for a free slot too." if guessed else ""
    caption = (
        "By output tokens of the page. Light: from the start of a request to its first token (image encoder and "
        f"prefill); full: from there to its last. Numbers: decoding / light part.{waits}"
    )
    return Picture(NAME, TITLE, caption, canvas.svg(TITLE), wide=len(shown) > 1)


def by_length(times: Sequence[PhaseTimes]) -> list[tuple[str, float, float, int]]:
    """Name, mean seconds of both phases and requests of each bucket that has any."""
    members: dict[int, list[PhaseTimes]] = defaultdict(list)
    for one in times:
        members[bisect_right(EDGES, one.output_tokens) - 1].append(one)
    return [
        (_name(place), fmean(one.before_s for one in found), fmean(one.decode_s for one in found), len(found))
        for place, found in sorted(members.items())
    ]


def _name(place: int) -> str:
    return f"{place}-{place + 1}k" if place < len(EDGES) - 1 else f"{place}k+"


def _under(name: str, count: int) -> str:
    return f"{name}\n{count} page{'s' * (count != 1)}"


def _panel(axes: Axes, times: Sequence[PhaseTimes], look: Look) -> None:
    rows = by_length(times)
    for x, (_, before_s, decode_s, _) in enumerate(rows):
        axes.bar(x, before_s, 0.66, color=look.colour, alpha=0.4)
        axes.bar(x, decode_s, 0.66, bottom=before_s, color=look.colour)
        ratio = f"{decode_s / before_s:.1f}x" if before_s > 0 else ""
        axes.annotate(
            ratio, (x, before_s + decode_s), (0, 3), textcoords="offset points", ha="center", fontsize=9, color=INK
        )
    axes.set_xticks(range(len(rows)), [_under(name, count) for name, _, _, count in rows])
    axes.set_title(look.label, loc="left", fontsize=10.5, color=INK)
    axes.grid(axis="x", visible=False)
    axes.margins(y=0.14)
