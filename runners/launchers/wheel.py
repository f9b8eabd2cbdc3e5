"""Launcher of a vendor's wheel in a virtual environment of its own, made once, with weights checked by sha256."""

from __future__ import annotations

import hashlib
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalkit.errors import ToolchainError, UserError
from evalkit.types import Served, System
from runners.launchers.diagnosis import explain
from runners.launchers.preflight import require_cuda
from runners.launchers.process import START_TIMEOUT_S, LaunchPlan, running
from runners.launchers.vllm import served, vllm_plan
from runners.launchers.weights import cache_folder, ensure_weights, fetch_words, make_folder, weights_folder

READY = ".evalkit-ready"


class WheelLauncher:
    """Makes the engine's environment from the system's `wheel`, fetches its weights, and starts `vllm serve`.

    Options: cache (folder of engines and weights), model (folder of weights that are there), gpu (its number), port,
    host, start_timeout_s.
    """

    def describe(self, system: System, options: Mapping[str, Any]) -> list[str]:
        """What would be run, as shell lines."""
        engine, weights = self._engine(system, options), self._weights(system, options)
        lines = [] if (engine / READY).exists() else [shlex.join(words) for words in install_words(system, engine)]
        if not options.get("model"):
            lines.append(shlex.join(fetch_words(str(engine / "bin" / "python"), system, weights)))
        return [*lines, *self._plan(system, engine, weights, options).lines()]

    @contextmanager
    def serve(self, system: System, folder: Path, options: Mapping[str, Any]) -> Iterator[Served]:
        """A healthy server for the time of the block; what it says of itself is checked against what was asked."""
        require_cuda(system.serve.details.get("cuda"))
        engine, weights = self._engine(system, options), self._weights(system, options)
        ensure_engine(system, engine)
        if not options.get("model"):
            ensure_weights(str(engine / "bin" / "python"), system, weights)
        plan = self._plan(system, engine, weights, options)
        timeout_s = float(options.get("start_timeout_s", START_TIMEOUT_S))
        with running(plan, system.name, folder, start_timeout_s=timeout_s) as log:
            yield served(system, plan, {"weights": str(weights)}, log)

    def _engine(self, system: System, options: Mapping[str, Any]) -> Path:
        return engine_folder(system, Path(options.get("cache") or cache_folder()))

    def _weights(self, system: System, options: Mapping[str, Any]) -> Path:
        own = options.get("model")
        return Path(own).absolute() if own else weights_folder(system, Path(options.get("cache") or cache_folder()))

    def _plan(self, system: System, engine: Path, weights: Path, options: Mapping[str, Any]) -> LaunchPlan:
        return vllm_plan(system, str(engine / "bin" / "vllm"), str(weights), options)


def engine_folder(system: System, cache: Path) -> Path:
    """Where the environment of a system's wheel lies, one for each wheel."""
    wheel = system.serve.details.get("wheel")
    if not wheel:
        raise UserError(f"{system.name} names no wheel; use the launcher vllm, container or url")
    return cache / "engines" / hashlib.sha256(str(wheel).encode()).hexdigest()[:16]


def install_words(system: System, engine: Path) -> list[list[str]]:
    """The commands that make the environment."""
    python = str(engine / "bin" / "python")
    extra = [str(word) for word in system.serve.details.get("packages", ())]
    return [
        [sys.executable, "-m", "venv", str(engine)],
        [python, "-m", "pip", "install", "--quiet", str(system.serve.details["wheel"]), "huggingface_hub", *extra],
    ]


def ensure_engine(system: System, engine: Path) -> None:
    """Make the environment unless it is complete; half of one is removed. Raises ToolchainError when it cannot be."""
    if (engine / READY).exists():
        return
    shutil.rmtree(engine, ignore_errors=True)
    make_folder(engine.parent)
    for words in install_words(system, engine):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            shutil.rmtree(engine, ignore_errors=True)
            text = done.stderr + done.stdout
            cause = (text.strip().splitlines() or ["no message"])[-1][:300]
            wheel = system.serve.details["wheel"]
            raise ToolchainError(
                f"the wheel of {system.name} cannot be installed ({cause}). {_remedy(text)}\nwheel: {wheel}"
            )
    (engine / READY).write_text(str(system.serve.details["wheel"]))


def _remedy(text: str) -> str:
    if "is not a supported wheel on this platform" in text:
        return "It needs Linux on x86-64 and Python 3.10 to 3.13."
    if "404" in text or "Could not find" in text or "No such file" in text:
        return "It is not at its address any more: download it elsewhere and name its path in the system's `wheel`."
    if "Connection" in text or "Temporary failure" in text or "timed out" in text:
        return "The network does not reach its address."
    return explain(text)


LAUNCHER = WheelLauncher()
