"""`evalkit infer`: drive a parser over the page images of a data set."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalkit import registry
from evalkit.bench_summary import figures_table, write_bench_summary
from evalkit.dataset import Dataset, load_dataset
from evalkit.errors import UserError
from evalkit.load_sweep import repeat, search, sweep, sweep_table
from evalkit.page_jobs import page_jobs, warmup_jobs
from evalkit.progress import progress, say
from evalkit.stages.infer import InferReport, infer
from evalkit.store import dumps
from evalkit.types import InferSettings, Load, PageJob, System

HELP = """
example: evalkit infer runs/hpd --system hpd-parsing --dataset mini --endpoint http://127.0.0.1:8118 --bs 64

Drives a parser over the pages of a data set and logs every answer with its times and tokens in RUN/infer.
Interrupted, the same command goes on where it stopped. --system takes a name (evalkit list systems) or a TOML file.
With --bs 16,64,512 each load is driven in a folder of its own (RUN/bs-16 …) and RUN/sweep.json compares them;
--max-latency searches for the most requests in flight that keep the p95 latency within a limit. --repeat 3 drives
one load three times and says whether the rates agree, or why not (exit code 3).
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `evalkit infer`."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run")
    parser.add_argument("--system", required=True, metavar="NAME|TOML", help="the parser")
    parser.add_argument("--dataset", default="mini", help="name, JSON file or folder")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N pages")
    add_load_arguments(parser)
    offline = parser.add_argument_group("the engine's Python API in batches of --bs, without a server")
    offline.add_argument("--offline", action="store_true", help="as the vendors' own benchmark scripts do")
    offline.add_argument("--vllm", metavar="ENV", help="environment that holds the engine")
    offline.add_argument("--weights", metavar="DIR", help="folder of the weights")
    parser.add_argument("--retry-failed", action="store_true", help="ask again for pages that failed")
    parser.add_argument("--baseline", type=Path, metavar="RUN", help="run that speed-ups are counted against")
    parser.add_argument("--allow", action="append", default=[], metavar="RULE", help="validity rule that may be broken")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def add_load_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that say how requests are sent."""
    parser.add_argument(
        "--endpoint", action="append", default=[], metavar="URL", help="a running server; repeat for several"
    )
    parser.add_argument("--bs", default="16", metavar="N[,N…]", help="requests in flight of the closed loop")
    parser.add_argument("--max-latency", type=float, metavar="S", help="search for the most in flight within it")
    parser.add_argument("--latency-figure", default="latency_p95_s", metavar="NAME", help="that the search goes by")
    parser.add_argument("--max-bs", type=int, default=512, metavar="N", help="most in flight that the search tries")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="drives, to see whether they agree")
    parser.add_argument("--arrivals", choices=("closed", "constant", "poisson"), default="closed", help="load shape")
    parser.add_argument("--rate", type=float, metavar="PAGES_PER_S", help="of constant and poisson arrivals")
    parser.add_argument("--no-stream", action="store_true", help="ask for whole answers (no time to first token)")
    parser.add_argument(
        "--timeout", type=float, metavar="S", help="for one page (default: 600, and 5 for each in flight)"
    )
    parser.add_argument("--warmup", type=int, default=2, metavar="N", help="pages sent before the clock starts")
    parser.add_argument("--order", choices=("dataset", "shuffled"), default="dataset", help="of the pages")
    parser.add_argument("--seed", type=int, default=0, help="of page order and arrivals")
    parser.add_argument(
        "--cache", choices=("auto", "reset", "salt", "keep"), default="auto", help="what keeps server caches cold"
    )
    parser.add_argument("--processes", type=int, metavar="N", help="client processes (default: one for 64 in flight)")


def run(args: argparse.Namespace) -> int:
    """Run the stage; 0 when every page has an answer, 3 when some have none."""
    dataset = load_dataset(args.dataset)
    system: System = registry.load("catalog", "system")(args.system)
    if args.offline:
        system = replace(system, runner="vllm-offline")
    jobs = page_jobs(dataset, args.limit)
    sizes = _sizes(args.bs)
    load = Load(args.arrivals, sizes[0], args.rate)
    with tempfile.TemporaryDirectory(prefix="evalkit-warmup-") as folder:
        served = system.runner in {"openai", "vllm-offline"}
        warmup = warmup_jobs(dataset, jobs, args.warmup, Path(folder)) if served else []
        settings = InferSettings(
            system=system,
            endpoints=tuple(args.endpoint),
            load=load,
            stream=not args.no_stream,
            timeout_s=load.page_timeout_s() if args.timeout is None else args.timeout,
            warmup=tuple(warmup),
            order=args.order,
            seed=args.seed,
            processes=args.processes,
            cache=args.cache,
            launch=_launch(args) if args.offline else {},
        )
        if args.repeat > 1:
            return _repeat(args, dataset, jobs, settings)
        if len(sizes) > 1 or args.max_latency is not None:
            return _sweep(args, dataset, jobs, settings, sizes)
        with progress(f"infer {system.name}", len(jobs)) as shown:
            report = infer(args.run, jobs, settings, retry_failed=args.retry_failed, on_progress=shown.update)
    summary = write_bench_summary(args.run, dataset=dataset, baseline=args.baseline, allowed=args.allow)
    _print(report, summary, args.run, args.json)
    return 3 if report.unanswered else 0


def _launch(args: argparse.Namespace) -> dict[str, str]:
    (args.run / "server").mkdir(parents=True, exist_ok=True)
    given = {"vllm": args.vllm, "model": args.weights, "log": str(args.run / "server" / "engine.log")}
    return {name: value for name, value in given.items() if value is not None}


def _sizes(text: str) -> list[int]:
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError as error:
        raise UserError(f"--bs {text}: expected a number, or several as in 16,64,512") from error
    if min(sizes) < 1:
        raise UserError(f"--bs {text}: must be 1 or more")
    return sizes


def _sweep(
    args: argparse.Namespace, dataset: Dataset, jobs: list[PageJob], settings: InferSettings, sizes: list[int]
) -> int:
    if args.max_latency is None:
        result = sweep(args.run, jobs, settings, sizes, dataset)
    else:
        result = search(
            args.run,
            jobs,
            settings,
            args.max_latency,
            figure=args.latency_figure,
            ceiling=args.max_bs,
            dataset=dataset,
        )
        say(f"largest within {args.max_latency:g} s ({args.latency_figure}): {result.largest or 'none'}")
    print(dumps(result, indent=2) if args.json else sweep_table(result.points))
    return 0


def _repeat(args: argparse.Namespace, dataset: Dataset, jobs: list[PageJob], settings: InferSettings) -> int:
    found = repeat(args.run, jobs, settings, args.repeat, dataset)
    if args.json:
        print(dumps(found, indent=2))
    else:
        verdict = "the drives agree" if found.agrees else "the drives do not agree: " + "; ".join(found.reasons)
        print(f"{sweep_table(found.points)}\n{verdict}")
    return 0 if found.agrees else 3


def _print(report: InferReport, summary: dict[str, Any], run: Path, as_json: bool) -> None:
    for note in (*report.notes, *summary["advice"]):
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
