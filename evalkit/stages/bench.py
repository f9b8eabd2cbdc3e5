"""The main job: for each system serve, infer, convert, evaluate and measure; then one report of all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from evalkit import registry
from evalkit.bench_summary import FOLDER, why_not_compared, write_bench_summary
from evalkit.dataset import Dataset
from evalkit.errors import EvalkitError, UserError
from evalkit.load_plan import LoadPlan
from evalkit.load_sweep import Agreement, Drives, Sweep, drive_loads
from evalkit.page_jobs import page_jobs
from evalkit.page_sizes import with_image_sizes
from evalkit.progress import progress, say
from evalkit.run_problem import clear_problem, write_problem
from evalkit.run_record import begin_run
from evalkit.speedup import SpeedupRow, write_speedups
from evalkit.stages.bench_plan import BenchPlan, check_writable, resolve
from evalkit.stages.convert import convert_outputs
from evalkit.stages.evaluate import evaluate
from evalkit.stages.infer import InferReport, infer, infer_report, is_inferred
from evalkit.stages.system_server import SystemServer
from evalkit.store import locked
from evalkit.types import InferSettings, Load, OutputFacts, Provenance, Summary, System


@dataclass(frozen=True, slots=True)
class SystemResult:
    """One system's part of a benchmark: its run folder and scores, or why there are none.

    `missing_pages` counts the pages without an answer, which are scored as empty ones. `load_problem` says why the
    drives beside the main one were not all made. `broken_rules` names the validity rules that void its speed.
    """

    system: str
    run: Path
    emulated: bool = False
    missing_pages: int = 0
    summary: Summary | None = None
    speed: Mapping[str, float | None] = field(default_factory=dict)
    problem: str | None = None
    sweep: Sweep | None = None
    agreement: Agreement | None = None
    load_problem: str | None = None
    broken_rules: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every page was answered and scored, every drive made, and repeated ones agree."""
        agrees = self.agreement is None or self.agreement.agrees
        return agrees and self.problem is None and self.load_problem is None and not self.missing_pages


