"""The server of one system in a benchmark: given, emulated or started here, and only when it is first needed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from evalkit import registry
from evalkit.dataset import Dataset
from evalkit.errors import ToolchainError
from evalkit.page_jobs import warmup_jobs
from evalkit.progress import say
from evalkit.serving import Launcher
from evalkit.truth_streams import write_truth_streams
from evalkit.types import PageJob, Served, System

RECORDED_STREAMS = "streams.jsonl"
RECORDED_FORMATS = ("hpd", "hpd_plain")
"""Converters that read what the emulated server answers."""
OFFLINE = "vllm-offline"


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """How servers are come by. `emulate`: auto, always, never; `urls` maps systems to servers that run already.

    `options` holds the launcher's own (vllm, model, cache), `gpus` is for how many GPUs a server each is started.
    """

    urls: Mapping[str, str] = field(default_factory=dict)
    emulate: str = "auto"
    launcher: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    gpus: int = 1
    seed: int = 0


class SystemServer:
    """Starts what a system needs when `served` is first asked for, and stops it at the end of the block."""

    def __init__(self, plan: ServerPlan, system: System, dataset: Dataset, run: Path) -> None:
        self._plan = plan
        self._system = system
        self._dataset = dataset
        self._run = run
        self._stack = ExitStack()
        self._served: Served | None = None
        self._warmup: Sequence[PageJob] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def is_emulated(self) -> bool:
        """Whether the emulated server stands in for the system's own."""
        return is_emulated(self._plan, self._system)

    def served(self) -> Served:
        """The server, started if it does not run yet; without endpoints where the system needs none."""
        if self._served is None:
            self._served = self._start()
        return self._served

    def warmup(self, timed: Sequence[PageJob], count: int) -> Sequence[PageJob]:
        """Pages to warm up on, kept until the end of the block; none for systems that have no chat server."""
        if self._system.runner not in {"openai", OFFLINE}:
            return ()
        if self._warmup is None:
            folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="evalkit-warmup-"))
            self._warmup = warmup_jobs(self._dataset, timed, count, Path(folder))
        return self._warmup

    def _start(self) -> Served:
        name, folder = self._system.name, self._run / "server"
        if self._system.runner == OFFLINE:
            folder.mkdir(parents=True, exist_ok=True)
            return Served((), facts={**self._plan.options, "log": str(folder / "engine.log")})
        if not needs_server(self._system):
            return Served(())
        if name in self._plan.urls:
            return self._launch("url", folder, {"url": self._plan.urls[name]})
        if self.is_emulated:
            note = unread_answers(self._system)
            if note is not None:
                say(f"note: {note}")
            return self._launch("emulated", folder, {"data": str(self._recorded()), "seed": self._plan.seed})
        if self._system.serve.launcher == "url":
            raise ToolchainError(f"needs a running server: give --url {name}=http://…")
        say(f"{name}: starting its server; log: {folder}")
        return self._one_a_gpu(folder)

    def _launch(self, launcher: str, folder: Path, options: Mapping[str, object]) -> Served:
        chosen: Launcher = registry.load("launcher", launcher)
        return self._stack.enter_context(chosen.serve(self._system, folder, options))

    def _one_a_gpu(self, folder: Path) -> Served:
        launcher = self._plan.launcher or self._system.serve.launcher
        options = options_by_gpu(self._plan)
        return self._joined([self._launch(launcher, folder / one.get("gpu", ""), one) for one in options])

    def _joined(self, servers: Sequence[Served]) -> Served:
        differences = [line for served in servers for line in served.facts.get("differences") or ()]
        return Served(
            endpoints=tuple(endpoint for served in servers for endpoint in served.endpoints),
            facts={**servers[0].facts, "differences": differences, "servers": [served.facts for served in servers]},
        )

    def _recorded(self) -> Path:
        """Answers for the emulated server: those recorded beside the data set, else made from its truth."""
        beside = self._dataset.source.parent / RECORDED_STREAMS
        if beside.is_file():
            return beside
        say(f"{self._system.name}: emulated answers are made from the truth of the data set; they measure no parser")
        return write_truth_streams(self._dataset, self._run.parent / "emulated" / RECORDED_STREAMS)


def options_by_gpu(plan: ServerPlan) -> list[dict[str, str]]:
    """The launcher's options of each server: one for each GPU, or a single one that may use all."""
    if plan.gpus == 1:
        return [dict(plan.options)]
    return [{**plan.options, "gpu": str(gpu)} for gpu in range(plan.gpus)]


def describe(plan: ServerPlan, system: System) -> list[str]:
    """What would be started for a system, as shell lines. Nothing is started, and nothing written."""
    if system.runner == OFFLINE:
        return [f"# the engine's Python API in {plan.options.get('vllm', 'the environment of --vllm')}"]
    if not needs_server(system):
        return ["# no server"]
    if system.name in plan.urls or (system.serve.launcher == "url" and plan.launcher is None):
        lines: list[str] = registry.load("launcher", "url").describe(system, {"url": plan.urls.get(system.name)})
        return lines
    if is_emulated(plan, system):
        return ["# emulated: no GPU is used, and nothing is measured"]
    launcher: Launcher = registry.load("launcher", plan.launcher or system.serve.launcher)
    return [line for options in options_by_gpu(plan) for line in launcher.describe(system, options)]


def unread_answers(system: System) -> str | None:
    """Why the emulated server's answers are lost on a system's converter; None where it reads them."""
    converter = system.output.converter
    if converter in RECORDED_FORMATS:
        return None
    return (
        f"{system.name}: the emulated server answers in the format of HPD-Parsing whatever it stands for, "
        f"and the converter {converter} does not read it: the scores and the count of pages mean nothing"
    )


def has_engine(system: System) -> bool:
    """Whether the system is a model that an engine of ours serves, and not a program or a service elsewhere."""
    return system.runner == "openai" and system.serve.launcher != "url"


def is_emulated(plan: ServerPlan, system: System) -> bool:
    """Whether the emulated server stands in for the system's own: asked for, or for want of a GPU.

    A launcher that is asked for by name is used, with or without a GPU.
    """
    served = needs_server(system) and system.name not in plan.urls and system.serve.launcher != "url"
    wanting = plan.emulate == "auto" and plan.launcher is None and not gpu_present()
    return served and (plan.emulate == "always" or wanting)


def needs_server(system: System) -> bool:
    """Whether a server must run for the system: its own, or one that its program talks to."""
    return system.runner in {"openai", "two_stage"} or any("{url}" in word for word in system.command)


def gpu_present() -> bool:
    """Whether an NVIDIA GPU answers here."""
    if shutil.which("nvidia-smi") is None:
        return False
    return subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False).returncode == 0
