"""What each part of the decoding brings: one trajectory, forks alone, drafts alone, and both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reports.pictures.canvas import INK, MUTED, Canvas, Look, Picture, beside
from reports.run_files import Run

NAME = "parts"
TITLE = "Steps taken apart"


def draw(runs: Sequence[Run], looks: Mapping[str, Look]) -> Picture:
    """Decoding steps that follow one another, as forks and drafts shorten them, from the runs' own token counts."""
    rows = [(run, found) for run in runs if not run.invalid and (found := step_counts(run)) and len(found) > 1]
    if not rows:
        return Picture(NAME, TITLE, "", reason="no run forks branches or speculates, with its tokens counted")
    canvas = Canvas(NAME, height=1.1 + 0.34 * sum(len(found) + 1 for _, found in rows))
    axes = canvas.axes[0]
    place, ticks = 0.0, []
    for run, found in rows:
        first = next(iter(found.values()))
        axes.text(0, place, looks[run.key].label, fontsize=9.5, fontweight="bold", color=INK, va="center")
        for name, steps in found.items():
            place += 1
            axes.barh(place, steps, 0.62, color=looks[run.key].colour, alpha=0.85)
            beside(axes, steps, place, f"{steps:,.0f} ({first / steps:.2f}x)")
            ticks.append((place, name))
        place += 1.3
    axes.set_yticks([at for at, _ in ticks], [name for _, name in ticks], color=INK)
    axes.set_ylim(place - 0.6, -0.7)
    axes.grid(axis="y", visible=False)
    axes.margins(x=0.2)
    axes.set_xlabel("decoding steps a page that follow one another, mean", color=MUTED)
    caption = (
        "Steps, not seconds. One trajectory: all tokens of the page in a row. Forks: the longest branch and the layout "
        "before it. Drafts: tokens / accepted length. Both: as the run decoded."
    )
    return Picture(NAME, TITLE, caption, canvas.svg(TITLE))


def step_counts(run: Run) -> dict[str, float]:
    """Mean steps a page of each way of decoding the same answers; {} where tokens were not counted."""

    def value(name: str) -> float | None:
        figure = run.figure(name)
        return figure.value if figure is not None else None

    sequential, path, accepted = (
        value(name) for name in ("sequential_tokens_per_page", "path_tokens_per_page", "accepted_length")
    )
    both = value("path_steps_per_page")
    if not sequential or not path:
        return {}
    found = {"one trajectory": sequential}
    if path < sequential:
        found["forks"] = path
    if accepted:
        found["drafts"] = sequential / accepted
    if path < sequential and accepted and both:
        found["both"] = both
    return found
