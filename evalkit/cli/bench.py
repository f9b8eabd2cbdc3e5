"""`evalkit bench`: the main job, from page images to the report."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = """
example: evalkit bench --bs 512 --systems hpd-parsing,hpd-ar --dataset omnidocbench-1.6 --out runs/a800

For each system: starts its server, drives the pages through it, turns the answers into markdown, scores them, works
out the speed figures, stops the server; then makes one report of all. Run again, it goes on where it stopped; what is
current is not repeated. Without an NVIDIA GPU, systems that need one are served by the emulated server, and everything
of them says so.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("--dataset", default="mini", metavar="NAME|JSON|DIR", help="data set")
    parser.add_argument("--systems", metavar="A,B,…", help="names or TOML files (default: HPD, baseline, CPU parsers)")
    parser.add_argument("--bs", type=int, default=16, metavar="N", help="requests in flight")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of the runs (default: runs/DATASET-bsN)")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N pages")
    parser.add_argument("--url", action="append", default=[], metavar="SYSTEM=URL", help="a server that already runs")
    parser.add_argument("--emulate", choices=("auto", "always", "never"), default="auto", help="auto: without a GPU")
    parser.add_argument("--launcher", metavar="NAME", help="how servers are started, in place of the system's own way")
    parser.add_argument("--gpus", type=int, default=1, metavar="N", help="GPUs; each gets a server of its own")
    parser.add_argument("--vllm", metavar="ENV", help="environment of the engine, for the launcher vllm")
    parser.add_argument("--weights", metavar="DIR", help="folder of weights that are there already")
    parser.add_argument("--cache", metavar="DIR", help="folder for engines and weights")
    parser.add_argument("--allow", action="append", default=[], metavar="RULE", help="validity rule that may be broken")
    parser.add_argument("--no-cdm", action="store_true", help="leave formulas without CDM (needs no TeX)")
    parser.add_argument("--workers", type=int, metavar="N", help="worker processes for scoring (default: all cores)")
    parser.add_argument(
        "--timeout", type=float, metavar="S", help="for one page (default: 600, and 5 for each in flight)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of page order, arrivals and the emulated server")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the benchmark; 3 when a system or some of its pages have no result."""
    from evalkit.serving import launch_options
    from evalkit.stages.bench import BenchPlan, bench, named_urls
    from evalkit.store import dumps
    from evalkit.summary_table import bench_table

    plan = BenchPlan(
        dataset=args.dataset,
        systems=tuple(filter(None, (args.systems or "").split(","))),
        out=args.out,
        in_flight=args.bs,
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
    )
    result = bench(plan)
    print(dumps(result, indent=2) if args.json else bench_table(result))
    return 0 if result.complete else 3
