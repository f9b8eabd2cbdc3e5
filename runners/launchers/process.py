"""A server process of ours: started under a supervisor, waited for until healthy, stopped for sure."""

from __future__ import annotations

import contextlib
import json
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalkit.errors import ToolchainError, UserError
from runners.launchers.diagnosis import explain, last_lines, log_tail
from runners.launchers.leftovers import refuse_leftovers, write_note
from runners.launchers.supervisor import CLEANUP_TIMEOUT_S
from runners.server_facts import ask

HEALTH_EVERY_S = 0.2
STOP_TIMEOUT_S = 20.0
START_TIMEOUT_S = 1800.0


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """What will be run: a command with the variables added to its environment, and where it will answer.

    `cleanup` is run once the command has ended, however that came about.
    """

    command: Sequence[str]
    port: int
    env: Mapping[str, str] = field(default_factory=dict)
    host: str = "127.0.0.1"
    cleanup: Sequence[str] = ()

    @property
    def root(self) -> str:
        """The server's address, as it is reached from here."""
        return f"http://{'127.0.0.1' if self.host == '0.0.0.0' else self.host}:{self.port}"

    def lines(self) -> list[str]:
        """The environment and the command as a shell would take them."""
        return [*(f"export {key}={shlex.quote(value)}" for key, value in self.env.items()), shlex.join(self.command)]


def free_port(host: str = "127.0.0.1") -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def require_free(port: int, host: str) -> None:
    """Raises UserError for a port that another program listens on: its answers would pass for our server's."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise UserError(
                f"port {port} of {host}: cannot listen ({error.strerror}). Choose another with --port, or leave it out"
            ) from error


@contextmanager
def running(
    plan: LaunchPlan,
    system: str,
    folder: Path,
    *,
    start_timeout_s: float = START_TIMEOUT_S,
    stop_timeout_s: float = STOP_TIMEOUT_S,
) -> Iterator[Path]:
    """A healthy server for the time of the block; yields its log.

    Raises ToolchainError with the cause, its remedy and the log's last lines when it does not become healthy, and
    UserError when a server that an earlier run left behind still runs, or the port is taken.
    """
    refuse_leftovers()
    require_free(plan.port, plan.host)
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "server.log"
    log.write_bytes(b"")
    task = {
        "command": list(plan.command),
        "env": dict(plan.env),
        "log": str(log),
        "stop_timeout_s": stop_timeout_s,
        "cleanup": list(plan.cleanup),
    }
    supervisor = supervised(task)
    note: Path | None = None
    try:
        pid = _told_number(supervisor)
        note = write_note(pid, system, plan.port, log) if pid else None
        _wait_healthy(plan, system, supervisor, log, start_timeout_s)
        yield log
    finally:
        stop_supervised(supervisor, stop_timeout_s)
        if note is not None:
            note.unlink(missing_ok=True)


def supervised(task: Mapping[str, Any]) -> subprocess.Popen[bytes]:
    """Start a supervisor with its task: what it runs ends with the process that called this, however that ends."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "runners.launchers.supervisor", json.dumps(task)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        pass_fds=task.get("pass_fds", ()),
    )


def _told_number(supervisor: subprocess.Popen[bytes]) -> int:
    """The next number that the supervisor prints: the server's process id, later its exit code; 0 without one."""
    assert supervisor.stdout is not None
    line = supervisor.stdout.readline().strip()
    return int(line) if line.removeprefix(b"-").isdigit() else 0


def _wait_healthy(
    plan: LaunchPlan, system: str, supervisor: subprocess.Popen[bytes], log: Path, timeout_s: float
) -> None:
    deadline_s = time.monotonic() + timeout_s
    while time.monotonic() < deadline_s:
        if ask(f"{plan.root}/health", timeout_s=5.0).status == 200:
            return
        if supervisor.poll() is not None:
            raise ToolchainError(_failure(system, "ended before it answered", log, _told_number(supervisor)))
        time.sleep(HEALTH_EVERY_S)
    raise ToolchainError(_failure(system, f"did not answer /health within {timeout_s:g} s", log))


def _failure(system: str, what: str, log: Path, exit_code: int | None = None) -> str:
    tail = log_tail(log)
    shown = last_lines(tail) or "  | (the log is empty)"
    return f"the server of {system} {what}. {explain(tail, exit_code)}\nlast lines of {log}:\n{shown}"


def stop_supervised(supervisor: subprocess.Popen[bytes], timeout_s: float) -> None:
    """Close the supervisor's stdin, upon which it ends the whole process group of what it runs."""
    assert supervisor.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        supervisor.stdin.close()
    try:
        supervisor.wait(timeout_s + CLEANUP_TIMEOUT_S + 10.0)
    except subprocess.TimeoutExpired:
        supervisor.kill()
        supervisor.wait()
    if supervisor.stdout is not None:
        supervisor.stdout.close()
