"""The main job: for each system serve, infer, convert, evaluate and measure; then one report of all."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from evalkit import registry
from evalkit.bench_summary import check_rules, write_bench_summary
from evalkit.dataset import Dataset, load_dataset
from evalkit.errors import EvalkitError, ToolchainError, UserError, unknown_name
from evalkit.page_jobs import page_jobs, warmup_jobs
from evalkit.page_sizes import with_image_sizes
from evalkit.progress import progress, say
from evalkit.run_record import begin_run, first_pages
from evalkit.serving import Launcher
from evalkit.speedup import SpeedupRow, write_speedups
from evalkit.stages.convert import convert_outputs
from evalkit.stages.evaluate import evaluate
from evalkit.stages.infer import infer, infer_report, is_inferred
from evalkit.truth_streams import write_truth_streams
from evalkit.types import InferSettings, Load, OutputFacts, Served, Summary, System
from evalkit.workers import worker_count

DEFAULT_SYSTEMS = ("hpd-ar", "hpd-parsing", "tesseract", "rapid-stack")
WARMUP_PAGES = 2
EMULATE = ("auto", "always", "never")
RECORDED_STREAMS = "streams.jsonl"


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """What `bench` is asked for. `urls` maps systems to servers that run already; `emulate`: auto, always, never.

    `launch` holds the launcher's options (vllm, model, cache), `gpus` is for how many GPUs a server each is started.
    `allowed` names validity rules that the runs may break.
    """

    dataset: str = "mini"
    systems: tuple[str, ...] = ()
    out: Path | None = None
    in_flight: int = 16
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


@dataclass(frozen=True, slots=True)
class SystemResult:
    """One system's part of a benchmark: its run folder and scores, or why there are none.

    `missing_pages` counts the pages without an answer, which are scored as empty ones.
    """

    system: str
    run: Path
    emulated: bool = False
    missing_pages: int = 0
    summary: Summary | None = None
    speed: Mapping[str, float | None] = field(default_factory=dict)
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class BenchResult:
    """All systems of a benchmark, and the report made of them."""

    out: Path
    systems: tuple[SystemResult, ...]
    report: Path | None = None
    speedups: tuple[SpeedupRow, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every system answered every page and was scored."""
        return all(result.problem is None and not result.missing_pages for result in self.systems)


def bench(plan: BenchPlan) -> BenchResult:
    """Run the plan. A system that cannot run costs its own row, with the reason; the others go on.

    Raises UserError for a plan that no system can be run by, before anything is started or written.
    """
    dataset = with_image_sizes(first_pages(load_dataset(plan.dataset), plan.limit))
    systems = _baselines_first([registry.load("catalog", "system")(name) for name in plan.systems or DEFAULT_SYSTEMS])
    _check(plan, [system.name for system in systems])
    out = plan.out or Path("runs") / f"{dataset.name}-bs{plan.in_flight}"
    cdm = plan.cdm and _cdm_works()
    results: list[SystemResult] = []
    for number, system in enumerate(systems, start=1):
        where = f"{len(dataset.pages)} pages of {dataset.name} -> {out / system.name}"
        say(f"[{number}/{len(systems)}] {system.title}: {where}")
        try:
            results.append(_SystemBench(plan, dataset, system, out, cdm).run())
        except EvalkitError as error:
            say(f"{system.name}: {error}")
            results.append(SystemResult(system.name, out / system.name, problem=str(error)))
    done = [result.run for result in results if result.problem is None]
    rows = write_speedups(out, done)
    return BenchResult(out, tuple(results), _report(done, out / "report"), tuple(rows))


def _check(plan: BenchPlan, systems: Collection[str]) -> None:
    """Raise UserError for what would fail, or go unheard, in every system."""
    worker_count(plan.workers)
    check_rules(plan.allowed)
    for option, value in (("--bs", plan.in_flight), ("--gpus", plan.gpus)):
        if value < 1:
            raise UserError(f"{option} must be 1 or more, not {value}")
    if plan.timeout_s is not None and not plan.timeout_s > 0:
        raise UserError(f"--timeout must be above 0 seconds, not {plan.timeout_s:g}")
    if plan.launcher is not None and plan.launcher not in registry.names("launcher"):
        raise unknown_name("launcher", plan.launcher, registry.names("launcher"))
    if plan.emulate not in EMULATE:
        raise unknown_name("way to emulate", plan.emulate, EMULATE)
    for name in plan.urls:
        if name not in systems:
            raise unknown_name("system of --url", name, systems)


def _report(runs: Sequence[Path], out: Path) -> Path | None:
    """The report's first page, or None when there is no run to report."""
    if not runs or "site" not in registry.names("report"):
        return None
    page: Path = registry.load("report", "site")(runs, out)
    return page


def named_urls(texts: Sequence[str]) -> dict[str, str]:
    """`SYSTEM=URL` texts as a mapping. Raises UserError for a text without a name or an address."""
    urls = {}
    for text in texts:
        name, _, url = text.partition("=")
        if not name or not url.startswith(("http://", "https://")):
            raise UserError(f"--url {text}: expected SYSTEM=http://…")
        urls[name] = url
    return urls


def _baselines_first(systems: list[System]) -> list[System]:
    """The systems with every baseline before those whose speed-up is counted against it."""
    baselines = {system.baseline for system in systems}
    return sorted(systems, key=lambda system: system.name not in baselines)


