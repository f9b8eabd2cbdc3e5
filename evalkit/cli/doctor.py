"""`evalkit doctor`: what works on this machine, what is missing, and how to cure it."""

from __future__ import annotations

import argparse

HELP = """
example: evalkit doctor

Checks Python, the packages that scores depend on, the TeX toolchain of the formula score, the parsers that run here,
and the GPU. With names it checks only those areas or systems. Exit code 0: all that was asked for works; 3: something
is missing.
"""

MARKS = {"ok": "ok", "missing": "MISSING", "broken": "BROKEN", "absent": "-"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("names", nargs="*", metavar="AREA|SYSTEM", help="areas to check; without names, all")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run the checks and print a line each."""
    from evalkit.diagnosis import diagnose
    from evalkit.store import dumps

    checks = diagnose(args.names)
    if args.json:
        print(dumps(checks, indent=2))
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            print(f"{MARKS[check.state]:<8} {check.name:<{width}}  {check.message}")
            if check.remedy and check.state != "ok":
                print(f"{'':<8} {'':<{width}}  cure: {check.remedy}")
    return 3 if any(check.state in {"missing", "broken"} for check in checks) else 0
