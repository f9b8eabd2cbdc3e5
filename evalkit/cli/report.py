"""`evalkit report`: make the HTML report of one or more runs, or serve it."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = """
example: evalkit report runs/mine --out runs/mine/report

RUN is a run folder or a folder of runs. The report opens from disk and asks the network for nothing. Of a large data
set only some of the worst pages become files; --serve shows every page on this machine, made when it is looked at.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `evalkit report`."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run folder, or a folder of runs")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder of the report (default: report in the first RUN)"
    )
    parser.add_argument(
        "--pages", type=int, metavar="N", help="pages that get a view (default: all of a small data set)"
    )
    parser.add_argument("--serve", action="store_true", help="serve on 127.0.0.1 until interrupted, with every page")
    parser.add_argument("--port", type=int, default=0, help="port of --serve; 0 takes a free one")


def run(args: argparse.Namespace) -> int:
    """Write the report and print where it is; or serve it."""
    from evalkit.errors import UserError
    from evalkit.stages.report import FOLDER, find_runs, make_report, serve_report

    if args.pages is not None and args.pages < 0:
        raise UserError(f"--pages {args.pages}: must be at least 0")
    runs = find_runs(args.runs)
    if args.serve:
        serve_report(runs, args.port)
        return 0
    print(make_report(runs, args.out or args.runs[0] / FOLDER, worst_pages=args.pages))
    return 0
