"""Launcher of the emulated server, for machines without the GPU that a system needs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalkit.errors import ToolchainError
from evalkit.types import Served, System

DEFAULT_DEPLOYMENTS = {"hierarchical": "hpd-parsing", "autoregressive": "hpd-ar", "two-stage": "two-stage"}
DEFAULT_MAX_MODEL_LEN = 131_072  # of a system that sets none
STOP_TIMEOUT_S = 10.0


class EmulatedLauncher:
    """Serves recorded answers with the timing of a modelled engine, in a process of its own."""

    @contextmanager
    def serve(self, system: System, folder: Path, options: Mapping[str, Any]) -> Iterator[Served]:
        """A running server. `options`: data (file of recorded answers), and speed, seed, port of the emulator.

        Its log is `folder`/server.log. Raises ToolchainError when it does not start.
        """
        settings = {**emulated_options(system), **options}
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "server.log", "ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "runners.emulator", json.dumps(settings)],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
            try:
                yield Served((_url(process, folder),), emulated=True, facts=settings)
            finally:
                _stop(process)


def deployment_of(system: System) -> str:
    """The emulated deployment that stands for a system: its own, else the one of its paradigm."""
    named = system.serve.details.get("emulator")
    return str(named or DEFAULT_DEPLOYMENTS.get(system.paradigm, "hpd-ar"))


def emulated_options(system: System) -> dict[str, Any]:
    """The emulator's options that a system's facts decide."""
    return {
        "deployment_name": deployment_of(system),
        "model": system.serve.model or system.name,
        "max_model_len": int(system.serve.flags.get("max-model-len", DEFAULT_MAX_MODEL_LEN)),
    }


def _url(process: subprocess.Popen[str], folder: Path) -> str:
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    if url.startswith("http"):
        return url
    process.wait(STOP_TIMEOUT_S)
    lines = (folder / "server.log").read_text(encoding="utf-8", errors="replace").splitlines()
    raise ToolchainError("the emulated server did not start:\n" + "\n".join(lines[-5:]))


def _stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


LAUNCHER = EmulatedLauncher()
