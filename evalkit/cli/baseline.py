"""`evalkit baseline`: save, list and show baselines for the gate, and read their history."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

HELP = """
example: evalkit baseline save hpd runs/hpd-1 runs/hpd-2 --dir baselines

save NAME RUN [RUN …]  write a run, with the speed figures of its repeats, as DIR/NAME.json, to be committed
list                   the baselines of DIR
show NAME|FILE         what a baseline holds
history FILE           the runs of a history file (evalkit gate --history FILE), and where a figure stepped
"""

ACTIONS = ("save", "list", "show", "history")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `evalkit baseline`."""
    parser.add_argument("action", choices=ACTIONS, help="what to do")
    parser.add_argument("names", nargs="*", metavar="NAME|RUN|FILE", help="see above")
    parser.add_argument("--dir", type=Path, default=Path("baselines"), metavar="DIR", help="folder of the baselines")
    parser.add_argument("--replace", action="store_true", help="let save write over a baseline")
    parser.add_argument("--figure", default="overall", metavar="NAME", help="the figure that history looks at")
    parser.add_argument("--plot", type=Path, metavar="SVG", help="draw the history with its steps")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Do what was asked for."""
    from evalkit.errors import UserError

    counts = {"save": (2, None), "list": (0, 0), "show": (1, 1), "history": (1, 1)}
    least, most = counts[args.action]
    if len(args.names) < least or (most is not None and len(args.names) > most):
        raise UserError(f"`evalkit baseline {args.action}` takes other arguments; see evalkit baseline --help")
    actions = {"save": _save, "list": _list, "show": _show, "history": _history}
    return actions[args.action](args)


def _save(args: argparse.Namespace) -> int:
    from evalkit.baseline import save_baseline

    name, *runs = args.names
    path = save_baseline(name, [Path(one) for one in runs], args.dir, replace=args.replace)
    print(f"{path}  ({path.stat().st_size / 1000:.1f} kB)")
    return 0


def _list(args: argparse.Namespace) -> int:
    from evalkit.baseline import list_baselines
    from evalkit.store import dumps

    rows: list[dict[str, Any]] = []
    for name, found in list_baselines(args.dir):
        if isinstance(found, str):
            rows.append({"name": name, "unreadable": found})
            continue
        rows.append(
            {
                "name": name,
                "system": found.system,
                "dataset": found.dataset.get("name"),
                "pages": len(found.pages),
                "overall": found.metrics.get("overall"),
                "speed_runs": len(found.speed),
                "emulated": found.emulated,
            }
        )
    if args.json:
        print(dumps(rows, indent=2))
        return 0
    for row in rows:
        name = row.pop("name")
        print(f"{name}  " + ", ".join(f"{key} {_short(value)}" for key, value in row.items() if value is not None))
    if not rows:
        print(f"no baselines in {args.dir}; write one with `evalkit baseline save NAME RUN --dir {args.dir}`")
    return 0


def _short(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _show(args: argparse.Namespace) -> int:
    from evalkit.baseline import as_json, find_baseline, read_baseline
    from evalkit.store import dumps

    plain = as_json(read_baseline(find_baseline(args.names[0], args.dir)))
    if args.json:
        print(dumps(plain, indent=2))
        return 0
    for key, value in plain.items():
        print(f"{key:<13} {dumps(value) if isinstance(value, dict | list) else value}")
    return 0


def _history(args: argparse.Namespace) -> int:
    from evalkit.history import find_steps, plot_history, read_history, series
    from evalkit.store import dumps

    entries = read_history(Path(args.names[0]))
    having, values = series(entries, args.figure)
    steps = plot_history(entries, args.figure, args.plot) if args.plot else find_steps(values)
    if args.json:
        rows = [
            {"run_id": entry.run_id, "recorded_utc": entry.recorded_utc, "value": value}
            for entry, value in zip(having, values, strict=True)
        ]
        print(dumps({"figure": args.figure, "runs": rows, "steps": steps}, indent=2))
        return 0
    by_index = {step.index: step for step in steps}
    print(f"{'recorded (UTC)':<25}  {args.figure:<12} {'verdict':<14} run")
    for place, (entry, value) in enumerate(zip(having, values, strict=True)):
        step = by_index.get(place)
        if step is not None:
            print(f"-- step: {step.before:.5g} -> {step.after:.5g} (p {step.p_value:.3f})")
        print(f"{entry.recorded_utc}  {value:<12.6g} {entry.verdict or '':<14} {entry.run_id}")
    return 0
