"""Writes docs/systems.md from the systems' TOML files: `python scripts/systems_docs.py [--check]`."""

from __future__ import annotations

import sys
from pathlib import Path

from evalkit.types import System
from runners.systems import FOLDER, read_system

PAGE = Path(__file__).parents[1] / "docs" / "systems.md"
HEAD = """# Systems

Generated from `runners/systems/*.toml` by `python scripts/systems_docs.py`. `evalkit show NAME` prints all facts of
one, `evalkit list published` what was published of them. Runners: `openai` any OpenAI-compatible server; `two_stage`
layout request, crops and region requests on such a server; `hosted_api` a hosted model; `local` a parser on this
machine; `command` a program of the vendor in an environment of its own.

| system | paradigm | runner | served by | converter | boxes | licence |
|---|---|---|---|---|---|---|
"""


def page() -> str:
    """The text of docs/systems.md."""
    systems = [read_system(path) for path in sorted(FOLDER.glob("*.toml"))]
    return HEAD + "".join(map(_row, systems)) + "\n" + "\n".join(filter(None, map(_section, systems)))


def _row(system: System) -> str:
    served = "-" if system.runner in {"local", "command", "hosted_api"} else system.serve.launcher
    cells = [
        f"{system.title} (`{system.name}`)",
        system.paradigm,
        system.runner,
        served,
        system.output.converter,
        system.output.coordinates or "none",
        str(system.identity.get("licence", "not found")),
    ]
    return f"| {' | '.join(cells)} |\n"


def _section(system: System) -> str:
    lines = []
    if system.output.post_processing:
        lines.append(f"Its authors' post-processing: {system.output.post_processing}.")
    if system.notes:
        lines.append(system.notes)
    return f"## {system.name}\n\n" + " ".join(lines) + "\n" if lines else ""


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
