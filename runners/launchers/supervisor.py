"""Keeps one server running for as long as its parent lives, and stops all of it for sure.

Run as `python -m runners.launchers.supervisor JSON` with {command, env, log, stop_timeout_s, cleanup, pass_fds}. The
server gets its own session, and the descriptors `pass_fds`; when stdin closes, which also happens when the parent is
killed, its process group gets SIGTERM and, after the time-out, SIGKILL. Then the command `cleanup` is run, where there
is one: a container may outlive the program that started it. Prints the server's process id, then its exit code.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

POLL_S = 0.1
CLEANUP_TIMEOUT_S = 30.0


def supervise(
    command: list[str],
    env: dict[str, str],
    log: str,
    stop_timeout_s: float,
    cleanup: Sequence[str] = (),
    pass_fds: Sequence[int] = (),
) -> int:
    """Run the command until it ends or stdin closes, then the cleanup; the command's exit code."""
    with open(log, "ab") as output:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **env},
                start_new_session=True,
                pass_fds=pass_fds,
            )
        except OSError as error:
            output.write(f"cannot start {command[0]}: {error.strerror}\n".encode())
            _tell(0)
            return 127
    for descriptor in pass_fds:
        os.close(descriptor)  # so that its end is seen at the other end
    try:
        _tell(process.pid)
        while process.poll() is None and not _parent_gone():
            pass
    finally:
        stop_group(process, stop_timeout_s)
        _clean_up(cleanup)
    return process.wait()


def _clean_up(words: Sequence[str]) -> None:
    if not words:
        return
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=CLEANUP_TIMEOUT_S)


def _tell(number: int) -> None:
    """Print a number for the parent, which may be gone already."""
    with contextlib.suppress(OSError):
        os.write(sys.stdout.fileno(), f"{number}\n".encode())


def _parent_gone() -> bool:
    readable, _, _ = select.select([sys.stdin], [], [], POLL_S)
    return bool(readable) and not os.read(sys.stdin.fileno(), 4096)


def stop_group(process: subprocess.Popen[bytes], timeout_s: float) -> None:
    """End a session leader and everything it started: SIGTERM, then SIGKILL after the time-out."""
    deadline_s = time.monotonic() + timeout_s
    _signal(process.pid, signal.SIGTERM)
    while time.monotonic() < deadline_s and (process.poll() is None or group_alive(process.pid)):
        time.sleep(POLL_S)
    _signal(process.pid, signal.SIGKILL)


def group_alive(group: int) -> bool:
    """Whether any process of a group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _stay(number: int, frame: object) -> None:
    """Only the closing of stdin ends the supervisor. Not SIG_IGN, which the server would inherit."""


if __name__ == "__main__":
    signal.signal(signal.SIGINT, _stay)
    signal.signal(signal.SIGTERM, _stay)
    _tell(supervise(**json.loads(sys.argv[1])))
