"""Reads a run folder, and its repeats, as what the gate knows of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalkit.errors import InvalidFileError, NotComparableError, UserError
from evalkit.requests_log import FILE as REQUESTS_FILE
from evalkit.requests_log import read_requests
from evalkit.snapshot import (
    OUTPUT_LENGTH,
    OVERALL,
    GroupedFigures,
    PageRow,
    Snapshot,
    SpeedFigure,
    SpeedRun,
    is_figure,
)
from evalkit.store import read_json, read_jsonl
from evalkit.types import FinishState, Provenance, RawOutput

DATASET_FACTS = ("name", "sha256", "pages")
LENGTH_EDGES = "hpd"
GROUP_UNITS = {
    "request_throughput": "pages/s",
    "latency_mean_s": "s",
    "latency_p50_s": "s",
    "steps": "steps",
    "output_tokens": "tokens",
}
"""Figures that a bench run has for groups of pages, with their units."""


def read_snapshot(folders: Sequence[Path]) -> Snapshot:
    """A run and its repeats: scores are taken from the first folder, speed figures from all.

    Raises UserError for folders that hold neither scores nor figures, InvalidFileError for broken files, and
    NotComparableError when the folders are runs of different systems or data.
    """
    first, *others = [_read_folder(folder) for folder in folders]
    for other in others:
        _check_repeat(first, other)
    return replace(first, speed=tuple(run for one in (first, *others) for run in one.speed))


def _check_repeat(first: Snapshot, other: Snapshot) -> None:
    pairs = {
        "data": (first.dataset.get("sha256"), other.dataset.get("sha256")),
        "system": (first.system, other.system),
        "emulated": (first.emulated, other.emulated),
    }
    differing = [f"{name}: {one} and {two}" for name, (one, two) in pairs.items() if one != two]
    if differing:
        raise NotComparableError(f"{other.origin} is no repeat of {first.origin} ({'; '.join(differing)})")


def _read_folder(folder: Path) -> Snapshot:
    if not folder.is_dir():
        raise UserError(f"{folder}: no such run folder; expected the --out folder of evaluate or bench")
    summary = _optional(folder / "evaluate" / "summary.json")
    bench = _optional(folder / "bench" / "summary.json")
    if summary is None and bench is None:
        raise UserError(
            f"{folder}: holds neither evaluate/summary.json nor bench/summary.json; run evalkit evaluate or bench first"
        )
    record = _optional(folder / "run.json") or {}
    pages = _pages(folder) if summary is not None else ()
    snapshot = Snapshot(
        run_id=str(record.get("run_id") or folder.name),
        origin=str(folder),
        evalkit=str(record.get("evalkit") or ""),
        dataset=_facts(record.get("dataset") or {}, DATASET_FACTS),
        created_utc=str(record.get("created_utc") or ""),
        system=(record.get("system") or {}).get("name"),
        emulated=bool(record.get("emulated")) or (bench or {}).get("provenance") == Provenance.EMULATED,
        pages=pages,
        speed=(_speed_run(folder, bench),) if bench is not None else (),
    )
    return snapshot if summary is None else _with_scores(snapshot, folder, summary)


def _facts(record: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Only the named facts that are there: a path on this machine has no place in a committed file."""
    return {name: record[name] for name in names if name in record}


