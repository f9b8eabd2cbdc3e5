"""What a benchmark is asked for, and whether that can be done."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from evalkit import registry
from evalkit.bench_summary import check_rules
from evalkit.dataset import Dataset, load_dataset
from evalkit.errors import EvalkitError, UserError, unknown_name
from evalkit.load_plan import LoadPlan
from evalkit.run_record import first_pages
from evalkit.stages.system_server import ServerPlan, describe, has_engine
from evalkit.types import System
from evalkit.workers import worker_count

DEFAULT_SYSTEMS = ("hpd-ar", "hpd-parsing", "tesseract", "rapid-stack")
EMULATE = ("auto", "always", "never")


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """What `bench` is asked for: data, systems, loads, servers, and how requests are sent.

    The answers at the main load of `load` are scored. `allowed` names validity rules that the runs may break.
    `stream`, `chunk_usage`, `warmup` (pages), `order`, `server_cache` and `processes` are as in `InferSettings`,
    `edges` as in `write_bench_summary`. `offline` runs systems that have an engine of their own through its Python API.
    `retry_failed` asks again for pages that ended in error or time-out.
    """

    dataset: str = "mini"
    systems: tuple[str, ...] = ()
    out: Path | None = None
    load: LoadPlan = field(default_factory=LoadPlan)
    limit: int | None = None
    urls: Mapping[str, str] = field(default_factory=dict)
    emulate: str = "auto"
    launcher: str | None = None
    cdm: bool = True
    workers: int | None = None
    timeout_s: float | None = None
    seed: int = 0
    launch: Mapping[str, str] = field(default_factory=dict)
    gpus: int = 1
    allowed: tuple[str, ...] = ()
    stream: bool = True
    chunk_usage: bool = False
    warmup: int = 2
    order: str = "dataset"
    server_cache: str = "auto"
    processes: int | None = None
    edges: tuple[int, ...] = ()
    offline: bool = False
    retry_failed: bool = False

    @property
    def server(self) -> ServerPlan:
        """How the systems' servers are come by. An engine's environment that is named is used."""
        named = "vllm" if "vllm" in self.launch and not self.offline else None
        return ServerPlan(self.urls, self.emulate, self.launcher or named, self.launch, self.gpus, self.seed)


def systems_of(plan: BenchPlan) -> list[System]:
    """The systems in the order in which they run. Raises UserError for an unknown one."""
    named = [registry.load("catalog", "system")(name) for name in plan.systems or DEFAULT_SYSTEMS]
    if plan.offline:
        named = [replace(system, runner="vllm-offline") if has_engine(system) else system for system in named]
    return _baselines_first(_each_once(named))


def resolve(plan: BenchPlan) -> tuple[Dataset, list[System]]:
    """The pages and systems of a plan. Raises UserError for a plan that no system can be run by."""
    dataset = first_pages(load_dataset(plan.dataset), plan.limit)
    systems = systems_of(plan)
    _check(plan, [system.name for system in systems], len(dataset.pages))
    return dataset, systems


@dataclass(frozen=True, slots=True)
class DryRun:
    """What would be started, as shell lines with comments, and whether every system can be."""

    lines: tuple[str, ...]
    startable: bool


def planned(plan: BenchPlan) -> DryRun:
    """What would be started for each system. Raises UserError for a plan that no system can be run by."""
    dataset, systems = resolve(plan)
    sizes = ", ".join(map(str, sorted(set(plan.load.sizes))))
    load = f"{sizes} in flight" if plan.load.shape == "closed" else f"{plan.load.shape}, {plan.load.rate_per_s:g}/s"
    lines: list[str] = []
    startable = True
    for system in systems:
        lines += ["", f"# {system.title}: {len(dataset.pages)} pages of {dataset.name}, {load}"]
        try:
            lines += describe(plan.server, system)
        except EvalkitError as error:
            startable = False
            lines += [f"# cannot be started: {line}" for line in str(error).splitlines()]
    return DryRun(tuple(lines[1:]), startable)


def _check(plan: BenchPlan, systems: Collection[str], pages: int) -> None:
    """Raise UserError for what would fail, or go unheard, in every system."""
    worker_count(plan.workers)
    check_rules(plan.allowed)
    plan.load.check(pages)
    for option, value, least in (
        ("--gpus", plan.gpus, 1),
        ("--warmup", plan.warmup, 0),
        ("--processes", plan.processes, 1),
    ):
        if value is not None and value < least:
            raise UserError(f"{option} must be {least} or more, not {value}")
    if plan.timeout_s is not None and not plan.timeout_s > 0:
        raise UserError(f"--timeout must be above 0 seconds, not {plan.timeout_s:g}")
    if plan.launcher is not None and plan.launcher not in registry.names("launcher"):
        raise unknown_name("launcher", plan.launcher, registry.names("launcher"))
    if plan.emulate not in EMULATE:
        raise unknown_name("way to emulate", plan.emulate, EMULATE)
    if plan.offline and not plan.launch.get("vllm"):
        raise UserError("--offline needs the environment of the engine: give --vllm")
    if plan.offline and plan.load.shape != "closed":
        raise UserError(f"the offline mode runs batches; leave out --arrivals {plan.load.shape}")
    for name in plan.urls:
        if name not in systems:
            raise unknown_name("system of --url", name, systems)


def check_writable(out: Path, systems: Sequence[System]) -> None:
    """Make the folder of the runs. Raises UserError when it, or a run folder that is there, cannot be written."""
    folders = [out, *(folder for system in systems if (folder := out / system.name).exists())]
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            cause = error.strerror or str(error)
            raise UserError(f"{folder}: cannot write there ({cause}). Choose another folder with --out") from error


def named_urls(texts: Sequence[str]) -> dict[str, str]:
    """`SYSTEM=URL` texts as a mapping. Raises UserError for a text without a name or an address."""
    urls = {}
    for text in texts:
        name, _, url = text.partition("=")
        if not name or not url.startswith(("http://", "https://")):
            raise UserError(f"--url {text}: expected SYSTEM=http://…")
        urls[name] = url
    return urls


def _each_once(systems: Sequence[System]) -> list[System]:
    """The systems without repetition. Raises UserError for two that would write to one folder."""
    found: dict[str, System] = {}
    for system in systems:
        if found.setdefault(system.name, system) != system:
            raise UserError(f"--systems: two different systems are called {system.name}; rename one in its file")
    return list(found.values())


def _baselines_first(systems: list[System]) -> list[System]:
    """The systems with every baseline before those whose speed-up is counted against it."""
    baselines = {system.baseline for system in systems}
    return sorted(systems, key=lambda system: system.name not in baselines)
