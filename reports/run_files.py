"""What a report reads of a run folder: record, scores, figures of speed, and the values of every page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from evalkit.errors import EvalkitError, InvalidFileError, UserError
from evalkit.store import read_json, read_jsonl
from evalkit.types import Figure, MetricSummary, PageScore, Provenance, RunRecord, Summary, ValidityCheck
from reports.layout_scores import LayoutScores, read_layout


@dataclass(frozen=True, slots=True)
class Speed:
    """bench/summary.json: figures by name, checks, and tables by length and by group as plain rows."""

    valid: bool
    mode: str | None
    provenance: Provenance
    figures: Mapping[str, Figure]
    checks: tuple[ValidityCheck, ...] = ()
    broken_rules: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    load: Mapping[str, Any] = field(default_factory=dict)
    pages: int = 0
    states: Mapping[str, int] = field(default_factory=dict)
    reasons: Mapping[str, int] = field(default_factory=dict)
    buckets: Mapping[str, Any] = field(default_factory=dict)
    groups: Mapping[str, Any] = field(default_factory=dict)
    speedup: Mapping[str, Any] | None = None
    server: Mapping[str, Any] = field(default_factory=dict)
    client: Mapping[str, Any] = field(default_factory=dict)
    counters: Mapping[str, float] = field(default_factory=dict)
    baseline: str | None = None


@dataclass(frozen=True, slots=True)
class Drive:
    """One of several drives of a run, in its folder `run`; `broken` names the rules of measurement that it breaks."""

    in_flight: int
    valid: bool
    figures: Mapping[str, float | None]
    run: str = ""
    broken: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """One run as a report sees it. `key` is unique in the report and safe as a file name.

    `sweep` holds its drives by load, `search` the latency figure, its limit and the most in flight found within it,
    `repeats` its drives of one load and `disagreement` why their rates do not agree.
    """

    key: str
    folder: Path
    record: RunRecord
    summary: Summary | None = None
    speed: Speed | None = None
    pages: tuple[PageScore, ...] = ()
    sweep: tuple[Drive, ...] = ()
    search: tuple[str, float, int | None] | None = None
    repeats: tuple[Drive, ...] = ()
    disagreement: tuple[str, ...] = ()
    layout: LayoutScores | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What the run is called."""
        return str(self.record.title)

    @property
    def emulated(self) -> bool:
        """Whether a model of an engine answered in place of a parser."""
        return bool(self.record.emulated) or (self.speed is not None and self.speed.provenance is Provenance.EMULATED)

    @property
    def invalid(self) -> bool:
        """Whether a rule of measurement was broken, so that its figures of speed do not count."""
        return self.speed is not None and not self.speed.valid

    def figure(self, name: str) -> Figure | None:
        """A figure of speed; None where there is no such figure."""
        return self.speed.figures.get(name) if self.speed is not None else None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A folder that holds no run that can be shown, and why."""

    folder: Path
    reason: str


def read_runs(folders: Iterable[Path]) -> tuple[list[Run], list[Unreadable]]:
    """The runs of some folders; one that cannot be read does not keep the others from being shown."""
    runs: list[Run] = []
    unreadable: list[Unreadable] = []
    taken: set[str] = set()
    for folder in folders:
        try:
            run = read_run(folder, _free_key(folder.name, taken))
        except EvalkitError as error:
            unreadable.append(Unreadable(folder, str(error)))
            continue
        taken.add(run.key)
        runs.append(run)
    return runs, unreadable


def safe_name(text: str, limit: int = 60) -> str:
    """A text as a file name of letters, digits, dot, dash and underscore; never empty, never beginning with a dot."""
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "_" for char in text[:limit])
    return kept.lstrip(".") or "run"


def _free_key(name: str, taken: set[str]) -> str:
    base = key = safe_name(name)
    number = 1
    while key in taken:
        number += 1
        key = f"{base}-{number}"
    return key


def read_run(folder: Path, key: str) -> Run:
    """One run. Raises UserError when there is nothing to show, InvalidFileError for a broken file."""
    if not folder.is_dir():
        raise UserError(f"{folder}: no such run folder")
    summary = _summary(folder / "evaluate" / "summary.json")
    speed = _speed(folder / "bench" / "summary.json")
    if summary is None and speed is None:
        raise UserError(f"{folder}: holds neither scores nor figures of speed; run evalkit evaluate or bench first")
    return Run(
        key=key,
        folder=folder,
        record=_record(folder, summary),
        summary=summary,
        speed=speed,
        pages=tuple(_pages(folder / "evaluate" / "page_scores.jsonl")) if summary is not None else (),
        **_drives(folder),
        layout=read_layout(folder),
        settings=_settings(folder / "infer" / "sessions.jsonl"),
    )


def _object(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    value = read_json(path)
    if not isinstance(value, dict):
        raise InvalidFileError(str(path), ["expected a JSON object"])
    return value


def _known(record: type, row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a row that a record has: files of later versions hold more."""
    names = {item.name for item in fields(record)}
    return {name: value for name, value in row.items() if name in names}


