"""Entry point of the command line: finds the verb, loads only its module, and turns errors into exit codes."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module

from evalkit import __version__
from evalkit.errors import EvalkitError, printable, unknown_name

VERBS = {
    "bench": "run everything: serve, infer, convert, evaluate, report",
    "infer": "drive a parser over page images",
    "convert": "raw outputs to markdown",
    "evaluate": "score predictions against the truth",
    "report": "make the HTML report of one or more runs",
    "gate": "compare a run with a baseline and fail on a regression",
    "baseline": "save, list and show baselines for the gate",
    "compare": "show where two runs differ",
    "serve": "start a parser's server, or the emulated one",
    "simulate": "ask what a batch size, draft length or GPU would give",
    "score": "score lines of {gt, pred} with one metric",
    "selfcheck": "score the truth against itself and explain what is not perfect",
    "parity": "compare with a checkout of the official scorer, pair by pair",
    "doctor": "say what is missing on this machine",
    "datasets": "list, pull and verify data sets",
    "systems": "write and check the row of a parser of one's own",
    "list": "list systems, metrics, data sets, protocols",
    "show": "show a system, a data set or a run",
}

GOING_ON = dict.fromkeys(("bench", "infer", "datasets"), "What is done is kept; run the same command to go on.")
AGAIN = "Run the same command to begin again."

EXIT_CODES = "exit codes: 0 done, 1 gate failed, 2 user error, 3 incomplete or not comparable, 4 inconclusive"


def available_verbs() -> dict[str, str]:
    """The verbs with their one-line summaries, in the order in which help shows them."""
    return dict(VERBS)


def _overview() -> str:
    width = max(map(len, VERBS))
    lines = [f"  {name:<{width}}  {summary}" for name, summary in VERBS.items()]
    return "\n".join(
        [
            "example: evalkit evaluate --predictions my_markdown/ --dataset OmniDocBench.json --out runs/mine",
            "",
            "usage: evalkit VERB [options]     (evalkit VERB --help explains one)",
            "",
            *lines,
            "",
            EXIT_CODES,
        ]
    )


def _parser(verb: str) -> tuple[argparse.ArgumentParser, object]:
    module = import_module(f"evalkit.cli.{verb}")
    parser = argparse.ArgumentParser(
        prog=f"evalkit {verb}",
        usage=argparse.SUPPRESS,
        description=module.HELP.strip(),
        formatter_class=_HelpFormatter,
        allow_abbrev=False,
    )
    module.add_arguments(parser)
    return parser, module


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the example's line breaks and shows defaults that say something."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        text = action.help
        silent: tuple[object, ...] = (None, False, [], argparse.SUPPRESS)
        if text and action.default not in silent and "%(default)" not in text and action.option_strings:
            return f"{text} (default: %(default)s)"
        return text


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a locale without some character costs the character, not the verb
            stream.reconfigure(errors="backslashreplace")
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        print(_overview())
        return 0 if arguments else 2
    if arguments[0] in {"-V", "--version"}:
        print(f"evalkit {__version__}")
        return 0
    return _guarded(arguments[0], arguments[1:])


def _guarded(verb: str, arguments: list[str]) -> int:
    try:
        if verb not in VERBS:
            raise unknown_name("verb", verb, VERBS)
        parser, module = _parser(verb)
        return int(module.run(parser.parse_args(arguments)))  # type: ignore[attr-defined]
    except EvalkitError as error:
        print(f"evalkit {verb}: {printable(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"\nevalkit {verb}: interrupted. {GOING_ON.get(verb, AGAIN)}", file=sys.stderr)
        return 128 + signal.SIGINT
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


if __name__ == "__main__":
    sys.exit(main())
