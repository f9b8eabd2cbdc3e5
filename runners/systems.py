"""Systems by name: one TOML file of facts each, read into a `System` record with all mistakes reported at once."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from evalkit.errors import InvalidFileError, UserError, unknown_name
from evalkit.types import OutputFacts, RequestFacts, ServeFacts, System

FOLDER = Path(__file__).parent / "systems"
FOLDERS_VARIABLE = "EVALKIT_SYSTEMS"
TOP_LEVEL = {
    "name": str,
    "title": str,
    "runner": str,
    "paradigm": str,
    "speculative": bool,
    "baseline": str,
    "command": list,
    "environment": str,
    "published": list,
    "notes": str,
    "layout": dict,
    "identity": dict,
    "serve": dict,
    "request": dict,
    "output": dict,
}
REQUEST = {
    "prompt": str,
    "system_prompt": str,
    "image_first": bool,
    "split_messages": bool,
    "region_prompts": dict,
    "image": dict,
    "max_tokens": int,
    "api_key_env": str,
    "sampling": dict,
}
SERVE = {"launcher": str, "model": str, "version": str, "flags": dict, "env": dict}
OUTPUT = {
    "converter": str,
    "variant": str,
    "marker": str,
    "stream": str,
    "coordinates": str,
    "tables": str,
    "post_processing": str,
}
REQUIRED = ("name", "title", "runner")


def system_files() -> dict[str, Path]:
    """The TOML file of every system: built in, registered by packages, and of the user, the last winning.

    Packages register a function that gives a path under the entry-point group `evalkit.system`; users put files into
    `systems/` where they work, or into the folders of $EVALKIT_SYSTEMS.
    """
    registered = [Path(entry.load()()) for entry in entry_points(group="evalkit.system")]
    own = filter(None, os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep))
    folders = [FOLDER, Path("systems"), *map(Path, own)]
    files = [path for folder in folders for path in folder.glob("*.toml")]
    return {path.stem: path for path in [*registered, *files]}


def system_names() -> list[str]:
    """Names of all systems, sorted."""
    return sorted(system_files())


def load_system(name: str | Path) -> System:
    """A system by name, or by the path of its TOML file."""
    path = Path(name)
    if path.suffix == ".toml":
        return read_system(path)
    files = system_files()
    if str(name) not in files:
        raise unknown_name("system", str(name), files)
    return read_system(files[str(name)])


def read_system(path: Path) -> System:
    """One TOML file as a record. Raises InvalidFileError with every mistake in it."""
    try:
        facts = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot read it ({error})") from error
    except tomllib.TOMLDecodeError as error:
        raise InvalidFileError(str(path), [f"not valid TOML: {error}"]) from error
    return _Reader(path, facts).system()


@dataclass
class _Reader:
    path: Path
    facts: Mapping[str, Any]
    problems: list[str] = field(default_factory=list)

    def system(self) -> System:
        top = self._section("", self.facts, TOP_LEVEL)
        self.problems += [f"{key} is missing" for key in REQUIRED if key not in self.facts]
        request = self._section("request.", top.pop("request", {}), REQUEST)
        output = self._section("output.", top.pop("output", {}), OUTPUT)
        serve_facts = top.pop("serve", {})
        details = {key: value for key, value in serve_facts.items() if key not in SERVE}
        serve = self._section("serve.", {k: v for k, v in serve_facts.items() if k in SERVE}, SERVE)
        command, published = top.pop("command", []), top.pop("published", [])
        for key, words in (("command", command), ("published", published)):
            if not all(isinstance(word, str) for word in words):
                self.problems.append(f"{key} must be a list of strings")
        if top.get("name") not in (None, self.path.stem):
            self.problems.append(f"name is {top['name']!r}, expected {self.path.stem!r} as the file is called")
        if self.problems:
            raise InvalidFileError(str(self.path), self.problems)
        serve["env"] = {key: str(value) for key, value in serve.get("env", {}).items()}
        return System(
            **top,
            command=tuple(command),
            published=tuple(published),
            request=RequestFacts(**request),
            serve=ServeFacts(**serve, details=details),
            output=OutputFacts(**output),
        )

    def _section(self, prefix: str, facts: Mapping[str, Any], known: Mapping[str, type]) -> dict[str, Any]:
        taken: dict[str, Any] = {}
        for key, value in facts.items():
            if key not in known:
                self.problems.append(f"{prefix}{key} is not known here; known: {', '.join(sorted(known))}")
            elif type(value) is not known[key]:
                wanted, found = _NAMES[known[key]], type(value).__name__
                self.problems.append(f"{prefix}{key} must be {wanted}, not {found}")
            else:
                taken[key] = value
        return taken


_NAMES = {str: "a string", bool: "true or false", int: "a whole number", list: "a list", dict: "a table"}


def catalog() -> list[dict[str, Any]]:
    """A row {name, title, paradigm, runner, launcher} of every built-in system."""
    systems = [load_system(name) for name in system_names()]
    return [
        {
            "name": system.name,
            "title": system.title,
            "paradigm": system.paradigm,
            "runner": system.runner,
            "launcher": system.serve.launcher,
        }
        for system in systems
    ]
