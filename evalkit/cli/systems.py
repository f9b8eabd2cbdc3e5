"""`evalkit systems`: a parser of one's own as a row."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = """
example: evalkit systems new my-parser

`new NAME` writes systems/NAME.toml, a template to fill in. `check NAME` says in plain words what is wrong with a row;
without names it checks every system. `install NAME` makes the environment of a vendor's program from its lock file. A
system is found in ./systems, in the folders of $EVALKIT_SYSTEMS, or by the path of its file.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("action", choices=("new", "check", "install"), metavar="new|check|install", help="what to do")
    parser.add_argument("names", nargs="*", metavar="NAME", help="systems")
    parser.add_argument("--folder", type=Path, default=Path("systems"), metavar="DIR", help="where new rows go")


def run(args: argparse.Namespace) -> int:
    """Write templates or check rows; 2 when a row has a problem."""
    from evalkit import registry
    from evalkit.errors import UserError

    if args.action == "new":
        if not args.names:
            raise UserError("give the name of the new system: evalkit systems new NAME")
        for name in args.names:
            path = registry.load("catalog", "new_system")(name, args.folder)
            print(f"{path}: fill it in, then: evalkit systems check {name}")
        return 0
    return _install(args.names) if args.action == "install" else _check(args.names)


def _install(names: list[str]) -> int:
    from evalkit import registry
    from evalkit.errors import UserError
    from evalkit.progress import say

    if not names:
        raise UserError("give the system whose environment to make: evalkit systems install NAME")
    for name in names:
        environment = registry.load("catalog", "system")(name).environment
        if environment is None:
            raise UserError(f"system {name} needs no environment of its own")
        print(registry.load("catalog", "install_environment")(environment, say))
    return 0


def _check(names: list[str]) -> int:
    from evalkit import registry

    known = {kind: registry.names(kind) for kind in ("runner", "launcher", "converter")}
    variants = {name: registry.load("converter", name).variants for name in known["converter"]}
    wrong = 0
    for name in names or [row["name"] for row in registry.load("catalog", "systems")()]:
        problems = registry.load("catalog", "system_problems")(name, known, variants)
        wrong += bool(problems)
        print(f"{name}: {'sound' if not problems else ''}".rstrip())
        for problem in problems:
            print(f"  - {problem}")
    return 2 if wrong else 0
