"""What the command line does, as calls that return values."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit import registry
from evalkit.dataset import Dataset, load_dataset
from evalkit.errors import InvalidFileError, UserError
from evalkit.prediction_files import check_folder
from evalkit.run_record import FILE as RUN_FILE
from evalkit.run_record import begin_run, check_data_set
from evalkit.stages import evaluate as evaluate_stage
from evalkit.stages.page_scoring import DEFAULT_PROTOCOL, page_workers
from evalkit.types import DoctorCheck, PairScore, Summary

if TYPE_CHECKING:
    from evalkit.comparison import Comparison
    from evalkit.gating.verdict import GateResult
    from evalkit.load_sweep import Sweep
    from evalkit.stages.bench import BenchResult
    from evalkit.stages.convert import ConvertReport
    from evalkit.stages.infer import InferReport

__all__ = [
    "bench",
    "compare",
    "convert",
    "doctor",
    "evaluate",
    "gate",
    "infer",
    "load_dataset",
    "names",
    "report",
    "rows",
    "score",
    "simulate",
    "speed",
    "sweep",
]

Source = str | Path


def bench(
    dataset: str = "mini", systems: Sequence[str] = (), *, in_flight: int | Sequence[int] = 16, **options: Any
) -> BenchResult:
    """The main job over several systems, scored at the largest load of those in flight.

    `options` are the fields of `evalkit.stages.bench_plan.BenchPlan`, of which `load` says more than `in_flight` can.
    """
    from evalkit.load_plan import LoadPlan
    from evalkit.stages.bench import bench as run
    from evalkit.stages.bench_plan import BenchPlan

    sizes = (in_flight,) if isinstance(in_flight, int) else tuple(in_flight)
    if options.get("out") is not None:
        options["out"] = Path(options["out"])
    return run(BenchPlan(dataset=dataset, systems=tuple(systems), **{"load": LoadPlan(sizes), **options}))


def infer(
    run: Source,
    system: str,
    dataset: Source | Dataset,
    *,
    endpoints: Sequence[str] = (),
    in_flight: int = 16,
    **settings: Any,
) -> InferReport:
    """Drive a system over a data set's pages; `settings` are further fields of `evalkit.types.InferSettings`."""
    from evalkit.page_jobs import page_jobs
    from evalkit.stages.infer import infer as drive
    from evalkit.types import InferSettings, Load

    facts = InferSettings(
        system=registry.load("catalog", "system")(system),
        endpoints=tuple(endpoints),
        load=Load("closed", in_flight),
        **settings,
    )
    return drive(Path(run), page_jobs(_dataset(dataset)), facts)


def speed(
    run: Source,
    dataset: Source | Dataset | None = None,
    *,
    baseline: Source | None = None,
    allowed: Sequence[str] = (),
    edges: Sequence[int] = (),
) -> dict[str, Any]:
    """The figures of speed of a run's answers, as bench/summary.json holds them; `baseline` is the run of the baseline.

    With a data set there are figures by attribute and content too. `allowed` names validity rules that may be broken.
    `edges` (output tokens, ascending from 0) adds buckets by length of one's own.
    """
    from evalkit.bench_summary import write_bench_summary

    loaded = None if dataset is None else _dataset(dataset)
    other = None if baseline is None else Path(baseline)
    return write_bench_summary(Path(run), dataset=loaded, baseline=other, allowed=allowed, edges=edges)


def sweep(
    run: Source,
    system: str,
    dataset: Source | Dataset,
    *,
    endpoints: Sequence[str],
    in_flight: Sequence[int],
    **settings: Any,
) -> Sweep:
    """Drive a data set's pages once at each of some loads in flight: the largest in `run`, others in `run`/bs-N."""
    from evalkit.load_plan import LoadPlan
    from evalkit.load_sweep import Drives
    from evalkit.load_sweep import sweep as drive_all
    from evalkit.page_jobs import page_jobs
    from evalkit.stages.infer import infer as drive
    from evalkit.types import InferSettings, Load

    loaded = _dataset(dataset)
    jobs = page_jobs(loaded)

    def point(folder: Path, load: Load) -> InferReport:
        asked = {"timeout_s": load.page_timeout_s(), **settings, "load": load}
        return drive(folder, jobs, InferSettings(registry.load("catalog", "system")(system), tuple(endpoints), **asked))

    plan = LoadPlan(tuple(in_flight))
    plan.check(len(jobs))
    return drive_all(Drives(Path(run), point, len(jobs), loaded), plan)


def convert(run: Source, dataset: Source | Dataset, converter: str, variant: str | None = None) -> ConvertReport:
    """Turn the raw outputs of a run into predictions."""
    from evalkit.page_sizes import pages_with_image_sizes
    from evalkit.stages.convert import convert_outputs

    return convert_outputs(Path(run), pages_with_image_sizes(_dataset(dataset)), converter, variant)


