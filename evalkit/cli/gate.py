"""`evalkit gate`: compare a run with a baseline and fail on a regression."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalkit.gating.config import GateConfig
    from evalkit.gating.verdict import GateResult
    from evalkit.snapshot import Snapshot

HELP = """
example: evalkit gate --baseline baselines/hpd.json --candidate runs/mine --config gates.toml

Judges a run against a baseline file, a folder of baselines, or another run: validity, then accuracy, then speed.
Repeated speed runs of one side are given together (--candidate RUN1 RUN2 RUN3). Writes verdict.json, junit.xml,
gate.sarif and comment.md to RUN/gate. `evalkit gate init RUN [SECOND_RUN]` writes a gates.toml with margins from the
run's own variance, and shows the smallest regression that it can detect.
"""

INIT = "init"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `evalkit gate`."""
    parser.add_argument("init", nargs="*", metavar="init RUN [SECOND_RUN]", help="write a gates.toml for a run")
    parser.add_argument("--baseline", nargs="+", type=Path, metavar="FILE|DIR|RUN", help="what to compare with")
    parser.add_argument("--candidate", nargs="+", type=Path, metavar="RUN", help="the run to judge, and its repeats")
    parser.add_argument(
        "--config", type=Path, metavar="TOML", help="rules (default: gates.toml here, else Overall within 0.5 points)"
    )
    parser.add_argument(
        "--inconclusive", choices=("pass", "fail"), help="what an inconclusive gate exits with (default: exit code 4)"
    )
    parser.add_argument(
        "--allow-difference",
        action="append",
        default=[],
        metavar="NAME",
        help="a part of the signature, or data or emulated, that may differ; may be given again",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the outputs go (default: RUN/gate)")
    parser.add_argument("--history", type=Path, metavar="JSONL", help="append the candidate's figures to this file")
    parser.add_argument(
        "--github", action="store_true", help="annotations and step summary (default: where GITHUB_ACTIONS is set)"
    )
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")
    parser.add_argument("--force", action="store_true", help="let `gate init` write over a file")


def run(args: argparse.Namespace) -> int:
    """Judge, write the outputs, print the table; or write a first gates.toml."""
    from evalkit.errors import UserError

    if args.init:
        if args.init[0] != INIT or not 2 <= len(args.init) <= 3:
            raise UserError("expected `evalkit gate init RUN [SECOND_RUN]`, or --baseline and --candidate")
        return _init([Path(name) for name in args.init[1:]], args)
    if not args.baseline or not args.candidate:
        raise UserError("give --baseline FILE|DIR|RUN and --candidate RUN, or `init RUN`")
    return _gate(args)


def _gate(args: argparse.Namespace) -> int:
    from evalkit.baseline import load_baseline_side, load_side
    from evalkit.gating.judge import judge
    from evalkit.history import append_history

    config, config_path = _config(args.config)
    candidate = load_side(args.candidate)
    baseline = load_baseline_side(args.baseline, candidate)
    result = judge(
        baseline,
        candidate,
        config,
        inconclusive=args.inconclusive,
        allow_differences=tuple(args.allow_difference),
    )
    _write(result, args, config_path)
    if args.history:
        append_history(args.history, candidate, result.verdict)
    _print(result, args)
    return result.exit_code


def _config(path: Path | None) -> tuple[GateConfig, Path | None]:
    from evalkit.gating.config import DEFAULT, FILE, load_config

    if path is None and not Path(FILE).is_file():
        return DEFAULT, None
    chosen = path or Path(FILE)
    return load_config(chosen), chosen


def _write(result: GateResult, args: argparse.Namespace, config_path: Path | None) -> None:
    from evalkit.gating.config import FILE
    from evalkit.gating.outputs.junit import junit_xml
    from evalkit.gating.outputs.markdown import markdown
    from evalkit.gating.outputs.sarif import sarif_log
    from evalkit.store import write_json, write_text

    folder = args.out
    if folder is None:
        if not args.candidate[0].is_dir():
            return
        folder = args.candidate[0] / "gate"
    write_json(folder / "verdict.json", {"schema": "evalkit.verdict", "version": 1, "result": result})
    write_text(folder / "junit.xml", junit_xml(result))
    write_json(folder / "gate.sarif", sarif_log(result, (config_path or Path(FILE)).as_posix().lstrip("/")))
    write_text(folder / "comment.md", markdown(result))


def _print(result: GateResult, args: argparse.Namespace) -> None:
    import os

    from evalkit.gating.outputs.github import workflow_commands
    from evalkit.gating.outputs.markdown import markdown
    from evalkit.gating.outputs.text import table
    from evalkit.store import dumps

    print(dumps(result, indent=2) if args.json else table(result))
    if args.github or os.environ.get("GITHUB_ACTIONS") == "true":
        if not args.json:
            print("\n".join(workflow_commands(result)))
        summary = os.environ.get("GITHUB_STEP_SUMMARY")
        if summary:
            with open(summary, "a", encoding="utf-8") as file:
                file.write(markdown(result))


def _init(runs: list[Path], args: argparse.Namespace) -> int:
    from evalkit.errors import UserError
    from evalkit.gating.config import FILE
    from evalkit.gating.starter import config_text, power_table, propose
    from evalkit.run_snapshot import read_snapshot
    from evalkit.store import write_text

    path = args.config or Path(FILE)
    if path.exists() and not args.force:
        raise UserError(f"{path}: exists already; give --force to write over it, or another --config")
    together: Snapshot = read_snapshot(runs)
    second = read_snapshot(runs[1:]) if len(runs) > 1 else None
    starter = propose(together, second if second and second.pages else None)
    write_text(path, config_text(starter, together))
    print(power_table(starter))
    print(f"\nwritten: {path}")
    return 0
