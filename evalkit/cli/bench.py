"""`evalkit bench`: the main job, from page images to the report."""

from __future__ import annotations

import argparse
from pathlib import Path

from evalkit.cli.load_arguments import add_load_arguments, load_plan
from evalkit.load_plan import parse_edges

HELP = """
example: evalkit bench --bs 512 --systems hpd-parsing,hpd-ar --dataset omnidocbench-1.6 --out runs/a800

For each system: starts its server, drives the pages through it, turns the answers into markdown, scores them, works
out the speed figures, stops the server; then makes one report of all. Run again, it goes on where it stopped; what is
current is not repeated. Without an NVIDIA GPU, systems that need one are served by the emulated server, and everything
of them says so.
With --bs 1,16,512 the largest load is the main one, whose answers are scored; each other load is driven once more for
its figures of speed, in RUN/bs-N, and RUN/sweep.json compares them. --max-latency searches for the most requests in
flight within a latency, --arrivals poisson --rate 2 sends pages at times of their own, --repeat 3 drives the main load
three times and says whether the rates agree.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("--dataset", default="mini", metavar="NAME|JSON|DIR", help="data set")
    parser.add_argument("--systems", metavar="A,B,…", help="names or TOML files (default: HPD, baseline, CPU parsers)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of the runs (default: runs/DATASET-bsN)")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N pages")
    parser.add_argument("--url", action="append", default=[], metavar="SYSTEM=URL", help="a server that already runs")
    parser.add_argument(
        "--emulate", choices=("auto", "always", "never"), default="auto", help="auto: without a GPU or --launcher"
    )
    parser.add_argument("--launcher", metavar="NAME", help="how servers are started, in place of the system's own way")
    parser.add_argument("--gpus", type=int, default=1, metavar="N", help="GPUs; each gets a server of its own")
    parser.add_argument("--vllm", metavar="ENV", help="environment of a vLLM to start the servers with")
    parser.add_argument("--weights", metavar="DIR", help="folder of weights that are there already")
    parser.add_argument("--cache", metavar="DIR", help="folder for engines and weights")
    parser.add_argument("--allow", action="append", default=[], metavar="RULE", help="validity rule that may be broken")
    parser.add_argument("--no-cdm", action="store_true", help="leave formulas without CDM (needs no TeX)")
    parser.add_argument(
        "--workers", type=int, metavar="N", help="worker processes for scoring (default: all cores; 1: in this process)"
    )
    parser.add_argument(
        "--offline", action="store_true", help="through the engine's Python API; needs --vllm, --weights"
    )
    parser.add_argument("--retry-failed", action="store_true", help="ask again for pages that failed")
    parser.add_argument("--dry-run", action="store_true", help="show what would be started, start and write nothing")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_load_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Run the benchmark; 3 when a system, a load or some pages have no result, or repeated drives differ."""
    from evalkit.serving import launch_options
    from evalkit.stages.bench import bench
    from evalkit.stages.bench_plan import BenchPlan, named_urls, planned
    from evalkit.store import dumps, to_plain
    from evalkit.summary_table import bench_table

    plan = BenchPlan(
        dataset=args.dataset,
        systems=tuple(filter(None, (args.systems or "").split(","))),
        out=args.out,
        load=load_plan(args),
        limit=args.limit,
        urls=named_urls(args.url),
        emulate=args.emulate,
        launcher=args.launcher,
        cdm=not args.no_cdm,
        workers=args.workers,
        timeout_s=args.timeout,
        seed=args.seed,
        launch=launch_options(vllm=args.vllm, model=args.weights, cache=args.cache),
        gpus=args.gpus,
        allowed=tuple(args.allow),
        stream=not args.no_stream,
        chunk_usage=args.chunk_usage,
        warmup=args.warmup,
        order=args.order,
        server_cache=args.server_cache,
        processes=args.processes,
        edges=parse_edges(args.edges),
        offline=args.offline,
        retry_failed=args.retry_failed,
    )
    if args.dry_run:
        dry_run = planned(plan)
        print("\n".join(dry_run.lines))
        return 0 if dry_run.startable else 3
    result = bench(plan)
    if args.json:
        row = to_plain(result)
        for part, name in ((row, "out"), (row, "report"), *((system, "run") for system in row["systems"])):
            part[name] = str(part[name]) if part[name] is not None else None
        print(dumps(row, indent=2))
    else:
        print(bench_table(result))
    return 0 if result.complete else 3