@dataclass(frozen=True, slots=True)
class BenchResult:
    """All systems of a benchmark, and the report made of them."""

    out: Path
    systems: tuple[SystemResult, ...]
    report: Path | None = None
    speedups: tuple[SpeedupRow, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every system's part is complete."""
        return all(result.complete for result in self.systems)


def bench(plan: BenchPlan) -> BenchResult:
    """Run the plan. A system that cannot run costs its own row, with the reason; the others go on.

    Raises UserError for a plan that no system can be run by, before anything is started or written.
    """
    found, systems = resolve(plan)
    dataset = with_image_sizes(found)
    out = plan.out or default_folder(dataset.name, plan.load)
    check_writable(out, systems)
    cdm = plan.cdm and _cdm_works()
    results: list[SystemResult] = []
    for number, system in enumerate(systems, start=1):
        where = f"{len(dataset.pages)} pages of {dataset.name} -> {out / system.name}"
        say(f"[{number}/{len(systems)}] {system.title}: {where}")
        results.append(_result(_SystemBench(plan, dataset, system, out, cdm), system))
    done = [result.run for result in results if result.problem is None]
    rows = write_speedups(out, done)
    report = _report([result.run for result in results], out / "report") if done else None
    return BenchResult(out, tuple(results), report, tuple(rows))


def default_folder(dataset: str, load: LoadPlan) -> Path:
    """Where runs go that are given no place: runs/mini-bs16, or runs/mini-first-3-bs16 for a set cut to 3 pages."""
    named = re.sub(r"\[:(\d+)\]$", r"-first-\1", dataset)
    safe = re.sub(r"[^\w.-]+", "-", named).strip("-")
    return Path("runs") / f"{safe}-{load.name}"


def _result(job: _SystemBench, system: System) -> SystemResult:
    """What came of one system; why nothing did is kept in its run folder too."""
    try:
        result = job.run()
    except EvalkitError as error:
        say(f"{system.name}: {error}")
        with suppress(UserError):
            write_problem(job.folder, system, str(error))
        return SystemResult(system.name, job.folder, problem=str(error))
    clear_problem(job.folder)
    return result


def _report(runs: Sequence[Path], out: Path) -> Path | None:
    """The report's first page, or None when there is no report to make."""
    if "site" not in registry.names("report"):
        return None
    page: Path = registry.load("report", "site")(runs, out)
    return page


def _cdm_works() -> bool:
    """Whether the TeX toolchain is sound; when not, says loudly that formulas stay without CDM."""
    if "tex" not in registry.names("doctor"):
        return False
    broken = [check for check in registry.load("doctor", "tex")() if check.state in {"missing", "broken"}]
    for check in broken:
        say(f"NOT SCORED: formula_cdm. {check.name}: {check.message}. Cure: {check.remedy}")
    return not broken


def _variant(output: OutputFacts) -> str | None:
    """The variant that the system names, where its converter knows it; else the converter's first."""
    return output.variant if output.variant in registry.load("converter", output.converter).variants else None


class _SystemBench:
    """The stages of one system."""

    def __init__(self, plan: BenchPlan, dataset: Dataset, system: System, out: Path, cdm: bool) -> None:
        self._plan = plan
        self._dataset = dataset
        self._system = system
        self._out = out
        self._cdm = cdm
        self._jobs = page_jobs(dataset)
        self.folder = out / system.name

    def run(self) -> SystemResult:
        """Everything of the system. The server runs only while pages are driven, and only when some are left."""
        with (
            locked(self.folder / FOLDER),
            SystemServer(self._plan.server, self._system, self._dataset, self.folder) as server,
        ):
            emulated = server.is_emulated
            begin_run(self.folder, self._dataset, system=self._system, emulated=emulated, limit=self._plan.limit)
            result = self._drive_all(server, emulated)
        output = self._system.output
        pages = [truth.page for truth in self._dataset.pages]
        convert_outputs(self.folder, pages, output.converter, _variant(output))
        summary = evaluate(self.folder, self._dataset, self.folder, cdm=self._cdm, workers=self._plan.workers)
        figures = write_bench_summary(
            self.folder,
            dataset=self._dataset,
            baseline=self._reference(),
            allowed=self._plan.allowed,
            edges=self._plan.edges,
        )
        return replace(
            result,
            summary=summary,
            speed={name: figure.value for name, figure in figures["figures"].items()},
            emulated=result.emulated or figures["provenance"] is Provenance.EMULATED,
            broken_rules=tuple(figures["broken_rules"]),
        )

    def _drive_all(self, server: SystemServer, emulated: bool) -> SystemResult:
        """The main drive, whose answers are scored, then those that only add to the figures of speed."""

        unanswered: dict[str, int] = {}

        def drive(folder: Path, load: Load) -> InferReport:
            report = self._drive(server, folder, load)
            if folder != self.folder and report.unanswered:
                unanswered[folder.name] = report.unanswered
            return report

        plan = self._plan
        report = drive(self.folder, plan.load.main)
        result = SystemResult(self._system.name, self.folder, emulated, report.unanswered)
        if report.missing:
            return result
        drives = Drives(self.folder, drive, len(self._jobs), self._dataset, self._baseline(), plan.allowed, plan.edges)
        try:
            swept, agreement = drive_loads(plan.load, drives)
        except EvalkitError as error:  # the main drive is done, and is scored
            say(f"{self._system.name}: {error}")
            return replace(result, load_problem=str(error))
        lacking = [f"{count} pages of {name} have no answer" for name, count in unanswered.items()]
        return replace(result, sweep=swept, agreement=agreement, load_problem="; ".join(lacking) or None)

    def _drive(self, server: SystemServer, folder: Path, load: Load) -> InferReport:
        plan = self._plan
        settings = InferSettings(
            system=self._system,
            load=load,
            stream=plan.stream,
            chunk_usage=plan.chunk_usage,
            timeout_s=load.page_timeout_s() if plan.timeout_s is None else plan.timeout_s,
            order=plan.order,
            seed=plan.seed,
            processes=plan.processes,
            cache=plan.server_cache,
        )
        if is_inferred(folder, self._jobs, settings, retry_failed=plan.retry_failed):
            return infer_report(folder, self._jobs)
        served, warmup = server.served(), server.warmup(self._jobs, plan.warmup)
        settings = replace(settings, endpoints=served.endpoints, warmup=tuple(warmup), launch=served.facts)
        title = f"infer {self._system.name}" + ("" if folder == self.folder else f" {folder.name}")
        with progress(title, len(self._jobs)) as shown:
            report = infer(folder, self._jobs, settings, retry_failed=plan.retry_failed, on_progress=shown.update)
        for note in report.notes:
            say(f"note: {note}")
        return report

    def _reference(self) -> Path | None:
        """The baseline's run, where the main drive can be set against it; else says why not."""
        baseline = self._baseline()
        reason = why_not_compared(baseline, self.folder) if baseline is not None else None
        if reason is not None:
            say(f"note: {self._system.name} is not set against {self._system.baseline}: {reason}")
        return baseline if reason is None else None

    def _baseline(self) -> Path | None:
        folder = self._out / (self._system.baseline or "")
        return folder if self._system.baseline and (folder / "infer").is_dir() else None
