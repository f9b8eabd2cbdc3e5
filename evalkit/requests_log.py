"""The log of the infer stage: one row a request, appended as it ends, and one row for each drive's begin and end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.errors import InvalidFileError
from evalkit.store import read_jsonl
from evalkit.types import BranchTokens, FinishState, RawOutput, Sample, TokenCounts

SCHEMA = "evalkit.requests"
VERSION = 1
FILE = "requests.jsonl"
SESSIONS_SCHEMA = "evalkit.sessions"
SESSIONS_FILE = "sessions.jsonl"
SAMPLES_SCHEMA = "evalkit.samples"
BRANCHES_SCHEMA = "evalkit.branches"


def read_requests(path: Path) -> list[RawOutput]:
    """The outputs of a log, in the order in which they ended; of a page asked again the last row counts.

    Raises UserError without the file, InvalidFileError when a row is no output.
    """
    outputs: dict[str, RawOutput] = {}
    for output in read_rows(path):
        outputs.pop(output.page_id, None)
        outputs[output.page_id] = output
    return list(outputs.values())


def read_rows(path: Path) -> Iterator[RawOutput]:
    """Every row of a log, also those of pages asked again later."""
    for number, row in enumerate(read_jsonl(path, SCHEMA, VERSION), start=2):
        yield _output(path, number, row)


def _output(path: Path, number: int, row: Mapping[str, Any]) -> RawOutput:
    try:
        known = dict(row)
        known["state"] = FinishState(known["state"])
        known["tokens"] = TokenCounts(**(known.get("tokens") or {}))
        return RawOutput(**known)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidFileError(str(path), [f"line {number}: not a request row ({error})"]) from error


@dataclass(frozen=True, slots=True)
class Session:
    """One uninterrupted drive. `facts` is None when it was cut short by a kill or Ctrl-C."""

    number: int
    settings: Mapping[str, Any]
    pages: int
    facts: Mapping[str, Any] | None = None


def read_sessions(folder: Path) -> list[Session]:
    """The drives that wrote an infer folder; [] when there was none."""
    path = folder / SESSIONS_FILE
    if not path.exists():
        return []
    sessions: list[Session] = []
    for row in read_jsonl(path, SESSIONS_SCHEMA, VERSION):
        if row["event"] == "begin":
            sessions.append(Session(len(sessions), row["settings"], row["pages"]))
        elif sessions:
            last = sessions[-1]
            sessions[-1] = Session(last.number, last.settings, last.pages, row["facts"])
    return sessions


def read_samples(folder: Path, session: int) -> list[Sample]:
    """The counter and telemetry readings of one drive; [] where there are none."""
    path = samples_path(folder, session)
    if not path.exists():
        return []
    return [Sample(row["time_s"], row["source"], row["values"]) for row in read_jsonl(path, SAMPLES_SCHEMA, VERSION)]


def read_branches(folder: Path, session: int) -> list[BranchTokens]:
    """Token lengths of the branches of one drive's answers; [] where they were not counted."""
    path = branches_path(folder, session)
    if not path.exists():
        return []
    return [
        BranchTokens(row["page_id"], row["total"], row["layout"], tuple((fork[0], fork[1]) for fork in row["forks"]))
        for row in read_jsonl(path, BRANCHES_SCHEMA, VERSION)
    ]


def branches_path(folder: Path, session: int) -> Path:
    """Where the branch lengths of one drive lie."""
    return folder / f"branches-{session}.jsonl"


def samples_path(folder: Path, session: int) -> Path:
    """Where one drive's readings lie."""
    return folder / f"samples-{session}.jsonl"
