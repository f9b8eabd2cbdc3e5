"""The options that say how requests are sent, the same in `evalkit infer` and `evalkit bench`."""

from __future__ import annotations

import argparse

from evalkit.load_plan import LATENCIES, LoadPlan, parse_sizes


def add_load_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of load, pages and client."""
    load = parser.add_argument_group("load")
    load.add_argument("--bs", default="16", metavar="N[,N…]", help="requests in flight; the largest is the main load")
    load.add_argument("--max-latency", type=float, metavar="S", help="search for the most in flight within it")
    load.add_argument(
        "--latency-figure", default="latency_p95_s", metavar="NAME", help=f"one of {', '.join(LATENCIES)}"
    )
    load.add_argument("--max-bs", type=int, default=512, metavar="N", help="most in flight that the search tries")
    load.add_argument("--repeat", type=int, default=1, metavar="N", help="drives, to see whether they agree")
    load.add_argument("--arrivals", choices=("closed", "constant", "poisson"), default="closed", help="load shape")
    load.add_argument("--rate", type=float, metavar="PAGES_PER_S", help="of constant and poisson arrivals")
    load.add_argument("--no-stream", action="store_true", help="ask for whole answers (no time to first token)")
    load.add_argument("--chunk-usage", action="store_true", help="ask the server for the tokens of every chunk")
    load.add_argument(
        "--timeout", type=float, metavar="S", help="for one page (default: 600, and 5 for each in flight)"
    )
    load.add_argument("--warmup", type=int, default=2, metavar="N", help="pages sent before the clock starts")
    load.add_argument("--order", choices=("dataset", "shuffled"), default="dataset", help="of the pages")
    load.add_argument("--seed", type=int, default=0, help="of page order, arrivals and the emulated server")
    load.add_argument(
        "--server-cache",
        choices=("auto", "reset", "salt", "keep"),
        default="auto",
        help="what keeps the server's caches cold",
    )
    load.add_argument("--edges", metavar="N,N,…", help="output tokens that further buckets begin with")
    load.add_argument("--processes", type=int, metavar="N", help="client processes (default: one for 64 in flight)")


def load_plan(args: argparse.Namespace) -> LoadPlan:
    """The loads that were asked for. Raises UserError for a --bs that is none."""
    return LoadPlan(
        sizes=parse_sizes(args.bs),
        shape=args.arrivals,
        rate_per_s=args.rate,
        max_latency_s=args.max_latency,
        latency_figure=args.latency_figure,
        max_in_flight=args.max_bs,
        repeats=args.repeat,
    )
