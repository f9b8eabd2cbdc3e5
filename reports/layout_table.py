"""The layout table: systems by class and measure, one table a mode, published rows apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.layout_scores import CLASSES, MEASURES, MODES, LayoutScores
from reports.leaderboard import Mark, score_marks
from reports.run_files import Run

MOST_LABELS = 40
CLASS_TITLES = {
    "overall": "Overall",
    "text": "Text",
    "image": "Image",
    "table": "Table",
    "formula": "Formula",
    "full_page": "Full page",
}
MEASURE_TITLES = {"iou": "IoU", "precision": "P", "recall": "R", "f1": "F1"}
MEASURE_DEFINITIONS = {
    "iou": "Area on which prediction and annotation agree / area of either, mean over the pages that have the class.",
    "precision": "Predicted area that is annotated / predicted area, mean over the pages that have the class.",
    "recall": "Annotated area that is predicted / annotated area, mean over the pages that have the class.",
    "f1": "Harmonic mean of the averaged precision and recall.",
}
MODE_DEFINITIONS = {
    "countable-acceptable": "Overlapping boxes count each; accepted regions may be predicted or not.",
    "binary-acceptable": "Overlapping boxes count once; accepted regions may be predicted or not.",
    "countable-ignore": "Overlapping boxes count each; accepted regions are left out.",
    "binary-ignore": "Overlapping boxes count once; accepted regions are left out.",
}
PROTOCOLS = {
    "countable-acceptable": "countable / acceptable",
    "binary-acceptable": "binary / acceptable",
    "countable-ignore": "countable / ignore-acceptable",
    "binary-ignore": "binary / ignore-acceptable",
}
"""How the published tables call the modes."""


@dataclass(frozen=True, slots=True)
class LayoutCell:
    """One value in percent, as stored and as shown; None where no page has the class."""

    value: float | None
    text: str
    tooltip: str = ""
    best: bool = False
    first: bool = False


@dataclass(frozen=True, slots=True)
class LayoutRow:
    """One system: `key` is its run's, None for a published row; `marks` stand beside its title."""

    title: str
    key: str | None
    cells: tuple[LayoutCell, ...]
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class LayoutSection:
    """Rows that may be ranked together: kind is measured, emulated or published."""

    kind: str
    source: str
    rows: tuple[LayoutRow, ...]


@dataclass(frozen=True, slots=True)
class LayoutTable:
    """All rows in one mode."""

    mode: str
    title: str
    definition: str
    sections: tuple[LayoutSection, ...]


@dataclass(frozen=True, slots=True)
class Unmapped:
    """Labels of a run that its system's map does not know, with their boxes, and pages that were not scored."""

    title: str
    labels: tuple[tuple[str, int], ...]
    left_out: int
    unscored: int


def layout_tables(runs: Sequence[Run], published: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[LayoutTable]:
    """A table for each mode, the headline mode first; [] when no run has layout scores."""
    groups: dict[tuple[bool, str], list[tuple[Run, LayoutScores]]] = {}
    for run in runs:
        if run.layout is not None:
            groups.setdefault((run.emulated, run.layout.signature), []).append((run, run.layout))
    if not groups:
        return []
    ordered = sorted(groups.items(), key=lambda item: (item[0][0], -len(item[1]), item[0][1]))
    tables = []
    for mode in MODES:
        own = [_section(mode, emulated, signature, members) for (emulated, signature), members in ordered]
        stated = _published(published.get("layout") or (), PROTOCOLS[mode])
        sections = (*own, stated) if stated.rows else tuple(own)
        tables.append(LayoutTable(mode, PROTOCOLS[mode], MODE_DEFINITIONS[mode], sections))
    return tables


def unmapped_labels(runs: Sequence[Run]) -> list[Unmapped]:
    """What the layout scores of each run leave out; runs without any are passed over."""
    found = []
    for run in runs:
        if run.layout is not None and (run.layout.unmapped or run.layout.unscored):
            labels = sorted(run.layout.unmapped.items(), key=lambda item: (-item[1], item[0]))
            shown = tuple((label[:60], count) for label, count in labels[:MOST_LABELS])
            found.append(Unmapped(run.title, shown, len(labels) - len(shown), len(run.layout.unscored)))
    return found


def _section(mode: str, emulated: bool, signature: str, members: Sequence[tuple[Run, LayoutScores]]) -> LayoutSection:
    values = [[_value(layout, mode, name, measure) for name, measure in _cells()] for _, layout in members]
    best = [_best(column) for column in zip(*values, strict=True)]
    rows = [
        LayoutRow(
            run.title,
            run.key,
            tuple(
                LayoutCell(value, _shown(value), _tooltip(layout, mode, *cell), value == best[place], cell[1] == "iou")
                if value is not None
                else _absent(cell)
                for place, (cell, value) in enumerate(zip(_cells(), row, strict=True))
            ),
            tuple(score_marks(run)),
        )
        for (run, layout), row in zip(members, values, strict=True)
    ]
    return LayoutSection("emulated" if emulated else "measured", signature, tuple(sorted(rows, key=_rank_key)))


def _cells() -> list[tuple[str, str]]:
    return [(name, measure) for name in CLASSES for measure in MEASURES]


def _value(layout: LayoutScores, mode: str, name: str, measure: str) -> float | None:
    average = layout.average(mode, name)
    found: float | None = getattr(average, measure) * 100 if average is not None else None
    return found


def _best(column: Sequence[float | None]) -> float | None:
    """The greatest value; None where nothing is to be ranked."""
    values = [value for value in column if value is not None]
    return max(values) if len(values) > 1 else None


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _absent(cell: tuple[str, str]) -> LayoutCell:
    reason = "a class of it is on no page" if cell[0] == "overall" else "no page has any"
    return LayoutCell(None, "–", f"{CLASS_TITLES[cell[0]]}: {reason}", first=cell[1] == "iou")


def _tooltip(layout: LayoutScores, mode: str, name: str, measure: str) -> str:
    average = layout.average(mode, name)
    pages = average.pages if average is not None else 0
    return f"{CLASS_TITLES[name]}, {pages} pages\n{MEASURE_DEFINITIONS[measure]}\n{layout.signature_in(mode)}"


def _rank_key(row: LayoutRow) -> tuple[bool, float, str]:
    overall = row.cells[0].value
    return overall is None, -(overall or 0.0), row.title


def _published(stated: Sequence[Mapping[str, Any]], protocol: str) -> LayoutSection:
    """Rows of a protocol as their table gives them; a system without a figure is left out."""
    own = [row for row in stated if row.get("protocol") == protocol]
    by_system: dict[str, dict[tuple[str, str], float | None]] = {}
    for row in own:
        title = " ".join(filter(None, (str(row.get("system")), str(row.get("size") or ""))))
        place = str(row.get("class")).lower().replace(" ", "_"), str(row.get("metric"))
        by_system.setdefault(title, {})[place] = row.get("value")
    rows = [
        LayoutRow(
            title,
            None,
            tuple(LayoutCell(values.get(cell), _shown(values.get(cell)), first=cell[1] == "iou") for cell in _cells()),
            (Mark("published", "published", "As its source states it; not measured here."),),
        )
        for title, values in by_system.items()
        if any(value is not None for value in values.values())
    ]
    sources = sorted({str(row.get("source")) for row in own})
    return LayoutSection("published", ", ".join(sources), tuple(sorted(rows, key=_rank_key)))
