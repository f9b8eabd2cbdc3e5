"""Branches of one request over time: the layout stream and the content that forks from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.pictures.canvas import INK, MUTED, SERIES, WIDE, Canvas, Picture, beside

NAME = "timeline"
TITLE = "Branches of one request"
MOST_BRANCHES = 80
ROW_INCHES = 0.11


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch: seconds since the request's arrival at which it was born, began and ended."""

    born_s: float
    started_s: float
    ended_s: float
    tokens: int
    layout: bool


def draw(title: str, branches: list[Branch], provenance: str, name: str = NAME) -> Picture:
    """A Gantt chart; waiting is a thin line, decoding a bar."""
    shown = branches[:MOST_BRANCHES]
    if not shown:
        return Picture(name, TITLE, "", reason="no server reports when the branches of a request began and ended")
    canvas = Canvas(name, width=WIDE, height=1.0 + ROW_INCHES * max(len(shown), 8))
    axes = canvas.axes[0]
    for place, branch in enumerate(shown):
        colour = SERIES[0] if branch.layout else SERIES[1]
        axes.plot([branch.born_s, branch.started_s], [place, place], color=MUTED, linewidth=1)
        axes.barh(place, branch.ended_s - branch.started_s, 0.66, left=branch.started_s, color=colour)
        beside(axes, branch.ended_s, place, str(branch.tokens), 7)
    axes.invert_yaxis()
    axes.set_yticks([0, *([len(shown) - 1] if len(shown) > 1 else [])],
                    ["layout", *([f"branch {len(shown) - 1}"] if len(shown) > 1 else [])], color=INK)  # fmt: skip
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("seconds since the request arrived")
    left_out = f" {len(branches) - len(shown)} further branches are not drawn." if len(branches) > len(shown) else ""
    caption = (
        f"{title} ({provenance}). Top bar: layout stream; below: content branches in reading order, each begun when "
        f"its block was found. Thin lines are waiting, numbers are tokens.{left_out}"
    )
    return Picture(name, TITLE, caption, canvas.svg(f"{TITLE}: {len(shown)} branches"), wide=True)


@dataclass(frozen=True, slots=True)
class Bar:
    """A branch of a page view's small chart, in units of its viewBox: waiting from `born`, decoding from `start`."""

    row: int
    born: float
    start: float
    width: float
    layout: bool
    words: str


@dataclass(frozen=True, slots=True)
class Chart:
    """The branches of one page's request; matplotlib would take longer for it than for all else on the page."""

    bars: tuple[Bar, ...]
    seconds: float
    provenance: str
    left_out: int


CHART_WIDTH = 1000


def chart(branches: list[Branch], provenance: str) -> Chart | None:
    """The chart of a request with several branches; None for a single one."""
    shown = branches[:MOST_BRANCHES]
    seconds = max((branch.ended_s for branch in shown), default=0.0)
    if len(shown) < 2 or seconds <= 0:
        return None

    def place(at_s: float) -> float:
        return round(CHART_WIDTH * min(max(at_s / seconds, 0.0), 1.0), 1)

    bars = tuple(
        Bar(
            row,
            place(branch.born_s),
            place(branch.started_s),
            round(max(1.0, place(branch.ended_s) - place(branch.started_s)), 1),
            branch.layout,
            f"{'layout' if branch.layout else f'branch {row}'}: {branch.tokens} tokens, "
            f"{branch.started_s:.2f} to {branch.ended_s:.2f} s",
        )
        for row, branch in enumerate(shown)
    )
    return Chart(bars, seconds, provenance, len(branches) - len(shown))


def branches_of(extra: Mapping[str, Any]) -> tuple[list[Branch], str]:
    """The branches that a server reported with an answer, and the provenance of their times; [] where none."""
    reported = extra.get("server_metrics")
    for name, facts in reported.items() if isinstance(reported, dict) else ():
        rows = facts.get("branches") if isinstance(facts, dict) else None
        try:
            found = _branches(rows, facts) if rows else []
        except (KeyError, TypeError, ValueError, OverflowError):
            continue
        if found:
            return found, str(facts.get("provenance") or name)
    return [], ""


def _branches(rows: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> list[Branch]:
    arrival = float(facts.get("arrival_s") or rows[0]["born_s"])
    return [
        Branch(
            float(row["born_s"]) - arrival,
            float(row["started_s"]) - arrival,
            float(row["ended_s"]) - arrival,
            int(row["tokens"]),
            row.get("fork_after_tokens") is None,
        )
        for row in rows
    ]
