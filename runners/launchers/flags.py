"""vLLM's command-line flags from a system's facts, and the same flags read back from a running server."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalkit.types import System
from runners.launchers.diagnosis import log_head
from runners.server_facts import ask

_NON_DEFAULT = re.compile(r"non-default args: (\{.*\})")
_CACHE_CONFIG = re.compile(r"^vllm:cache_config_info\{(.*)\}", re.MULTILINE)
_SCALAR = re.compile(r"'(\w+)': (True|False|-?\d+(?:\.\d+)?|'[^'\n]*')(?=[,}])")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
CACHE_FLAGS = ("enable-prefix-caching", "gpu-memory-utilization", "block-size", "num-gpu-blocks-override")


def filled(value: Any, names: Mapping[str, str]) -> Any:
    """A flag's value with {weights} and the like filled in, at any depth."""
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace("{" + name + "}", text)
        return value
    if isinstance(value, Mapping):
        return {key: filled(item, names) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [filled(item, names) for item in value]
    return value


def command_words(flags: Mapping[str, Any], names: Mapping[str, str]) -> list[str]:
    """Flags as words: true is the flag alone, false its --no- form, tables and lists are JSON."""
    words: list[str] = []
    for name, value in flags.items():
        if isinstance(value, bool):
            words.append(f"--{name}" if value else f"--no-{name}")
            continue
        text = filled(value, names)
        words += [f"--{name}", json.dumps(text) if isinstance(text, (dict, list)) else str(text)]
    return words


def read_back(root: str, log: Path | None) -> dict[str, Any]:
    """Flags of a running server by name, from what it logged at its start and from its /metrics.

    Only what was found is there: a server started by someone else has no log here.
    """
    found: dict[str, Any] = {}
    metrics = ask(f"{root}/metrics")
    config = _CACHE_CONFIG.search(metrics.body.decode("utf-8", "replace")) if metrics.status == 200 else None
    if config is not None:
        labels = dict(_LABEL.findall(config.group(1)))
        found |= {flag: _plain(labels[key]) for flag in CACHE_FLAGS if (key := flag.replace("-", "_")) in labels}
    if log is not None:
        found |= logged_flags(log_head(log))
    return found


def logged_flags(text: str) -> dict[str, Any]:
    """The arguments that vLLM logs at its start, those that differ from its defaults; {} when it does not."""
    match = _NON_DEFAULT.search(text)
    if match is None:
        return {}
    try:
        told = ast.literal_eval(match.group(1))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        # some releases print configuration objects among the values; then only plain values are taken
        told = {key: _plain(value) for key, value in _SCALAR.findall(match.group(1))}
    return {str(key).replace("_", "-"): value for key, value in told.items()} if isinstance(told, dict) else {}


def _plain(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def differences(system: System, names: Mapping[str, str], version: str | None, told: Mapping[str, Any]) -> list[str]:
    """What a server says of itself that is not as asked, a sentence each.

    A flag that the server does not mention is taken for its default, and is not judged.
    """
    found: list[str] = []
    wanted = system.serve.version
    if wanted is not None and version is not None and not _same_version(wanted, version):
        found.append(f"version {version}, asked for {wanted}")
    for name, value in system.serve.flags.items():
        if name in told and not _equal(filled(value, names), told[name]):
            found.append(f"{name} is {told[name]!r}, asked for {filled(value, names)!r}")
    return found


def _same_version(wanted: str, version: str) -> bool:
    return version == wanted or version.startswith((wanted + "+", wanted + "."))


def _equal(asked: Any, told: Any) -> bool:
    if isinstance(asked, Mapping) and isinstance(told, Mapping):
        return all(key in told and _equal(item, told[key]) for key, item in asked.items())
    if isinstance(asked, (int, float)) and isinstance(told, (int, float)):
        return abs(asked - told) < 1e-9
    return bool(asked == told) or str(asked) == str(told)
