"""`evalkit convert`: raw outputs of a run, or a folder of markdown files, to predictions."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalkit.dataset import Dataset

HELP = """
example: evalkit convert runs/hpd --dataset mini

Turns the raw outputs in RUN/infer into blocks and markdown in RUN/convert, or takes the <page>.md files of
--predictions. Without options the converter and its variant are those of the run's system.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run")
    parser.add_argument("--dataset", metavar="NAME|JSON", help="the run's pages (default: those of its record)")
    parser.add_argument("--predictions", type=Path, metavar="DIR", help="folder of <page>.md files to take as they are")
    parser.add_argument("--converter", metavar="NAME", help="how to read the outputs (evalkit list converters)")
    parser.add_argument("--variant", metavar="NAME", help="variant of the converter, for example official or clean")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the stage; 0 when every page is converted, 3 when some have no prediction."""
    from evalkit.dataset import load_dataset
    from evalkit.errors import UserError, printable
    from evalkit.page_sizes import pages_with_image_sizes
    from evalkit.stages.convert import convert_folder, convert_outputs
    from evalkit.store import dumps

    pages = pages_with_image_sizes(load_dataset(args.dataset) if args.dataset else _recorded_dataset(args.run))
    if args.predictions is not None:
        report = convert_folder(args.run, pages, args.predictions)
    else:
        if not (args.run / "infer").is_dir():
            raise UserError(f"{args.run} holds no raw outputs (no infer/); name markdown files with --predictions")
        converter, variant = _recorded_output(args.run)
        variant = args.variant or (variant if args.converter in (None, converter) else None)
        report = convert_outputs(args.run, pages, args.converter or converter, variant)
    if args.json:
        print(dumps(report, indent=2))
    else:
        outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(report.outcomes.items()))
        print(f"{args.run}/convert: {report.pages} pages: {outcomes}")
        for page_id, reason in list(report.reasons.items())[:20]:
            print(printable(f"  {page_id}: {reason}"))
    return 3 if report.outcomes.get("failed") else 0


def _recorded_dataset(run: Path) -> Dataset:
    from evalkit.errors import UserError
    from evalkit.run_record import FILE, dataset_of_run

    if not (run / FILE).is_file():
        raise UserError(f"{run} has no {FILE}: name the data set with --dataset")
    return dataset_of_run(run)


def _recorded_output(run: Path) -> tuple[str, str | None]:
    """Converter and variant of the system that the run's first drive names."""
    from evalkit.requests_log import read_sessions

    sessions = read_sessions(run / "infer")
    output = sessions[0].settings.get("system", {}).get("output", {}) if sessions else {}
    return output.get("converter", "markdown"), output.get("variant")
