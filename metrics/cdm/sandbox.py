"""Running TeX on text that a model wrote: no shell, no network, no outside files, bounded time, memory and disk."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_GRACE_S = 2.0  # between asking a program to end and killing it


@dataclass(frozen=True, slots=True)
class Limits:
    """What one process may use."""

    cpu_s: int = 15
    wall_s: float = 120.0  # a backstop for a machine under load; the CPU limit is what decides
    memory_bytes: int = 1 << 30
    file_bytes: int = 64 << 20
    open_files: int = 64


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a process ended. `timed_out` covers both the CPU and the wall limit."""

    exit_code: int
    timed_out: bool


@cache
def namespace_prefix() -> tuple[str, ...]:
    """The command that gives a program its own user and network namespace; () where the system forbids it."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return ()
    prefix = (unshare, "--user", "--map-current-user", "--net", "--")
    try:
        probe = subprocess.run([*prefix, "true"], capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return prefix if probe.returncode == 0 else ()


def run(argv: Sequence[str], folder: Path, environment: Mapping[str, str], limits: Limits) -> Outcome:
    """Run a program in a folder until it ends or meets a limit; all that it started ends with it."""
    command = [*namespace_prefix(), *_limit_prefix(limits), *argv]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    with _ended_with_its_group(process):
        if not _ends_within(process, limits.wall_s):
            return Outcome(_stop(process), timed_out=True)
        exit_code = process.wait()
    return Outcome(exit_code, timed_out=exit_code in (-signal.SIGXCPU, -signal.SIGKILL))


def _limit_prefix(limits: Limits) -> tuple[str, ...]:
    """The command that sets limits for a program before it starts."""
    return (
        "prlimit",
        f"--cpu={limits.cpu_s}:{limits.cpu_s + 1}",
        f"--as={limits.memory_bytes}",
        f"--fsize={limits.file_bytes}",
        f"--nofile={limits.open_files}",
        "--core=0",
        "--nproc=1",
        "--",
    )


@contextlib.contextmanager
def _ended_with_its_group(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for the end of a process without polling, which would cost more than most runs take."""
    handle = os.pidfd_open(process.pid)
    try:
        ended, _, _ = select.select([handle], [], [], seconds)
    finally:
        os.close(handle)
    return bool(ended)


def _stop(process: subprocess.Popen[bytes]) -> int:
    """Interrupt, so that TeX closes its log; then kill."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    if not _ends_within(process, _GRACE_S):
        process.kill()
    return process.wait()
