"""`evalkit show`: what is known about a system, a data set or a run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

HELP = """
example: evalkit show hpd-parsing

Prints the facts of a system, of a data set by its manifest's name, or of a run folder.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("name", metavar="NAME", help="a system, a data set, or the folder of a run")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Print the facts of whatever the name means."""
    from evalkit.store import dumps

    facts = _facts(args.name)
    print(dumps(facts, indent=2) if args.json else "\n".join(_lines(facts)))
    return 0


def _facts(name: str) -> dict[str, Any]:
    from evalkit import registry
    from evalkit.errors import unknown_name
    from evalkit.manifests import load_manifest, manifest_names
    from evalkit.store import read_json, to_plain

    folder = Path(name)
    files = {"run": "run.json", "evaluate": "evaluate/summary.json", "bench": "bench/summary.json"}
    found = {part: read_json(folder / file) for part, file in files.items() if (folder / file).is_file()}
    if found:
        return found
    systems = {row["name"] for row in registry.load("catalog", "systems")()}
    if name in systems or folder.suffix == ".toml":
        facts: dict[str, Any] = to_plain(registry.load("catalog", "system")(name))
        return facts
    if name in manifest_names():
        facts = to_plain(load_manifest(name))
        return facts
    raise unknown_name("system, data set or run", name, [*systems, *manifest_names()])


def _lines(facts: Any, indent: int = 0) -> list[str]:
    """A nested value as indented `key: value` lines; long values on lines of their own."""
    lines: list[str] = []
    pad = "  " * indent
    items = facts.items() if isinstance(facts, dict) else ((None, item) for item in facts)
    for key, value in items:
        head = f"{pad}-" if key is None else f"{pad}{key}:"
        if isinstance(value, dict | list) and value:
            lines += [head, *_lines(value, indent + 1)]
        elif value not in (None, {}, []):
            lines.append(f"{head} {value}")
    return lines
