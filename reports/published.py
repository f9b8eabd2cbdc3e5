"""Published results as a table of their own: for orientation, never ranked with the runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.run_files import Run

SCORES = ("overall", "text_edit", "formula_cdm", "table_teds", "table_teds_s", "read_order_edit", "tps", "pps")
_DIGITS = {"text_edit": 3, "read_order_edit": 3, "tps": 0, "pps": 3}


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A published result. `own` says that a run in the report is of this system."""

    system: str
    benchmark: str
    hardware: str
    source: str
    cells: tuple[tuple[float | None, str], ...]
    own: bool


def published_table(published: Mapping[str, Sequence[Mapping[str, Any]]], runs: Sequence[Run]) -> list[PublishedRow]:
    """All published scores by benchmark, best first; results without any of the shown figures are left out."""
    names = {name for run in runs for name in (run.record.system or {}).get("published") or ()}
    rows = [_row(row, names) for row in published.get("scores") or ()]
    rows = [row for row in rows if any(value is not None for value, _ in row.cells)]
    return sorted(
        rows, key=lambda row: (row.benchmark != "OmniDocBench v1.6 Full", row.benchmark, -(row.cells[0][0] or 0))
    )


def _row(row: Mapping[str, Any], names: set[str]) -> PublishedRow:
    values = [row.get(name) for name in SCORES]
    cells = tuple(
        (value, "–" if value is None else f"{value:,.{_DIGITS.get(name, 2)}f}")
        for name, value in zip(SCORES, values, strict=True)
    )
    setting = " ".join(str(row.get(name) or "") for name in ("hardware", "batch_or_concurrency")).strip()
    system = str(row.get("system"))
    return PublishedRow(
        system, str(row.get("benchmark_version")), setting, str(row.get("source")), cells, system in names
    )
