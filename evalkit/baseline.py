"""Baselines: small JSON files with the scores and figures of a run, made to be committed to a repository."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from evalkit import __version__
from evalkit.errors import InvalidFileError, NotComparableError, UserError, unknown_name
from evalkit.run_snapshot import read_snapshot
from evalkit.snapshot import PageRow, Snapshot, SpeedFigure, SpeedRun, is_figure
from evalkit.store import dumps, read_json, write_text

SCHEMA = "evalkit.baseline"
VERSION = 1
DEFAULT_FOLDER = Path("baselines")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_PLAIN_COLUMNS = ("page_id", "state", "output_tokens", "latency_s")
_VALUE, _GROUP = "value:", "group:"


def save_baseline(name: str, runs: Sequence[Path], folder: Path = DEFAULT_FOLDER, *, replace: bool = False) -> Path:
    """Write a run, with the speed figures of its repeats, as `folder`/`name`.json; returns the file."""
    if not NAME.fullmatch(name):
        raise UserError(f"{name!r} is no name for a baseline: letters, digits, dots, dashes and underscores")
    path = folder / f"{name}.json"
    if path.exists() and not replace:
        raise UserError(f"{path}: exists already; give --replace to write it again")
    write_text(path, baseline_text(read_snapshot(runs)))
    return path


def baseline_text(snapshot: Snapshot) -> str:
    """The file's text: the header indented, then one line a page, so that a change shows as a small diff."""
    head = {
        "schema": SCHEMA,
        "version": VERSION,
        "written_by": f"evalkit {__version__}",
        **{
            item.name: getattr(snapshot, item.name) for item in fields(snapshot) if item.name not in ("pages", "origin")
        },
    }
    columns = [
        *_PLAIN_COLUMNS,
        *(_VALUE + name for name in sorted({name for page in snapshot.pages for name in page.values})),
        *(_GROUP + name for name in sorted({name for page in snapshot.pages for name in page.groups})),
    ]
    rows = ",\n".join(f"    {dumps(_row(page, columns))}" for page in snapshot.pages)
    body = dumps(head, indent=2).removesuffix("\n}")
    return f'{body},\n  "columns": {dumps(columns)},\n  "pages": [\n{rows}\n  ]\n}}\n'


def _row(page: PageRow, columns: Sequence[str]) -> list[Any]:
    cells: list[Any] = []
    for column in columns:
        if column.startswith(_VALUE):
            cells.append(page.values.get(column.removeprefix(_VALUE)))
        elif column.startswith(_GROUP):
            cells.append(page.groups.get(column.removeprefix(_GROUP)))
        else:
            cells.append(getattr(page, column))
    return cells


def read_baseline(path: Path) -> Snapshot:
    """A baseline file. Raises UserError or InvalidFileError with what to do about it."""
    try:
        plain = read_json(path)
    except InvalidFileError as error:
        raise InvalidFileError(
            str(path), [*error.problems, "a whole one is written by `evalkit baseline save`"]
        ) from error
    if not isinstance(plain, dict) or plain.get("schema") != SCHEMA:
        raise InvalidFileError(str(path), ["not a baseline; write one with `evalkit baseline save NAME RUN`"])
    if plain.get("version") != VERSION:
        raise InvalidFileError(
            str(path),
            [
                f"baseline of version {plain.get('version')}, this evalkit reads version {VERSION}; "
                "run `evalkit baseline save --replace` on its run, or use the evalkit that wrote it "
                f"({plain.get('written_by', 'unknown')})"
            ],
        )
    try:
        return _snapshot(path, plain)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidFileError(
            str(path), [f"not as `evalkit baseline save` writes it ({type(error).__name__}: {error})"]
        ) from error


