"""`evalkit show`: what is known about a system, a data set or a run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

HELP = """
example: evalkit show hpd-parsing

Prints the facts of a system, of a data set by its manifest's name, or of a run folder; of a run
in short, with --json in full.
"""


TABLES = {"evaluate": ("groups",), "bench": ("buckets", "groups")}
CHECK_STATES = {True: "kept", False: "broken", None: "not checked"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("name", metavar="NAME", help="a system, a data set, or the folder of a run")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Print the facts of whatever the name means."""
    from evalkit.store import dumps

    facts = _facts(args.name)
    print(dumps(facts, indent=2) if args.json else "\n".join(_lines(_short(facts))))
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


def _short(facts: dict[str, Any]) -> dict[str, Any]:
    """A run's facts with a line a figure and rule, and without its tables by length and attribute."""
    return {part: _short_part(part, value) if part in TABLES else value for part, value in facts.items()}


def _short_part(part: str, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    left_out = [name for name in TABLES[part] if value.get(name)]
    kept = {name: item for name, item in value.items() if name not in TABLES[part]}
    if isinstance(kept.get("figures"), dict):
        kept["figures"] = {name: _figure(row) for name, row in kept["figures"].items()}
    if isinstance(kept.get("checks"), list):
        kept["checks"] = {row["name"]: CHECK_STATES[row["passed"]] for row in kept["checks"]}
    if left_out:
        kept["left out"] = f"{', '.join(left_out)}: see {part}/summary.json, or --json"
    return kept


def _figure(row: dict[str, Any]) -> str:
    if row.get("value") is None:
        return f"none: {row.get('reason')}"
    unit = "" if row["unit"] == "1" else f" {row['unit']}"
    return f"{row['value']:.5g}{unit} ({row['provenance']})"


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
