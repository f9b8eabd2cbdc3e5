"""`evalkit parity`: compare with a checkout of the official scorer."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from evalkit.types import GroundTruth

HELP = """
example: evalkit parity --official ~/OmniDocBench --python ~/OmniDocBench/.venv/bin/python \\
             --predictions my_markdown/ --dataset OmniDocBench.json

Runs your own checkout of the official evaluator (v1.6) and evalkit on the same predictions, and shows every value in
which they differ: pair by pair, then metric by metric. Without --predictions it scores the built-in set mini with its
own truth as prediction. The checkout is run in a scratch folder and is not changed.
"""
SHOWN = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `evalkit parity`."""
    parser.add_argument(
        "--official", type=Path, required=True, metavar="DIR", help="checkout of the official evaluator"
    )
    parser.add_argument(
        "--python", type=Path, required=True, metavar="EXE|ENV", help="Python, or environment, that runs it"
    )
    parser.add_argument("--predictions", type=Path, metavar="DIR", help="folder of <page>.md files")
    parser.add_argument("--dataset", default="mini", metavar="NAME|JSON|DIR", help="data set with the truth")
    parser.add_argument("--cdm", action="store_true", help="compare CDM too (the official needs TeX and ImageMagick)")
    parser.add_argument("--workers", type=int, metavar="N", help="worker processes (default: all cores)")
    parser.add_argument("--json", action="store_true", help="print the differences as JSON")


def run(args: argparse.Namespace) -> int:
    """0 when both results are equal, 1 when they differ."""
    from evalkit.dataset import load_dataset
    from evalkit.parity import compare_results, run_official
    from evalkit.progress import say
    from evalkit.stages.evaluate import evaluate
    from evalkit.store import dumps
    from evalkit.workers import worker_count

    dataset = load_dataset(args.dataset)
    workers = worker_count(args.workers)
    with tempfile.TemporaryDirectory(prefix="evalkit-parity-") as name:
        scratch = Path(name)
        predictions = args.predictions or _written_truth(dataset.pages, scratch / "truth")
        options = {} if _has_latexmlc() else {"latex_tables": "off"}
        evaluate(predictions, dataset, scratch / "ours", cdm=args.cdm, workers=workers, options=options)
        say(f"running the official evaluator on {len(dataset.pages)} pages (it takes about a second a page)")
        python = args.python / "bin" / "python" if args.python.is_dir() else args.python
        official = run_official(
            args.official, python, predictions, dataset.source, scratch, cdm=args.cdm, workers=workers
        )
        found = compare_results(scratch / "ours" / "evaluate" / "official", official)
    if args.json:
        print(dumps({"equal": not found, "differences": found}, indent=2))
    else:
        print("\n".join([*map(str, found[:SHOWN]), _verdict(len(found), len(dataset.pages))]))
    return 1 if found else 0


def _written_truth(truths: Sequence[GroundTruth], folder: Path) -> Path:
    from evalkit import registry
    from evalkit.store import write_text

    rules = registry.load("protocol", "omnidocbench-1.6")
    for truth in truths:
        write_text(folder / f"{truth.page.stem}.md", rules.truth_markdown(truth))
    return folder


def _verdict(count: int, pages: int) -> str:
    if not count:
        return f"equal: every pair, metric and group of {pages} pages"
    more = f", {SHOWN} shown (--json prints all)" if count > SHOWN else ""
    return f"{count} differences on {pages} pages{more}"


def _has_latexmlc() -> bool:
    """Both sides convert LaTeX tables with latexmlc where it is installed; without it the official leaves them."""
    import shutil

    return shutil.which("latexmlc") is not None
