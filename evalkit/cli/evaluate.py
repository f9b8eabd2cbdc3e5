"""`evalkit evaluate`: score predictions against the truth."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalkit.dataset import Dataset

HELP = """
example: evalkit evaluate --predictions my_markdown/ --dataset OmniDocBench.json --out runs/mine

Scores a folder of <page>.md files under a protocol and writes RUN/evaluate: summary.json, pairs.jsonl,
pair_scores.jsonl, page_scores.jsonl, and official/ with files that the official notebooks read. `evalkit evaluate RUN`
scores the predictions of a run (RUN/convert) against the data set that its run.json names. A page without a file
counts as an empty page. Exit code 3: no page has a file, or scoring a page crashed.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `evalkit evaluate`."""
    parser.add_argument("run", nargs="?", type=Path, metavar="RUN", help="folder of a run with predictions")
    parser.add_argument("--predictions", type=Path, metavar="DIR", help="folder of <page>.md files")
    parser.add_argument("--dataset", metavar="NAME|JSON|DIR", help="data set with the truth")
    parser.add_argument("--out", type=Path, metavar="RUN", help="folder of the run to write (default: RUN)")
    parser.add_argument("--protocol", default="omnidocbench-1.6", metavar="NAME", help="see `evalkit list protocols`")
    parser.add_argument("--no-cdm", action="store_true", help="leave formulas without CDM (needs no TeX)")
    parser.add_argument(
        "--latex-tables",
        choices=("auto", "latexmlc", "builtin", "off"),
        default="auto",
        help="what turns LaTeX tables into HTML; auto is latexmlc where installed, else builtin; "
        "off leaves them as they are, as the official evaluator does without latexmlc",
    )
    parser.add_argument(
        "--cdm-backend",
        default="native",
        metavar="NAME",
        help="what computes CDM: native, or official with a checkout in $EVALKIT_CDM_OFFICIAL",
    )
    parser.add_argument(
        "--workers", type=int, metavar="N", help="worker processes (default: all cores; 1: in this process)"
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def run(args: argparse.Namespace) -> int:
    """Score and print the summary; 3 when scoring a page crashed or no page has a prediction."""
    from evalkit.api import evaluate
    from evalkit.errors import UserError
    from evalkit.store import dumps
    from evalkit.summary_table import summary_table

    predictions, out = args.predictions or args.run, args.out or args.run
    if predictions is None or out is None:
        raise UserError("give a RUN, or --predictions DIR --dataset JSON --out RUN")
    summary = evaluate(
        predictions,
        args.dataset or dataset_of(out),
        out=out,
        cdm=not args.no_cdm,
        workers=args.workers,
        protocol=args.protocol,
        options={"latex_tables": args.latex_tables, "cdm_backend": args.cdm_backend},
    )
    print(dumps(summary, indent=2) if args.json else summary_table(summary))
    nothing = summary.counts.get("missing_pages") == summary.pages
    return 3 if nothing or summary.counts.get("crashed_pages") else 0


def dataset_of(run_folder: Path) -> Dataset:
    """The data set that a run's record names, cut as the run was."""
    from evalkit.errors import UserError
    from evalkit.run_record import FILE, dataset_of_run

    if not (run_folder / FILE).exists():
        inner = sorted(path.parent.name for path in run_folder.glob(f"*/{FILE}"))
        hint = f"it is a folder of runs ({', '.join(inner)}): give one of them" if inner else "give --dataset"
        raise UserError(f"{run_folder} holds no {FILE} that names its data set; {hint}")
    return dataset_of_run(run_folder)
