"""`evalkit list`: the names that can be used."""

from __future__ import annotations

import argparse
import json

HELP = """
example: evalkit list systems

Lists what can be named in other commands: systems, metrics, datasets, protocols, converters, runners, published.
"""

KINDS = ("systems", "metrics", "datasets", "protocols", "converters", "runners", "published")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("kind", choices=KINDS, metavar="KIND", help="one of " + ", ".join(KINDS))
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """List one kind of name with a line on each."""
    from evalkit.catalog import catalog
    from evalkit.columns import aligned

    rows = catalog(args.kind)
    if args.json:
        print(json.dumps(rows, ensure_ascii=False, indent=2))
        return 0
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [["-" if row.get(name) in (None, "") else str(row[name]) for name in names] for row in rows]
    print("\n".join(aligned([names, *cells])))
    return 0
