"""`evalkit infer`: drive a parser over the page images of a data set."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalkit import registry
from evalkit.bench_summary import check_rules, figures_table, why_not_compared, write_bench_summary
from evalkit.cli.load_arguments import add_load_arguments, load_plan
from evalkit.dataset import load_dataset
from evalkit.errors import UserError
from evalkit.load_plan import LoadPlan, parse_edges
from evalkit.load_sweep import Drives, drive_loads
from evalkit.load_table import told
from evalkit.page_jobs import page_jobs, warmup_jobs
from evalkit.progress import progress, say
from evalkit.stages.infer import InferReport, infer
from evalkit.store import dumps
from evalkit.types import InferSettings, Load, System

HELP = """
example: evalkit infer runs/hpd --system hpd-parsing --dataset mini --endpoint http://127.0.0.1:8118 --bs 64

Drives a parser over the pages of a data set and logs every answer with its times and tokens in RUN/infer.
Interrupted, the same command goes on where it stopped. --system takes a name (evalkit list systems) or a TOML file.
With --bs 16,64,512 the largest is driven in RUN, each other in a folder of its own (RUN/bs-16 …), and RUN/sweep.json
compares them; --max-latency searches for the most requests in flight that keep the p95 latency within a limit.
--repeat 3 drives one load three times and says whether the rates agree, or why not (exit code 3).
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `evalkit infer`."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run")
    parser.add_argument("--system", required=True, metavar="NAME|TOML", help="the parser")
    parser.add_argument("--dataset", default="mini", help="name, JSON file or folder")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N pages")
    parser.add_argument(
        "--endpoint", action="append", default=[], metavar="URL", help="a running server; repeat for several"
    )
    add_load_arguments(parser)
    offline = parser.add_argument_group("the engine's Python API in batches of --bs, without a server")
    offline.add_argument("--offline", action="store_true", help="as the vendors' own benchmark scripts do")
    offline.add_argument("--vllm", metavar="ENV", help="environment that holds the engine")
    offline.add_argument("--weights", metavar="DIR", help="folder of the weights")
    parser.add_argument("--retry-failed", action="store_true", help="ask again for pages that failed")
    parser.add_argument("--baseline", type=Path, metavar="RUN", help="run that speed-ups are counted against")
    parser.add_argument("--allow", action="append", default=[], metavar="RULE", help="validity rule that may be broken")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the stage; 0 when every page has an answer, 3 when some have none or repeated drives do not agree."""
    dataset = load_dataset(args.dataset)
    system: System = registry.load("catalog", "system")(args.system)
    if args.offline:
        system = replace(system, runner="vllm-offline")
    check_rules(args.allow)
    jobs = page_jobs(dataset, args.limit)
    plan = load_plan(args)
    plan.check(len(jobs))
    edges = parse_edges(args.edges)
    _check_baseline(args.baseline, args.run, plan)
    reports: list[InferReport] = []
    with tempfile.TemporaryDirectory(prefix="evalkit-warmup-") as folder:
        served = system.runner in {"openai", "vllm-offline"}
        warmup = warmup_jobs(dataset, jobs, args.warmup, Path(folder)) if served else []
        settings = InferSettings(
            system=system,
            endpoints=tuple(args.endpoint),
            stream=not args.no_stream,
            chunk_usage=args.chunk_usage,
            warmup=tuple(warmup),
            order=args.order,
            seed=args.seed,
            processes=args.processes,
            cache=args.server_cache,
            launch=_launch(args) if args.offline else {},
        )

        def drive(into: Path, load: Load) -> None:
            timeout_s = load.page_timeout_s() if args.timeout is None else args.timeout
            asked = replace(settings, load=load, timeout_s=timeout_s)
            with progress(f"infer {system.name}", len(jobs)) as shown:
                report = infer(into, jobs, asked, retry_failed=args.retry_failed, on_progress=shown.update)
            reports.append(report)
            for note in report.notes:
                say(f"note: {note}")

        drives = Drives(args.run, drive, len(jobs), dataset, args.baseline, tuple(args.allow), edges)
        swept, agreement = drive_loads(plan, drives)
    if swept is not None or agreement is not None:
        print(dumps(agreement or swept, indent=2) if args.json else told(swept, agreement))
    else:
        summary = write_bench_summary(
            args.run, dataset=dataset, baseline=args.baseline, allowed=args.allow, edges=edges
        )
        _print(reports[0], summary, args.run, args.json)
    agrees = agreement is None or agreement.agrees
    return 0 if agrees and not any(report.unanswered for report in reports) else 3


def _check_baseline(baseline: Path | None, run: Path, plan: LoadPlan) -> None:
    """Raise UserError, before the drive, for a baseline that it cannot be set against."""
    if baseline is None:
        return
    reason = why_not_compared(baseline, run, None if plan.is_swept else plan.main)
    if reason is not None:
        raise UserError(f"--baseline {baseline}: {run} is not compared with it: {reason}")


def _launch(args: argparse.Namespace) -> dict[str, str]:
    (args.run / "server").mkdir(parents=True, exist_ok=True)
    given = {"vllm": args.vllm, "model": args.weights, "log": str(args.run / "server" / "engine.log")}
    return {name: value for name, value in given.items() if value is not None}


def _print(report: InferReport, summary: dict[str, Any], run: Path, as_json: bool) -> None:
    for note in summary["advice"]:
        say(f"note: {note}")
    if as_json:
        figures = {name: figure.value for name, figure in summary["figures"].items()}
        told = {"pages": report.pages, "states": report.states, "missing": report.missing}
        speed = {name: summary[name] for name in ("provenance", "valid", "broken_rules")}
        print(dumps({"run": str(run), **told, **speed, "figures": figures}))
        return
    states = ", ".join(f"{count} {state}" for state, count in sorted(report.states.items()))
    left = f", {report.missing} left: run the same command to go on" if report.missing else ""
    if report.unanswered > report.missing:
        left += "; ask again for those without an answer with --retry-failed"
    print(f"{run}/infer: {report.pages} pages: {states or 'none answered'}{left}")
    print(figures_table(summary))
