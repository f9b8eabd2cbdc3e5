"""Why a benchmark has no result of a system: kept in its run folder, so that every report can say so."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from evalkit.store import write_json
from evalkit.types import System

FILE = "problem.json"
VERSION = 1


def write_problem(run: Path, system: System, problem: str) -> None:
    """Note why the system's last attempt came to nothing. Raises UserError when the folder cannot be written."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    row = {"version": VERSION, "system": system.name, "title": system.title, "problem": problem, "at_utc": at}
    write_json(run / FILE, row)


def clear_problem(run: Path) -> None:
    """Forget it, since the system has a result now."""
    (run / FILE).unlink(missing_ok=True)