def _record(folder: Path, summary: Summary | None) -> RunRecord:
    row = _object(folder / "run.json")
    if row is None:
        dataset = {"name": summary.protocol if summary else "?", "pages": summary.pages if summary else None}
        return RunRecord(folder.name, folder.name, "", "", "", dataset)
    try:
        record = RunRecord(**{"created_utc": "", "evalkit": "", "command": ""} | _known(RunRecord, row))
    except TypeError as error:
        raise InvalidFileError(str(folder / "run.json"), ["not the record of a run"]) from error
    if not isinstance(record.dataset, dict):
        raise InvalidFileError(str(folder / "run.json"), ["dataset: expected an object"])
    return record


def _summary(path: Path) -> Summary | None:
    row = _object(path)
    if row is None:
        return None
    try:
        metrics = {name: MetricSummary(**_known(MetricSummary, found)) for name, found in row["metrics"].items()}
        return Summary(**{**_known(Summary, row), "metrics": metrics})
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidFileError(str(path), [f"not the summary of an evaluation ({error})"]) from error


def _speed(path: Path) -> Speed | None:
    row = _object(path)
    if row is None:
        return None
    try:
        return Speed(**{**_known(Speed, row), **_typed_parts(row)})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidFileError(str(path), [f"not the summary of a benchmark ({error})"]) from error


def _typed_parts(row: Mapping[str, Any]) -> dict[str, Any]:
    figures = {
        name: Figure(**_known(Figure, {**found, "provenance": Provenance(found["provenance"])}))
        for name, found in row["figures"].items()
    }
    return {
        "provenance": Provenance(row["provenance"]),
        "figures": figures,
        "checks": tuple(ValidityCheck(**_known(ValidityCheck, check)) for check in row.get("checks") or ()),
        **{name: tuple(map(str, row.get(name) or ())) for name in ("broken_rules", "advice", "notes")},
    }


def _pages(path: Path) -> Iterable[PageScore]:
    for number, row in enumerate(read_jsonl(path, "evalkit.page_scores", 1), start=2):
        try:
            yield PageScore(**{**_known(PageScore, row), "notes": tuple(row.get("notes") or ())})
        except TypeError as error:
            raise InvalidFileError(str(path), [f"line {number}: not the scores of a page"]) from error


def _drives(folder: Path) -> dict[str, Any]:
    """What sweep.json and agreement.json say of a run's drives."""
    path, other = folder / "sweep.json", folder / "agreement.json"
    sweep = (_object(path) or {}).get("sweep") or {}
    agreement = (_object(other) or {}).get("agreement") or {}
    try:
        limit = sweep.get("limit")
        return {
            "sweep": tuple(_drive(point) for point in sweep.get("points") or ()),
            "search": (str(sweep["figure"]), float(limit), sweep.get("largest")) if limit is not None else None,
            "repeats": tuple(_drive(point) for point in agreement.get("points") or ()),
            "disagreement": tuple(map(str, agreement.get("reasons") or ())),
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidFileError(str(path if sweep else other), [f"not the drives of a run ({error})"]) from error


def _drive(point: Mapping[str, Any]) -> Drive:
    broken = ", ".join(map(str, point.get("broken_rules") or ()))
    return Drive(int(point["in_flight"]), bool(point["valid"]), dict(point["figures"]), str(point.get("run")), broken)


def _settings(path: Path) -> Mapping[str, Any]:
    """How the first drive was asked for; {} where a run was not made here."""
    if not path.exists():
        return {}
    first = next(iter(read_jsonl(path, "evalkit.sessions", 1)), {})
    settings = first.get("settings")
    return settings if isinstance(settings, dict) else {}