def evaluate(
    predictions: Source,
    dataset: Source | Dataset,
    *,
    out: Source | None = None,
    cdm: bool = True,
    workers: int | None = None,
    protocol: str = DEFAULT_PROTOCOL,
    options: Mapping[str, str] | None = None,
) -> Summary:
    """Score a folder of `<page>.md` files against a data set (name, JSON file, folder or loaded).

    `out` is the run folder to write, named in run.json if it is new; None keeps nothing on disk. With `cdm=False`
    formulas have no CDM and there is no overall figure. Raises UserError for what cannot be read, ToolchainError when
    CDM has no working TeX.
    """
    with ExitStack() as stack:
        check_folder(Path(predictions))
        pool = stack.enter_context(page_workers(Path(predictions), workers, protocol))
        loaded = _dataset(dataset)
        if out is None:
            out = stack.enter_context(tempfile.TemporaryDirectory(prefix="evalkit-evaluate-"))
        elif (Path(out) / RUN_FILE).exists():
            check_data_set(Path(out), loaded)
        else:
            begin_run(Path(out), loaded, title=Path(predictions).resolve().name)
        return evaluate_stage.evaluate(
            *(Path(predictions), loaded, Path(out)),
            cdm=cdm,
            workers=workers,
            protocol=protocol,
            options=options,
            pool=pool,
        )


def score(metric: str, pairs: Sequence[tuple[str, str]], *, workers: int = 1) -> list[PairScore]:
    """(gt, pred) pairs scored with one metric, in their order."""
    chosen = registry.load("metric", metric)
    if hasattr(chosen, "score_many"):
        return list(chosen.score_many(list(pairs), workers=workers))
    if not hasattr(chosen, "score"):
        raise UserError(f"metric {metric} scores records, not pairs of texts; see `evalkit score --help`")
    return [chosen.score(gt, pred) for gt, pred in pairs]


def report(runs: Sequence[Source], out: Source) -> Path:
    """Make the HTML report of runs; returns its first page."""
    page: Path = registry.load("report", "site")([Path(run) for run in runs], Path(out))
    return page


def gate(
    baseline: Source | Sequence[Source],
    candidate: Source | Sequence[Source],
    config: Source | None = None,
    **options: Any,
) -> GateResult:
    """Judge a run against a baseline; nothing is written. `options` are those of `evalkit.gating.judge.judge`."""
    from evalkit.baseline import load_baseline_side, load_side
    from evalkit.gating.config import DEFAULT, load_config
    from evalkit.gating.judge import judge

    rules = DEFAULT if config is None else load_config(Path(config))
    after = load_side(_paths(candidate))
    return judge(load_baseline_side(_paths(baseline), after), after, rules, **options)


def compare(first: Source, second: Source, *, by: str | None = None, top: int = 5) -> Comparison:
    """Where two runs or baselines differ, with intervals. Raises NotComparableError when they must not be compared."""
    from evalkit.baseline import load_side
    from evalkit.comparison import compare as differences
    from evalkit.errors import NotComparableError
    from evalkit.gating.validity import incomparabilities

    left, right = load_side([Path(first)]), load_side([Path(second)])
    reasons = incomparabilities(left, right, ())
    if reasons:
        raise NotComparableError("these runs must not be compared: " + "; ".join(reasons))
    return differences(left, right, by=by, top=top)


def simulate(**grid: Any) -> Any:
    """A grid of simulated figures; the arguments are those of `runners.emulator.grid.run_grid`."""
    return registry.load("simulator", "grid")(**grid)


def doctor(*names: str) -> list[DoctorCheck]:
    """Findings about this machine, of the named areas and systems or of all areas."""
    from evalkit.diagnosis import diagnose

    return diagnose(names)


def names(kind: str) -> list[dict[str, Any]]:
    """What can be named: systems, metrics, datasets, protocols, converters, runners, published."""
    from evalkit.catalog import catalog

    return catalog(kind)


def rows(path: Source) -> list[dict[str, Any]]:
    """The rows of any JSONL file of a run, without its header line; ready for `pandas.json_normalize`."""
    found = []
    with open(path, encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            try:
                row = json.loads(line)
            except ValueError as error:
                raise InvalidFileError(str(path), [f"line {number}: not valid JSON"]) from error
            if not (number == 1 and isinstance(row, dict) and "schema" in row):
                found.append(row)
    return found


def _dataset(dataset: Source | Dataset) -> Dataset:
    return dataset if isinstance(dataset, Dataset) else load_dataset(str(dataset))


def _paths(sources: Source | Sequence[Source]) -> list[Path]:
    return [Path(sources)] if isinstance(sources, str | Path) else [Path(source) for source in sources]
