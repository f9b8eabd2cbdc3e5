"""`evalkit datasets`: list, pull and verify data sets."""

from __future__ import annotations

import argparse

HELP = """
example: evalkit datasets pull omnidocbench-1.6

  list          the data sets that have a manifest, and whether they are on this machine
  pull NAME     download one from its hub into the cache; goes on where an interrupted pull stopped
  verify NAME   compare every file with what the pull recorded, and the annotation with the manifest

Data is kept in $EVALKIT_CACHE, else $XDG_CACHE_HOME/evalkit, else ~/.cache/evalkit. A mirror is named with HF_ENDPOINT.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("action", choices=("list", "pull", "verify"), metavar="ACTION", help="list, pull or verify")
    parser.add_argument("name", nargs="?", metavar="NAME", help="the data set, for pull and verify")
    parser.add_argument("--revision", metavar="COMMIT", help="pull this commit, tag or branch of the hub")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Do one of the actions."""
    from evalkit.errors import UserError

    if args.action == "list":
        return _list(args.json)
    if args.name is None:
        raise UserError(f"name the data set: evalkit datasets {args.action} NAME (evalkit datasets list shows them)")
    return _pull(args) if args.action == "pull" else _verify(args)


def _list(as_json: bool) -> int:
    from evalkit.manifests import list_datasets
    from evalkit.store import dumps

    rows = list_datasets()
    if as_json:
        print(dumps(rows, indent=2))
        return 0
    width = max(len(row["name"]) for row in rows) if rows else 0
    for row in rows:
        print(f"{row['name']:<{width}}  {row['pages'] or '-':>5} pages  {row['state']:<15}  {row['title']}")
    return 0


def _pull(args: argparse.Namespace) -> int:
    from evalkit.manifests import PULL_RECORD, load_manifest
    from evalkit.pull import pull
    from evalkit.store import dumps

    report = pull(load_manifest(args.name), revision=args.revision)
    if args.json:
        print(dumps(report, indent=2))
        return 0
    did = "is here already" if report.was_here else "pulled"
    print(f"{report.name} {did}: {report.pages} pages at {report.revision} in {report.folder}")
    if not report.pinned:
        print(f"sha256 {report.sha256} of the annotation is recorded in {PULL_RECORD}, not pinned (trust on first use)")
    return 0


def _verify(args: argparse.Namespace) -> int:
    from evalkit.manifests import load_manifest
    from evalkit.pull import verify
    from evalkit.store import dumps

    report = verify(load_manifest(args.name))
    if args.json:
        print(dumps(report, indent=2))
    elif report.problems:
        count = len(report.problems)
        print(f"{report.name}: {count} problem{'s' if count != 1 else ''} in {report.folder}")
        for problem in report.problems:
            print(f"  {problem}")
    else:
        print(f"{report.name}: {report.files} files in {report.folder} are as they should be")
    return 3 if report.problems else 0
