"""The record of a run: what it is of, where and when it was begun, and the command that repeats it."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Iterable
from dataclasses import fields, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from evalkit import __version__
from evalkit.dataset import Dataset, load_dataset
from evalkit.errors import InvalidFileError, NotComparableError, UserError
from evalkit.store import read_json, to_plain, write_json
from evalkit.types import RunRecord, System

FILE = "run.json"
RECORDED_PACKAGES = ("numpy", "scipy", "lxml", "rapidfuzz", "pylatexenc", "pandas")


def begin_run(
    folder: Path,
    dataset: Dataset,
    *,
    system: System | None = None,
    title: str | None = None,
    emulated: bool = False,
    limit: int | None = None,
) -> RunRecord:
    """Write run.json, or check that the folder's run is of the same data and system.

    `limit` says that the data set was cut to its first pages. Raises NotComparableError when the folder holds
    another run.
    """
    record = RunRecord(
        run_id=folder.name,
        title=title or (system.title if system else folder.name),
        created_utc=datetime.now(UTC).isoformat(timespec="seconds"),
        evalkit=__version__,
        command=shlex.join(["evalkit", *sys.argv[1:]]),
        dataset={
            "name": dataset.name,
            "sha256": dataset.sha256,
            "pages": len(dataset.pages),
            "source": str(dataset.source.absolute()),
            "limit": limit,
        },
        system=to_plain(system) if system else None,
        emulated=emulated,
        host=host_facts(),
        packages=dict(_versions(RECORDED_PACKAGES)),
    )
    if not (folder / FILE).exists():
        write_json(folder / FILE, record)
        return record
    before = read_run(folder)
    _check_same(folder, before, record)
    return before


def check_data_set(folder: Path, dataset: Dataset) -> None:
    """Refuse to score a run against another data set than its own: its record would say something else than its scores.

    Raises NotComparableError.
    """
    before = read_run(folder).dataset
    if before.get("sha256") not in (None, dataset.sha256):
        raise NotComparableError(
            f"{folder} is a run of the data set {before.get('name')} ({before['sha256'][:12]}), not of {dataset.name} "
            f"({dataset.sha256[:12]}). Choose another --out"
        )


def read_run(folder: Path) -> RunRecord:
    """The record of a run folder. Raises UserError when there is none, InvalidFileError when it is broken."""
    path = folder / FILE
    row = read_json(path)
    names = {item.name for item in fields(RunRecord)}
    if not isinstance(row, dict) or not {"run_id", "title", "dataset"} <= row.keys():
        raise InvalidFileError(str(path), ["not the record of a run"])
    return RunRecord(**{"created_utc": "", "evalkit": "", "command": ""} | {k: v for k, v in row.items() if k in names})


def dataset_of_run(folder: Path) -> Dataset:
    """The data set of a run, cut as the run was. Raises UserError when it is not where it was."""
    facts = read_run(folder).dataset
    dataset = load_dataset(str(facts.get("source") or facts.get("name")))
    limit = facts.get("limit")
    cut = dataset if limit is None else first_pages(dataset, int(limit))
    return replace(cut, name=str(facts.get("name") or cut.name))


def first_pages(dataset: Dataset, limit: int | None) -> Dataset:
    """A data set cut to its first pages, with a name that says so. Raises UserError for fewer than one."""
    if limit is not None and limit < 1:
        raise UserError(f"--limit must be 1 or more, not {limit}")
    if limit is None or limit >= len(dataset.pages):
        return dataset
    return dataset.select([truth.page.page_id for truth in dataset.pages[:limit]], f"{dataset.name}[:{limit}]")


def _check_same(folder: Path, before: RunRecord, now: RunRecord) -> None:
    def named(record: RunRecord) -> dict[str, Any]:
        system = record.system or {}
        return {
            "data set": record.dataset.get("sha256"),
            "pages": record.dataset.get("pages"),
            "system": system.get("name"),
            "emulated": record.emulated,
        }

    old, new = named(before), named(now)
    changed = [f"{key}: {old[key]} there, {new[key]} asked for" for key in old if old[key] != new[key]]
    if changed:
        raise NotComparableError(f"{folder} holds another run ({'; '.join(changed)}). Choose another --out")


def host_facts() -> dict[str, Any]:
    """The machine as it matters to a measurement."""
    return {
        "system": platform.platform(),
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "cpu": _cpu_model(),
    }


def _cpu_model() -> str | None:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or None
    return next((line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name")), None)


def _versions(packages: Iterable[str]) -> Iterable[tuple[str, str]]:
    for package in packages:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            continue
