"""Launcher of a vendor's container image, pinned by its digest, with GPUs and a volume for the model cache."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalkit.errors import ToolchainError, UserError
from evalkit.types import Served, System
from runners.launchers.flags import command_words
from runners.launchers.preflight import require_cuda
from runners.launchers.process import START_TIMEOUT_S, LaunchPlan, free_port, running
from runners.launchers.vllm import served
from runners.launchers.weights import cache_folder, make_folder

ENGINES = ("docker", "podman")
INNER_PORT = 8118
INNER_CACHE = "/evalkit/huggingface"


class ContainerLauncher:
    """Runs `vllm serve` in the system's `image`@`image_digest`.

    Options: engine (docker or podman), cache (folder for model files), gpu (its number, or several; all), port, host,
    start_timeout_s.
    """

    def describe(self, system: System, options: Mapping[str, Any]) -> list[str]:
        """What would be run, as shell lines."""
        return self.plan(system, options, options.get("engine") or "docker").lines()

    def plan(self, system: System, options: Mapping[str, Any], engine: str) -> LaunchPlan:
        """The container engine's command. Raises UserError for a system without a pinned image."""
        details = system.serve.details
        image, digest = details.get("image"), details.get("image_digest")
        if not image or not str(digest).startswith("sha256:"):
            raise UserError(f"{system.name} names no image with a digest; use the launcher wheel, vllm or url")
        host, port = str(options.get("host") or "127.0.0.1"), int(options.get("port") or free_port())
        weights = _inner_weights(system)
        cache = Path(options.get("cache") or cache_folder()) / "huggingface"
        command = [
            *(engine, "run", "--rm", "--name", container_name(port), "--ipc", "host", "--pull", "missing"),
            *gpu_words(engine, str(options.get("gpu") or "all")),
            *("--env", f"HF_HOME={INNER_CACHE}"),
            *("--publish", f"{host}:{port}:{INNER_PORT}", "--volume", f"{cache}:{INNER_CACHE}"),
            *(word for key, value in system.serve.env.items() for word in ("--env", f"{key}={value}")),
            *("--entrypoint", str(details.get("image_program") or "vllm"), f"{image}@{digest}"),
            *("serve", weights, "--host", "0.0.0.0", "--port", str(INNER_PORT)),
            *("--served-model-name", system.serve.model or system.name),
            *command_words(system.serve.flags, {"weights": weights}),
        ]
        # the engine's client may be gone while the container is not
        return LaunchPlan(command, port, {}, host, (engine, "rm", "--force", container_name(port)))

    @contextmanager
    def serve(self, system: System, folder: Path, options: Mapping[str, Any]) -> Iterator[Served]:
        """A healthy server for the time of the block; the container is removed at its end."""
        engine = find_engine(options.get("engine"))
        plan = self.plan(system, options, engine)
        require_cuda(system.serve.details.get("cuda"))
        make_folder(Path(options.get("cache") or cache_folder()) / "huggingface")
        timeout_s = float(options.get("start_timeout_s", START_TIMEOUT_S))
        with running(plan, system.name, folder, start_timeout_s=timeout_s) as log:
            yield served(system, plan, {"weights": _inner_weights(system)}, log)


def _inner_weights(system: System) -> str:
    return str(system.serve.details.get("image_weights") or system.serve.details.get("weights") or system.serve.model)


def find_engine(named: str | None) -> str:
    """docker or podman, the one that is named or found. Raises ToolchainError without one."""
    if named and named not in ENGINES:
        raise UserError(f"container engine must be {' or '.join(ENGINES)}, not {named!r}")
    found = next((name for name in ([named] if named else ENGINES) if shutil.which(name)), None)
    if found is None:
        missing = f"{named} is not on PATH" if named else "neither docker nor podman is on PATH"
        raise ToolchainError(f"{missing}; install it or use the launcher wheel")
    return found


def container_name(port: int) -> str:
    """The container's name, of this process and port, so that only ours is ever removed."""
    return f"evalkit-{os.getpid()}-{port}"


def gpu_words(engine: str, gpus: str) -> list[str]:
    """The words that give a container its GPUs."""
    if engine == "podman":
        return [word for number in gpus.split(",") for word in ("--device", f"nvidia.com/gpu={number}")]
    return ["--gpus", "all" if gpus == "all" else f'"device={gpus}"']


LAUNCHER = ContainerLauncher()
