"""Launcher of any vLLM that is installed here, on PATH or in an environment that the user names."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalkit.errors import ToolchainError
from evalkit.types import Served, System
from runners.http_exchange import Endpoint
from runners.launchers.flags import command_words, differences, read_back
from runners.launchers.process import START_TIMEOUT_S, LaunchPlan, free_port, running
from runners.server_facts import read_facts


class VllmLauncher:
    """Starts `vllm serve` with the flags of the system.

    Options: vllm (its program or environment), model (folder or name of the weights), gpu (its number), port, host,
    start_timeout_s.
    """

    def describe(self, system: System, options: Mapping[str, Any]) -> list[str]:
        """What would be run, as shell lines."""
        return self.plan(system, options).lines()

    def plan(self, system: System, options: Mapping[str, Any]) -> LaunchPlan:
        """The command, without running it. Raises ToolchainError when there is no vLLM here."""
        return vllm_plan(system, find_vllm(options.get("vllm")), weights_of(system, options), options)

    @contextmanager
    def serve(self, system: System, folder: Path, options: Mapping[str, Any]) -> Iterator[Served]:
        """A healthy server for the time of the block; what it says of itself is checked against what was asked."""
        plan = self.plan(system, options)
        timeout_s = float(options.get("start_timeout_s", START_TIMEOUT_S))
        with running(plan, system.name, folder, start_timeout_s=timeout_s) as log:
            yield served(system, plan, {"weights": weights_of(system, options)}, log)


def weights_of(system: System, options: Mapping[str, Any]) -> str:
    """Folder or hub name of the weights."""
    return str(options.get("model") or system.serve.details.get("weights") or system.serve.model)


def find_vllm(named: str | None) -> str:
    """The vllm program: of the environment or path that is named, else on PATH. Raises ToolchainError without one."""
    if named:
        path = Path(named).expanduser()
        candidates = [path / "bin" / "vllm", path]
        found = next((candidate for candidate in candidates if candidate.is_file()), None)
        if found is None:
            raise ToolchainError(f"{named}: no vllm program there; name its environment or the program itself")
        return str(found.absolute())
    on_path = shutil.which("vllm")
    if on_path is None:
        raise ToolchainError(
            "no vllm on PATH. Name its environment with --vllm, or use the launcher wheel or container"
        )
    return on_path


def vllm_plan(system: System, program: str, weights: str, options: Mapping[str, Any]) -> LaunchPlan:
    """`vllm serve` with the system's flags, on a free port of the loopback interface unless told otherwise."""
    host = str(options.get("host") or "127.0.0.1")
    port = int(options.get("port") or free_port())
    served_name = system.serve.model or system.name
    command = [
        program,
        "serve",
        weights,
        "--host",
        host,
        "--port",
        str(port),
        "--served-model-name",
        served_name,
        *command_words(system.serve.flags, {"weights": weights}),
    ]
    quiet = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "PYTHONUNBUFFERED": "1"}
    gpu = {"CUDA_VISIBLE_DEVICES": str(options["gpu"])} if options.get("gpu") is not None else {}
    return LaunchPlan(command, port, {**quiet, **system.serve.env, **gpu}, host)


def served(system: System, plan: LaunchPlan, names: Mapping[str, str], log: Path) -> Served:
    """What runs now: its address, version, flags, and where these differ from what was asked."""
    facts = read_facts(Endpoint.parse(plan.root), {})
    told = read_back(plan.root, log)
    return Served(
        endpoints=(f"{plan.root}/v1",),
        emulated=facts.emulated,
        facts={
            "version": facts.version,
            "flags": told,
            "differences": differences(system, names, facts.version, told),
            "command": list(plan.command),
            "env": dict(plan.env),
            "log": str(log),
        },
    )


LAUNCHER = VllmLauncher()
