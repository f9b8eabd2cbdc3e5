"""Accuracy by attribute as a table of tinted cells: systems by attribute values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reports.columns import BY_NAME, Column, written
from reports.run_files import Run

METRICS = ("text_edit", "table_teds", "formula_cdm", "read_order_edit")
MOST_VALUES = 40
SHADES = 9


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One cell: its text, its shade from 0 (worst) to SHADES - 1 (perfect), and on how many pages it rests."""

    text: str
    shade: int | None
    pages: int


@dataclass(frozen=True, slots=True)
class HeatMap:
    """One metric: rows are attribute values under their attribute, columns are runs."""

    column: Column
    heads: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[HeatCell, ...]], ...]


def heat_maps(runs: Sequence[Run]) -> list[HeatMap]:
    """A map for every metric that any run has by attribute."""
    scored = [run for run in runs if run.pages]
    maps = [_heat_map(metric, scored) for metric in METRICS]
    return [found for found in maps if found.rows]


def _heat_map(metric: str, runs: Sequence[Run]) -> HeatMap:
    column = BY_NAME[metric]
    tables = [_means(run, metric) for run in runs]
    keys = sorted({key for table in tables for key in table})[:MOST_VALUES]
    rows = tuple(
        (attribute, value, tuple(_cell(column, table.get((attribute, value))) for table in tables))
        for attribute, value in keys
    )
    return HeatMap(column, tuple(run.title + (" (emulated)" if run.emulated else "") for run in runs), rows)


def _means(run: Run, metric: str) -> dict[tuple[str, str], tuple[float, int]]:
    """The evaluation's value of each attribute value (`attribute: value` in its summary), and its pages."""
    groups = (run.summary.groups.get("page") or {}).get(metric) or {} if run.summary is not None else {}
    named = {tuple(name.split(": ", 1)): value for name, value in groups.items() if ": " in name}
    counts = Counter(
        (attribute, str(value))
        for page in run.pages
        if page.values.get(metric) is not None
        for attribute, value in page.groups.items()
    )
    return {
        (attribute, value): (mean, counts[attribute, value])
        for (attribute, value), mean in named.items()
        if mean is not None
    }


def _cell(column: Column, found: tuple[float, int] | None) -> HeatCell:
    if found is None:
        return HeatCell("", None, 0)
    value, pages = found
    goodness = 1 - value if column.better == "low" else value
    return HeatCell(written(column, value), min(SHADES - 1, max(0, int(goodness * SHADES))), pages)