def _cdm_works() -> bool:
    """Whether the TeX toolchain is sound; when not, says loudly that formulas stay without CDM."""
    if "tex" not in registry.names("doctor"):
        return False
    broken = [check for check in registry.load("doctor", "tex")() if check.state in {"missing", "broken"}]
    for check in broken:
        say(f"NOT SCORED: formula_cdm. {check.name}: {check.message}. Cure: {check.remedy}")
    return not broken


def _needs_server(system: System) -> bool:
    """Whether a server must run for the system: its own, or one that its program talks to."""
    return system.runner in {"openai", "two_stage"} or any("{url}" in word for word in system.command)


def _variant(output: OutputFacts) -> str | None:
    """The variant that the system names, where its converter knows it; else the converter's first."""
    return output.variant if output.variant in registry.load("converter", output.converter).variants else None


def gpu_present() -> bool:
    """Whether an NVIDIA GPU answers here."""
    if shutil.which("nvidia-smi") is None:
        return False
    return subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False).returncode == 0


class _SystemBench:
    """The stages of one system."""

    def __init__(self, plan: BenchPlan, dataset: Dataset, system: System, out: Path, cdm: bool) -> None:
        self._plan = plan
        self._dataset = dataset
        self._system = system
        self._out = out
        self._run = out / system.name
        self._cdm = cdm

    def run(self) -> SystemResult:
        emulated = self._is_emulated()
        begin_run(self._run, self._dataset, system=self._system, emulated=emulated, limit=self._plan.limit)
        missing = self._infer(emulated)
        output = self._system.output
        pages = [truth.page for truth in self._dataset.pages]
        convert_outputs(self._run, pages, output.converter, _variant(output))
        summary = evaluate(self._run, self._dataset, self._run, cdm=self._cdm, workers=self._plan.workers)
        figures = write_bench_summary(
            self._run, dataset=self._dataset, baseline=self._baseline(), allowed=self._plan.allowed
        )
        speed = {name: figure.value for name, figure in figures["figures"].items()}
        return SystemResult(self._system.name, self._run, emulated, missing, summary, speed)

    def _is_emulated(self) -> bool:
        served = _needs_server(self._system) and self._system.name not in self._plan.urls
        served = served and self._system.serve.launcher != "url"
        return served and (self._plan.emulate == "always" or (self._plan.emulate == "auto" and not gpu_present()))

    def _baseline(self) -> Path | None:
        folder = self._out / (self._system.baseline or "")
        return folder if self._system.baseline and (folder / "infer").is_dir() else None

    def _infer(self, emulated: bool) -> int:
        jobs = page_jobs(self._dataset)
        load, timeout_s = Load("closed", self._plan.in_flight), self._plan.timeout_s
        settings = InferSettings(
            system=self._system,
            load=load,
            timeout_s=load.page_timeout_s() if timeout_s is None else timeout_s,
            seed=self._plan.seed,
        )
        if is_inferred(self._run, jobs, settings):
            return infer_report(self._run, jobs).unanswered
        with self._served(emulated) as served, tempfile.TemporaryDirectory(prefix="evalkit-warmup-") as folder:
            chat = self._system.runner == "openai"
            warmup = warmup_jobs(self._dataset, jobs, WARMUP_PAGES, Path(folder)) if chat else []
            settings = replace(settings, endpoints=served.endpoints, warmup=tuple(warmup), launch=served.facts)
            with progress(f"infer {self._system.name}", len(jobs)) as shown:
                report = infer(self._run, jobs, settings, on_progress=shown.update)
        for note in report.notes:
            say(f"note: {note}")
        return report.unanswered

    @contextmanager
    def _served(self, emulated: bool) -> Iterator[Served]:
        url = self._plan.urls.get(self._system.name)
        if not _needs_server(self._system):
            yield Served(())
        elif url is not None:
            with registry.load("launcher", "url").serve(self._system, self._run / "server", {"url": url}) as served:
                yield served
        elif not emulated and self._system.serve.launcher == "url":
            raise ToolchainError(f"needs a running server: give --url {self._system.name}=http://…")
        elif emulated:
            options = {"data": str(self._recorded()), "seed": self._plan.seed}
            with registry.load("launcher", "emulated").serve(self._system, self._run / "server", options) as served:
                yield served
        else:
            with self._launched(
                registry.load("launcher", self._plan.launcher or self._system.serve.launcher)
            ) as served:
                yield served

    @contextmanager
    def _launched(self, launcher: Launcher) -> Iterator[Served]:
        """The system's own server, one for each GPU."""
        say(f"{self._system.name}: starting its server; log: {self._run / 'server'}")
        with ExitStack() as stack:
            servers = []
            for gpu in range(self._plan.gpus):
                options = {**self._plan.launch, **({"gpu": str(gpu)} if self._plan.gpus > 1 else {})}
                folder = self._run / "server" / (str(gpu) if self._plan.gpus > 1 else "")
                servers.append(stack.enter_context(launcher.serve(self._system, folder, options)))
            differences = [line for served in servers for line in served.facts.get("differences") or ()]
            yield Served(
                endpoints=tuple(endpoint for served in servers for endpoint in served.endpoints),
                facts={**servers[0].facts, "differences": differences, "servers": [served.facts for served in servers]},
            )

    def _recorded(self) -> Path:
        """Answers for the emulated server: those recorded beside the data set, else made from its truth."""
        beside = self._dataset.source.parent / RECORDED_STREAMS
        if beside.is_file():
            return beside
        say(f"{self._system.name}: emulated answers are made from the truth of the data set; they measure no parser")
        return write_truth_streams(self._dataset, self._out / "emulated" / RECORDED_STREAMS)
