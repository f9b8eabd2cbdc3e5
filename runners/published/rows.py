"""Published rows as records, and the check that each Overall follows from its parts."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
OVERALL_TOLERANCE = 0.07  # published parts are rounded; no published row is off by more


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One published result. Distances are 0 to 1, the other scores in percent, as published; None: not stated."""

    system: str
    params_b: float | None
    paradigm: str
    benchmark_version: str
    overall: float | None
    text_edit: float | None
    formula_cdm: float | None
    table_teds: float | None
    table_teds_s: float | None
    read_order_edit: float | None
    tps: float | None
    pps: float | None
    hardware: str
    batch_or_concurrency: str
    source: str


_NAMES = tuple(item.name for item in fields(PublishedRow))
TEXTS = {item.name for item in fields(PublishedRow) if item.type == "str"}


def published_rows(file: Path = FOLDER / "scores.csv") -> list[PublishedRow]:
    """All published results, in the order of the file."""
    with open(file, encoding="utf-8", newline="") as source:
        return [PublishedRow(**_values(row)) for row in csv.DictReader(source)]


def _values(row: dict[str, str]) -> dict[str, Any]:
    return {key: value if key in TEXTS else float(value) if value else None for key, value in row.items()}


def overall_from_parts(row: PublishedRow) -> float | None:
    """Overall in percent as its parts give it; None where a part is not stated."""
    if row.text_edit is None or row.table_teds is None or row.formula_cdm is None:
        return None
    return ((1 - row.text_edit) * 100 + row.table_teds + row.formula_cdm) / 3


def doubtful_rows(rows: list[PublishedRow]) -> Iterator[tuple[PublishedRow, float]]:
    """Rows whose Overall does not follow from their parts, with what the parts give."""
    for row in rows:
        computed = overall_from_parts(row)
        if computed is not None and row.overall is not None and abs(computed - row.overall) > OVERALL_TOLERANCE:
            yield row, computed


def catalog() -> list[dict[str, Any]]:
    """A row of every published result, for listings."""
    return [
        {
            "name": row.system,
            "benchmark": row.benchmark_version,
            "overall": row.overall,
            "pps": row.pps,
            "tps": row.tps,
            "source": row.source,
        }
        for row in published_rows()
    ]


def plain_rows() -> dict[str, list[dict[str, Any]]]:
    """Every published result as plain rows: `scores` a row a system, `speed` a row a figure."""
    with open(FOLDER / "speed.csv", encoding="utf-8", newline="") as source:
        speed = [dict(row) for row in csv.DictReader(source)]
    return {"scores": [{key: getattr(row, key) for key in _NAMES} for row in published_rows()], "speed": speed}


def layout_rows() -> list[dict[str, Any]]:
    """Published layout results as plain rows, one a figure: `value` in percent, None where the source has none."""
    with open(FOLDER / "layout.csv", encoding="utf-8", newline="") as source:
        return [
            {
                **row,
                "value": float(row["value"]) if row["value"] else None,
                "source": f"PaDoc paper, Table {row['table']}",
            }
            for row in csv.DictReader(source)
        ]
