"""Run folders with made-up scores and figures, as the stages write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evalkit.store import write_json, write_jsonl

SHA = "ab" * 32
PARTS = ("text_edit", "table_teds", "formula_cdm")


def signature(evalkit: str = "0.1.0", protocol: str = "omnidocbench-1.6", sha: str = SHA) -> str:
    return f"overall|avg:page|protocol:{protocol}|data:made@{sha[:12]}|evalkit:{evalkit}"


def made_scores(pages: int = 60, seed: int = 1) -> list[dict[str, Any]]:
    """Rows of page_scores.jsonl: every page has text, every second a table, every third a formula."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(pages):
        values = {
            "text_edit": float(rng.beta(1, 8)),
            "table_teds": float(rng.beta(8, 2)) if number % 2 == 0 else None,
            "formula_cdm": float(rng.beta(8, 1)) if number % 3 == 0 else None,
        }
        groups = {
            "language": ("english", "chinese")[number % 2],
            "data_source": ("book", "slides", "paper")[number % 3],
        }
        rows.append({"page_id": f"p{number:04}.png", "values": values, "prediction_state": "ok", "groups": groups})
    return rows


def shifted(rows: Sequence[Mapping[str, Any]], metric: str, by: float, noise: float = 0.0) -> list[dict[str, Any]]:
    """The same pages with one metric moved, and jittered page by page."""
    rng = np.random.default_rng(7)
    moved = []
    for row in rows:
        value = row["values"].get(metric)
        jitter = float(rng.normal(0, noise)) if noise else 0.0
        values = dict(row["values"]) | ({} if value is None else {metric: value + by + jitter})
        moved.append({**row, "values": values})
    return moved


def page_means(rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    names = sorted({name for row in rows for name in row["values"]})
    means: dict[str, float | None] = {}
    for name in names:
        values = [row["values"][name] for row in rows if row["values"].get(name) is not None]
        means[name] = float(np.mean(values)) if values else None
    return means


def overall_of(means: Mapping[str, float | None]) -> float | None:
    text, teds, cdm = (means.get(name) for name in PARTS)
    if text is None or teds is None or cdm is None:
        return None
    return ((1 - text) * 100 + teds * 100 + cdm * 100) / 3


def figure(value: float | None, unit: str = "pages/s", provenance: str = "measured", **more: Any) -> dict[str, Any]:
    return {"value": value, "unit": unit, "definition": "d", "provenance": provenance, **more}


def write_run(
    folder: Path,
    rows: Sequence[Mapping[str, Any]] | None = None,
    *,
    figures: Mapping[str, Mapping[str, Any]] | None = None,
    bench: Mapping[str, Any] | None = None,
    emulated: bool = False,
    system: str = "made-parser",
    sha: str = SHA,
    evalkit: str = "0.1.0",
    protocol: str = "omnidocbench-1.6",
) -> Path:
    """A run folder with the scores and the speed figures that are given."""
    record = {
        "run_id": folder.name,
        "title": folder.name,
        "created_utc": "2026-01-01T00:00:00+00:00",
        "evalkit": evalkit,
        "command": "evalkit bench",
        "dataset": {"name": "made", "sha256": sha, "pages": len(rows or ())},
        "system": {"name": system},
        "emulated": emulated,
    }
    write_json(folder / "run.json", record)
    if rows is not None:
        means = page_means(rows)
        summary = {
            "overall": overall_of(means),
            "pages": len(rows),
            "protocol": protocol,
            "signature": signature(evalkit, protocol, sha),
            "metrics": {name: {"page_avg": value} for name, value in means.items()},
            "counts": {},
        }
        write_json(folder / "evaluate" / "summary.json", summary)
        write_jsonl(folder / "evaluate" / "page_scores.jsonl", "evalkit.page_scores", 1, rows)
    if figures is not None:
        plain = {"figures": figures, "checks": [], "broken_rules": [], "states": {}, **(bench or {})}
        write_json(folder / "bench" / "summary.json", plain)
    return folder
