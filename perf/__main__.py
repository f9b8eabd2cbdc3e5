"""Runs every benchmark of this folder in turn, each in a process of its own.

python -m perf                       all
python -m perf teds cdm              some
python -m perf --official CHECKOUT --python ENV/bin/python   side by side with a checkout of the official scorer
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def benchmarks() -> dict[str, str]:
    """Names of the benchmarks with their modules."""
    return {path.stem.removeprefix("bench_"): f"perf.{path.stem}" for path in sorted(FOLDER.glob("bench_*.py"))}


def main() -> int:
    """Run the named benchmarks; the exit code is the number that failed."""
    known = benchmarks()
    parser = argparse.ArgumentParser(prog="python -m perf", description="every claim of speed, as ratios side by side")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)} (default: all)")
    parser.add_argument("--official", metavar="CHECKOUT", help="a checkout of the official scorer")
    parser.add_argument("--python", metavar="PROGRAM", help="the Python that runs the official scorer")
    args = parser.parse_args()
    unknown = set(args.names) - known.keys()
    if unknown:
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    passed_on = [f"--{key}={value}" for key in ("official", "python") if (value := getattr(args, key))]
    failed = 0
    for name in args.names or known:
        print(f"== {name}", flush=True)
        failed += subprocess.run([sys.executable, "-m", known[name], *passed_on], check=False).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
