"""Servers of ours that outlived the program that started them: noted at the start, found and named at the next."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from evalkit.errors import UserError


@dataclass(frozen=True, slots=True)
class ServerNote:
    """What is noted of a running server. `started` is its start time as the kernel counts it, so that a process id
    that was given again is not taken for the server."""

    pid: int
    started: str
    system: str
    port: int
    log: str


def notes_folder() -> Path:
    """Where notes lie: XDG_STATE_HOME or ~/.local/state, evalkit/servers."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "evalkit" / "servers"


def start_time(pid: int) -> str | None:
    """When a process started, in the kernel's ticks; None when there is none, or only its zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def write_note(pid: int, system: str, port: int, log: Path) -> Path | None:
    """Note a server that has just been started; None, and a warning, where notes cannot be written."""
    path = notes_folder() / f"{pid}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(ServerNote(pid, start_time(pid) or "", system, port, str(log)))))
    except OSError as error:
        why = f"note: {path}: cannot write ({error.strerror}); should the server be left over, it will not be found"
        print(why, file=sys.stderr)
        return None
    return path


def leftovers() -> list[ServerNote]:
    """Noted servers that still run; notes of others are removed."""
    found: list[ServerNote] = []
    for path in sorted(notes_folder().glob("*.json")):
        try:
            note = ServerNote(**json.loads(path.read_text()))
        except (OSError, ValueError, TypeError):
            note = None
        if note is not None and note.started and start_time(note.pid) == note.started:
            found.append(note)
        else:
            with contextlib.suppress(OSError):
                path.unlink()
    return found


def refuse_leftovers() -> None:
    """Raises UserError that names every server of ours that nobody looks after any more: it holds the GPU or a port."""
    orphans = [note for note in leftovers() if _orphaned(note.pid)]
    if not orphans:
        return
    lines = [f"  - {note.system} on port {note.port}: process {note.pid}, log {note.log}" for note in orphans]
    stop = " ".join(f"-{note.pid}" for note in orphans)
    raise UserError(
        "\n".join(["a server that evalkit started earlier still runs:", *lines, f"Stop it: kill -- {stop}"])
    )


def _orphaned(pid: int) -> bool:
    """Whether the supervisor that started a server is gone: its parent is init, or a reaper that is no supervisor."""
    try:
        parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
        command = Path(f"/proc/{parent}/cmdline").read_bytes()
    except OSError:
        return True
    return b"runners.launchers.supervisor" not in command
