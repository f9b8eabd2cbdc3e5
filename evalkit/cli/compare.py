"""`evalkit compare`: show where two runs differ."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = """
example: evalkit compare runs/before runs/after --by language

Shows every score and figure of two runs or baselines side by side, with the interval of each difference (paired
bootstrap over pages), the pages that moved most, and the latency of the same pages. It judges nothing: see
`evalkit gate`. Exit code 3 when the two must not be compared.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `evalkit compare`."""
    parser.add_argument("first", type=Path, metavar="RUN|FILE", help="run folder or baseline file")
    parser.add_argument("second", type=Path, metavar="RUN|FILE", help="run folder or baseline file")
    parser.add_argument("--by", metavar="ATTRIBUTE", help="also by a page attribute, such as language")
    parser.add_argument("--top", type=int, default=5, metavar="N", help="pages to show for each metric")
    parser.add_argument(
        "--allow-difference",
        action="append",
        default=[],
        metavar="NAME",
        help="a part of the signature that may differ",
    )
    parser.add_argument("--html", type=Path, metavar="DIR", help="also write a page with the views of these pages")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Print the comparison."""
    from evalkit.baseline import load_side
    from evalkit.comparison import compare, comparison_table
    from evalkit.errors import NotComparableError
    from evalkit.gating.validity import incomparabilities
    from evalkit.store import dumps

    first, second = load_side([args.first]), load_side([args.second])
    reasons = incomparabilities(first, second, args.allow_difference)
    if reasons:
        raise NotComparableError(
            "these runs must not be compared: "
            + "; ".join(reasons)
            + ". Allow a difference with --allow-difference NAME"
        )
    found = compare(first, second, by=args.by, top=max(args.top, 0))
    print(dumps(found, indent=2) if args.json else comparison_table(found))
    if args.html is not None:
        from evalkit.stages.report import write_comparison

        sys.stdout.flush()
        print(write_comparison(found, [args.first, args.second], args.html), file=sys.stderr)
    return 0
