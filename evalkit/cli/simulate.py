"""`evalkit simulate`: what a batch size, a draft window, a limit or a GPU would give, from a model of the engine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from evalkit import registry
from evalkit.errors import UserError

HELP = """
example: evalkit simulate --deployments hpd-ar,hpd-parsing --bs 16,64,512
example: evalkit simulate --pages runs/mine --deployments hpd-ar,hpd-fork,hpd-parsing --plot gain.svg
example: evalkit simulate --published

Every figure is simulated: it comes from a model of the scheduler and of the hardware, fitted to published baselines,
and never from a measurement. --published shows how far the model is from what was published. Lists are separated by
commas and crossed. --pages takes a workload (hpd, padoc, padoc-sequential, hunyuan, two-stage), a file of recorded
streams, or the folder of a finished run, and then says what its model would have gained from forking; --dataset takes
the lengths of a data set's truth.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `evalkit simulate`."""
    parser.add_argument("--published", action="store_true", help="compare the model with published figures")
    add = parser.add_argument
    add("--deployments", type=_names, metavar="LIST", help="hpd-ar,hpd-parsing unless given; the first is the baseline")
    add("--bs", type=_list_of(int, 1), metavar="LIST", help="pages in flight (512 unless given)")
    add("--k", type=_list_of(int, 0), metavar="LIST", help="draft tokens a step")
    add("--acceptance", type=_list_of(float, 1.0), metavar="LIST", help="mean tokens a step")
    add("--n-max", type=_list_of(int, 1), metavar="LIST", help="live streams above which no page is started")
    add(
        "--tau", type=_list_of(float, 0.0), metavar="LIST", help="share of memory in use above which no page is started"
    )
    add("--hardware", type=_names, metavar="LIST", help="A800-80GB, A100-80GB, H100, H200")
    parser.add_argument("--pages", default="hpd", help="workload, recorded streams, or run")
    parser.add_argument(
        "--dataset", metavar="NAME|JSON", help="token lengths estimated from a data set's truth instead"
    )
    parser.add_argument("--count", type=int, help="pages (default: 1651 of a workload, all of a file)")
    parser.add_argument("--load", choices=("closed", "batches", "poisson"), default="closed", help="how pages arrive")
    parser.add_argument("--rate", type=float, default=1.0, help="pages a second of poisson arrivals")
    parser.add_argument("--seed", type=int, default=0, help="of pages, order and acceptance")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="curves as .svg, .png or .pdf")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the comparison or the grid."""
    if args.rate <= 0:
        raise UserError(f"--rate {args.rate:g}: must be above 0")
    return _published(args) if args.published else _grid(args)


def _published(args: argparse.Namespace) -> int:
    from evalkit.store import dumps

    rows = registry.load("simulator", "published")(lambda part: print(f"simulating {part} …", file=sys.stderr))
    if args.json:
        plain = [
            {
                "name": row.name,
                "published": row.published,
                "predicted": row.predicted,
                "relative_error": row.error,
                "use": row.use,
                "unit": row.unit,
                "source": row.source,
                "provenance": "simulated",
            }
            for row in rows
        ]
        print(dumps(plain, indent=2))
        return 0
    cells = [
        (row.name, f"{row.published:.4g}", f"{row.predicted:.4g}", f"{row.error:+.1%}", row.use, row.unit, row.source)
        for row in rows
    ]
    print("simulated, not measured: the model beside published figures")
    print(_table(("name", "published", "predicted", "relative error", "use", "unit", "source"), cells))
    return 0


def _grid(args: argparse.Namespace) -> int:
    from evalkit.progress import progress
    from evalkit.store import dumps

    with progress("simulate", 1) as shown:
        result = registry.load("simulator", "grid")(
            progress=shown.update,
            deployments=args.deployments or ["hpd-ar", "hpd-parsing"],
            in_flight=args.bs or [512],
            windows=args.k or [None],
            acceptances=args.acceptance or [None],
            max_streams=args.n_max or [None],
            occupancies=args.tau or [None],
            hardware=args.hardware or [None],
            **_pages(args),
            count=args.count,
            shape=args.load,
            rate_per_s=args.rate,
            seed=args.seed,
        )
    if args.plot is not None:
        registry.load("simulator", "curves")(result.rows, args.plot, result.pages)
    if args.json:
        facts = {"provenance": "simulated", "pages": result.pages, "estimated": result.estimated}
        print(dumps({**facts, "rows": [row.plain() for row in result.rows]}, indent=2))
        return 0
    print(f"simulated, not measured: {result.pages}{', lengths estimated' if result.estimated else ''}")
    print(_table(_COLUMNS, [_cells(row) for row in result.rows]))
    return 0


def _pages(args: argparse.Namespace) -> dict[str, Any]:
    if args.dataset is None:
        return {"pages": args.pages}
    from evalkit.dataset import load_dataset
    from evalkit.truth_streams import stream_row

    dataset = load_dataset(args.dataset)
    return {"pages": f"truth of {dataset.name}", "rows": [stream_row(truth, "") for truth in dataset.pages]}


_COLUMNS = (
    "deployment", "hardware", "BS", "K", "N_max", "tau", "pages/s", "tokens/s", "gain", "P50 s", "P95 s", "steps",
    "tokens/step", "live",
)  # fmt: skip


def _cells(row: Any) -> tuple[str, ...]:
    return (
        row.deployment,
        row.hardware,
        str(row.in_flight),
        str(row.window),
        str(row.max_streams),
        f"{row.occupancy:g}",
        f"{row.pps:.3f}",
        f"{row.tps:.1f}",
        "-" if row.gain is None else f"{row.gain:.2f}x",
        f"{row.latency_p50_s:.2f}",
        f"{row.latency_p95_s:.2f}",
        f"{row.critical_path_steps:.1f}",
        f"{row.accepted_length:.2f}",
        f"{row.live_streams:.1f}",
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in (head, *rows))
    return "\n".join(lines)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _list_of(kind: Callable[[str], Any], least: float) -> Callable[[str], list[Any]]:
    def parse(text: str) -> list[Any]:
        try:
            values = [kind(part) for part in _names(text)]
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers") from error
        if not values or min(values) < least:
            raise argparse.ArgumentTypeError(f"{text!r}: every value must be at least {least:g}")
        return values

    return parse
