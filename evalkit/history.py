"""The history of a system's figures: one row a run, and where the level of a figure stepped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from evalkit.errors import InvalidFileError, unknown_name
from evalkit.snapshot import Snapshot, is_figure
from evalkit.store import JsonlAppender, read_jsonl, write_text

SCHEMA = "evalkit.history"
VERSION = 1
STEP_P = 0.01
LEAST_SEGMENT = 3
SHUFFLES = 999


@dataclass(frozen=True, slots=True)
class Entry:
    """One run of the history; `figures` holds metrics and speed figures by name."""

    run_id: str
    recorded_utc: str
    figures: Mapping[str, float | None]
    system: str | None = None
    dataset: str | None = None
    evalkit: str = ""
    verdict: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """The level changed between run `index` - 1 and run `index`; levels are means of the segments on both sides."""

    index: int
    before: float
    after: float
    p_value: float


def append_history(path: Path, run: Snapshot, verdict: str | None = None) -> Entry:
    """Append a run's figures to a history file, making it when it is not there."""
    speed = run.speed[0].figures if run.speed else {}
    entry = Entry(
        run_id=run.run_id,
        recorded_utc=datetime.now(UTC).isoformat(timespec="seconds"),
        figures={**run.metrics, **{name: figure.value for name, figure in speed.items()}},
        system=run.system,
        dataset=run.dataset.get("name"),
        evalkit=run.evalkit,
        verdict=verdict,
    )
    with JsonlAppender(path, SCHEMA, VERSION) as file:
        file.append(entry)
    return entry


def read_history(path: Path) -> list[Entry]:
    """The runs of a history file, oldest first. Raises InvalidFileError for rows that are none."""
    entries, problems = [], []
    for number, row in enumerate(read_jsonl(path, SCHEMA, VERSION), start=2):
        try:
            entry = Entry(**row)
            wrong = [name for name, value in entry.figures.items() if not is_figure(value)]
        except (TypeError, AttributeError):
            problems.append(f"line {number}: not a run of a history")
            continue
        problems += [f"line {number}: {name} is no finite number" for name in wrong]
        entries.append(entry)
    if problems:
        raise InvalidFileError(str(path), problems)
    return entries


def series(entries: Sequence[Entry], figure: str) -> tuple[list[Entry], list[float]]:
    """The runs that have a figure, and its values. Raises UserError for an unknown figure."""
    known = sorted({name for entry in entries for name, value in entry.figures.items() if value is not None})
    if figure not in known:
        raise unknown_name("figure in the history", figure, known)
    having = [entry for entry in entries if entry.figures.get(figure) is not None]
    return having, [float(entry.figures[figure] or 0.0) for entry in having]


def find_steps(values: Sequence[float], *, p_limit: float = STEP_P, seed: int = 0) -> list[Step]:
    """Where the level of a series stepped, oldest first.

    The series is cut where the means of both sides differ most, if shuffled series rarely show so great a
    difference (permutation test, p under `p_limit`), and each side again. Under ten values none can be shown.
    """
    cuts: list[tuple[int, float]] = []
    _cut(np.asarray(values, np.float64), 0, p_limit, np.random.default_rng(seed), cuts)
    cuts.sort()
    borders = [0, *(index for index, _ in cuts), len(values)]
    return [
        Step(
            index,
            float(np.mean(values[borders[place] : index])),
            float(np.mean(values[index : borders[place + 2]])),
            p_value,
        )
        for place, (index, p_value) in enumerate(cuts)
    ]


def _cut(values: Any, start: int, p_limit: float, rng: np.random.Generator, cuts: list[tuple[int, float]]) -> None:
    if len(values) < 2 * LEAST_SEGMENT:
        return
    contrasts = _contrasts(values[None, :])[0]
    greatest = float(contrasts.max())
    if greatest <= 1e-12 * max(1.0, float(np.abs(values).max())):
        return
    shuffled = rng.permuted(np.broadcast_to(values, (SHUFFLES, len(values))), axis=1)
    as_great = int((_contrasts(shuffled).max(axis=1) >= greatest * (1 - 1e-12)).sum())
    p_value = (as_great + 1) / (SHUFFLES + 1)
    if p_value >= p_limit:
        return
    index = int(contrasts.argmax()) + LEAST_SEGMENT
    cuts.append((start + index, p_value))
    _cut(values[:index], start, p_limit, rng, cuts)
    _cut(values[index:], start + index, p_limit, rng, cuts)


def _contrasts(rows: Any) -> Any:
    """Weighted difference of the means before and after each possible cut, a row a series."""
    count = rows.shape[1]
    left = np.arange(LEAST_SEGMENT, count - LEAST_SEGMENT + 1)
    sums = np.cumsum(rows, axis=1)
    before = sums[:, left - 1] / left
    after = (sums[:, -1:] - sums[:, left - 1]) / (count - left)
    return np.abs(before - after) * np.sqrt(left * (count - left) / count)


def plot_history(entries: Sequence[Entry], figure: str, path: Path) -> list[Step]:
    """Draw a figure over the runs, with its steps, as an SVG file; returns the steps."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    having, values = series(entries, figure)
    steps = find_steps(values)
    canvas, axes = pyplot.subplots(figsize=(8, 3.5), layout="constrained")
    axes.plot(range(len(values)), values, marker="o", linewidth=1, color="#1f5fa8")
    for step in steps:
        axes.axvline(step.index - 0.5, color="#b3261e", linestyle="--", linewidth=1)
        axes.annotate(f"{step.before:.4g} → {step.after:.4g}", (step.index - 0.5, step.after), fontsize=8)
    names = [entry.run_id.replace("$", r"\$") for entry in having]
    axes.set_xticks(range(len(values)), names, rotation=60, ha="right", fontsize=7)
    axes.set_ylabel(figure)
    drawn = StringIO()
    with pyplot.rc_context({"svg.hashsalt": "evalkit"}):
        canvas.savefig(drawn, format="svg", metadata={"Date": None})
    pyplot.close(canvas)
    write_text(path, drawn.getvalue())
    return steps
