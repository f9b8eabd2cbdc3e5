"""Launcher of the emulated server, for machines without the GPU that a system needs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalkit.types import Served, System
from runners.launchers.process import LaunchPlan, free_port, running

DEFAULT_DEPLOYMENTS = {"hierarchical": "hpd-parsing", "autoregressive": "hpd-ar", "two-stage": "two-stage"}
DEFAULT_MAX_MODEL_LEN = 131_072  # of a system that sets none
START_TIMEOUT_S = 60.0


class EmulatedLauncher:
    """Serves recorded answers with the timing of a modelled engine, in a process of its own."""

    def describe(self, system: System, options: Mapping[str, Any]) -> list[str]:
        """What would be run, as shell lines."""
        return _plan(emulated_options(system), options).lines()

    @contextmanager
    def serve(self, system: System, folder: Path, options: Mapping[str, Any]) -> Iterator[Served]:
        """A running server. `options`: data (file of recorded answers), and speed, seed, port of the emulator.

        Its log is `folder`/server.log. Raises ToolchainError when it does not start.
        """
        settings = emulated_options(system)
        plan = _plan(settings, options)
        with running(plan, system.name, folder, start_timeout_s=START_TIMEOUT_S):
            yield Served((f"{plan.root}/v1",), emulated=True, facts={**settings, **options})


def _plan(settings: Mapping[str, Any], options: Mapping[str, Any]) -> LaunchPlan:
    port = int(options.get("port") or free_port())
    words = [sys.executable, "-P", "-m", "runners.emulator", json.dumps({**settings, **options, "port": port})]
    return LaunchPlan(words, port, host=str(options.get("host") or "127.0.0.1"))


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


LAUNCHER = EmulatedLauncher()
