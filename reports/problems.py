"""Systems of a benchmark that have no result, with the reason that the benchmark left in their run folders."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from evalkit.errors import EvalkitError
from evalkit.store import read_json

FILE = "problem.json"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why the last attempt at a system came to nothing; `at` is the UTC time of it."""

    folder: Path
    title: str
    reason: str
    at: str


def read_problems(folders: Iterable[Path]) -> list[Problem]:
    """The problems of some run folders, in their order; a file that is none is passed over."""
    return [problem for folder in folders if (problem := _read(folder)) is not None]


def _read(folder: Path) -> Problem | None:
    if not (folder / FILE).is_file():
        return None
    try:
        row = read_json(folder / FILE)
    except EvalkitError:
        return None
    if not isinstance(row, dict) or not row.get("problem"):
        return None
    return Problem(folder, str(row.get("title") or folder.name), str(row["problem"]), str(row.get("at_utc") or ""))