def _optional(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    value = read_json(path)
    if not isinstance(value, dict):
        raise InvalidFileError(str(path), ["expected a JSON object"])
    return value


def _with_scores(snapshot: Snapshot, folder: Path, summary: Mapping[str, Any]) -> Snapshot:
    path = folder / "evaluate" / "summary.json"
    metrics = {name: row.get("page_avg") for name, row in _rows(path, summary, "metrics").items()}
    metrics[OVERALL] = summary.get("overall")
    problems = [f"{name} is {value}" for name, value in metrics.items() if not is_figure(value)]
    if problems:
        raise InvalidFileError(str(path), problems)
    signature = summary.get("signature")
    return replace(
        snapshot,
        dataset=snapshot.dataset or _dataset_of(signature, len(snapshot.pages)),
        evalkit=snapshot.evalkit or _signature_part(signature, "evalkit"),
        protocol=summary.get("protocol"),
        signature=signature,
        metrics=metrics,
        counts=summary.get("counts") or {},
    )


def _rows(path: Path, owner: Mapping[str, Any], key: str) -> dict[str, dict[str, Any]]:
    """A JSON object of objects, as the stages write them."""
    rows = owner.get(key)
    if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
        raise InvalidFileError(str(path), [f"{key} must be an object of objects"])
    return rows


def _dataset_of(signature: str | None, pages: int) -> dict[str, Any]:
    """Name and digest of the data from a score's signature, where a run has no record."""
    name, _, digest = _signature_part(signature, "data").rpartition("@")
    return {"name": name, "sha256": digest, "pages": pages}


def _signature_part(signature: str | None, key: str) -> str:
    parts = dict(part.split(":", 1) for part in (signature or "").split("|") if ":" in part)
    return parts.get(key, "")


def _pages(folder: Path) -> tuple[PageRow, ...]:
    path = folder / "evaluate" / "page_scores.jsonl"
    outputs = _outputs(folder / "infer" / REQUESTS_FILE)
    rows, problems = [], []
    for number, row in enumerate(read_jsonl(path, "evalkit.page_scores", 1), start=2):
        values = row.get("values")
        if not isinstance(row.get("page_id"), str) or not isinstance(values, dict):
            problems.append(f"line {number}: needs page_id and values")
            continue
        problems += [f"line {number}: {name} is {value}" for name, value in values.items() if not is_figure(value)]
        output = outputs.get(row["page_id"])
        rows.append(
            PageRow(
                page_id=row["page_id"],
                values=values,
                state=row.get("prediction_state", "ok"),
                groups=row.get("groups") or {},
                output_tokens=output.tokens.output if output else None,
                latency_s=_latency_s(output),
            )
        )
    if not rows and not problems:
        problems.append("no pages: the run is empty")
    if problems:
        raise InvalidFileError(str(path), problems)
    return tuple(rows)


def _outputs(path: Path) -> dict[str, RawOutput]:
    return {output.page_id: output for output in read_requests(path)} if path.exists() else {}


def _latency_s(output: RawOutput | None) -> float | None:
    if output is None or output.state is not FinishState.OK or output.send_s is None or output.last_s is None:
        return None
    return output.last_s - output.send_s


def _speed_run(folder: Path, bench: Mapping[str, Any]) -> SpeedRun:
    path = folder / "bench" / "summary.json"
    figures = _rows(path, bench, "figures")
    problems = [f"{name} is {row.get('value')}" for name, row in figures.items() if not is_figure(row.get("value"))]
    if problems:
        raise InvalidFileError(str(path), problems)
    try:
        return _speed_facts(folder.name, path, figures, bench)
    except (KeyError, TypeError, AttributeError) as error:
        message = f"not as `evalkit bench` writes it ({type(error).__name__}: {error})"
        raise InvalidFileError(str(path), [message]) from error


def _speed_facts(
    run_id: str, path: Path, figures: Mapping[str, Mapping[str, Any]], bench: Mapping[str, Any]
) -> SpeedRun:
    return SpeedRun(
        run_id=run_id,
        figures={
            name: SpeedFigure(row.get("value"), row.get("unit", ""), row.get("provenance", ""), row.get("reason"))
            for name, row in figures.items()
        },
        checks={row["name"]: row.get("passed") for row in bench.get("checks") or ()},
        broken_rules=tuple(bench.get("broken_rules") or ()),
        states=bench.get("states") or {},
        groups=_groups(path, bench),
    )


def _groups(path: Path, bench: Mapping[str, Any]) -> GroupedFigures:
    """The figures of groups of pages: by attribute, and by own output length in the edges of LENGTH_EDGES."""
    tables = dict(bench.get("groups") or {})
    buckets = (bench.get("buckets") or {}).get(LENGTH_EDGES) or {}
    if buckets.get("by_own_length"):
        tables[OUTPUT_LENGTH] = buckets["by_own_length"]
    problems = [
        f"{attribute} {row['name']}: {name} is {row.get(name)}"
        for attribute, rows in tables.items()
        for row in rows
        for name in GROUP_UNITS
        if not is_figure(row.get(name))
    ]
    if problems:
        raise InvalidFileError(str(path), problems)
    return {
        attribute: {
            row["name"]: {
                name: SpeedFigure(row.get(name), unit, row.get("provenance", "")) for name, unit in GROUP_UNITS.items()
            }
            for row in rows
            if row.get("pages")
        }
        for attribute, rows in tables.items()
    }