def _snapshot(path: Path, plain: Mapping[str, Any]) -> Snapshot:
    names = {item.name for item in fields(Snapshot)} - {"pages", "origin", "speed"}
    columns = plain["columns"]
    pages = tuple(_page(dict(zip(columns, row, strict=True))) for row in plain["pages"])
    metrics = dict(plain["metrics"])
    wrong = [f"{page.page_id}: {name}" for page in pages for name, value in page.values.items() if not is_figure(value)]
    wrong += [name for name, value in metrics.items() if not is_figure(value)]
    if wrong:
        raise InvalidFileError(str(path), [f"{place} is no finite number" for place in wrong])
    speed = tuple(
        SpeedRun(
            **{
                **run,
                "figures": {name: SpeedFigure(**figure) for name, figure in run["figures"].items()},
                "broken_rules": tuple(run["broken_rules"]),
                "groups": {
                    attribute: {
                        value: {name: SpeedFigure(**figure) for name, figure in figures.items()}
                        for value, figures in values.items()
                    }
                    for attribute, values in run["groups"].items()
                },
            }
        )
        for run in plain["speed"]
    )
    return Snapshot(**{name: plain[name] for name in names}, pages=pages, speed=speed, origin=str(path))


def _page(cells: Mapping[str, Any]) -> PageRow:
    return PageRow(
        **{name: cells[name] for name in _PLAIN_COLUMNS},
        values={key.removeprefix(_VALUE): value for key, value in cells.items() if key.startswith(_VALUE)},
        groups={
            key.removeprefix(_GROUP): value
            for key, value in cells.items()
            if key.startswith(_GROUP) and value is not None
        },
    )


def list_baselines(folder: Path = DEFAULT_FOLDER) -> Iterator[tuple[str, Snapshot | str]]:
    """Names of a folder's baselines with what they hold, or why they cannot be read."""
    for path in sorted(folder.glob("*.json")):
        try:
            yield path.stem, read_baseline(path)
        except UserError as error:
            yield path.stem, str(error)


def find_baseline(name: str, folder: Path = DEFAULT_FOLDER) -> Path:
    """The file of a baseline given by its path or by its name in a folder."""
    if Path(name).is_file():
        return Path(name)
    known = [path.stem for path in sorted(folder.glob("*.json"))]
    if name not in known:
        raise unknown_name("baseline", name, known)
    return folder / f"{name}.json"


def load_side(paths: Sequence[Path]) -> Snapshot:
    """One side of a comparison: a baseline file, or a run folder and its repeats."""
    if not paths:
        raise UserError("no run given")
    files = [path for path in paths if path.is_file()]
    if not files:
        return read_snapshot(paths)
    if len(paths) > 1:
        raise UserError(f"{files[0]}: a baseline file holds its repeats already; give it alone")
    return read_baseline(files[0])


def load_baseline_side(paths: Sequence[Path], candidate: Snapshot) -> Snapshot:
    """What a candidate is compared with; of a folder of baseline files, the one of its data and system."""
    first = paths[0] if paths else Path()
    holds_run = any((first / inner).exists() for inner in ("run.json", "evaluate", "bench"))
    if len(paths) == 1 and first.is_dir() and not holds_run and any(first.glob("*.json")):
        return read_baseline(matching_baseline(first, candidate))
    return load_side(paths)


def matching_baseline(folder: Path, candidate: Snapshot) -> Path:
    """The one baseline of a folder with the candidate's data and system. Raises NotComparableError without one."""
    fitting, seen = [], []
    for name, found in list_baselines(folder):
        if isinstance(found, str):
            raise UserError(found)
        seen.append(f"{name} ({found.system or 'no system'}, {found.dataset.get('name')})")
        same_data = found.dataset.get("sha256") == candidate.dataset.get("sha256")
        if same_data and found.system == candidate.system:
            fitting.append(folder / f"{name}.json")
    if len(fitting) != 1:
        raise NotComparableError(
            f"{folder}: {len(fitting)} baselines are of {candidate.system or 'no system'} on "
            f"{candidate.dataset.get('name')}; give the file. There: {', '.join(seen) or 'none'}"
        )
    return fitting[0]


def as_json(snapshot: Snapshot) -> dict[str, Any]:
    """A baseline without its pages, for display."""
    plain: dict[str, Any] = json.loads(baseline_text(snapshot))
    return {key: value for key, value in plain.items() if key not in ("pages", "columns")} | {
        "pages": len(snapshot.pages)
    }
