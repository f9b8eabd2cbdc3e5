"""`evalkit selfcheck`: the truth against itself."""

from __future__ import annotations

import argparse

HELP = """
example: evalkit selfcheck --dataset OmniDocBench.json

Writes every page's truth as markdown, scores it against itself, and lists each pair that is not perfect with the rule
or quirk of the protocol that costs it. Nothing of this is a parser's fault: it is lost by any prediction.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `evalkit selfcheck`."""
    parser.add_argument("--dataset", default="mini", metavar="NAME|JSON|DIR", help="data set to check")
    parser.add_argument("--protocol", default="omnidocbench-1.6", metavar="NAME", help="see `evalkit list protocols`")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N pages")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the findings; always 0, since imperfections are the protocol's and not the user's."""
    from evalkit import registry
    from evalkit.dataset import load_dataset
    from evalkit.progress import progress
    from evalkit.run_record import first_pages
    from evalkit.store import dumps

    check_page = registry.load("protocol", args.protocol).check_page
    truths = first_pages(load_dataset(args.dataset), args.limit).pages
    found = []
    with progress("self-check", len(truths)) as bar:
        for truth in truths:
            found += check_page(truth)
            bar.advance()
    if args.json:
        print(dumps(found, indent=2))
        return 0
    for one in found:
        print(
            f"{one.page_id}: {one.element} {one.metric} {one.value:.4f}  {one.text}\n    {one.rule or '-'}: {one.cause}"
        )
    pages = len({one.page_id for one in found})
    print(f"{len(found)} imperfect values on {pages} of {len(truths)} pages")
    return 0
