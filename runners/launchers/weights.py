"""Model weights: fetched once into the cache by the engine's own hub client, and checked by sha256."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalkit.errors import ToolchainError, UserError
from evalkit.types import System

VERIFIED = ".evalkit-verified.json"
_FETCH = (
    "import sys; from huggingface_hub import snapshot_download; "
    "snapshot_download(sys.argv[1], revision=sys.argv[2] or None, local_dir=sys.argv[3])"
)


def cache_folder() -> Path:
    """Where engines and weights are kept: EVALKIT_CACHE, else XDG_CACHE_HOME or ~/.cache, evalkit."""
    own = os.environ.get("EVALKIT_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evalkit"


def make_folder(folder: Path) -> None:
    """Make a folder of the cache. Raises ToolchainError where it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ToolchainError(
            f"{folder}: cannot be made ({error.strerror}). Choose another place with --cache"
        ) from error


def weights_folder(system: System, cache: Path) -> Path:
    """The folder of a system's weights, by name and revision."""
    details = system.serve.details
    name = str(details.get("weights") or system.serve.model).replace("/", "--")
    revision = str(details.get("revision") or "main")
    return cache / "weights" / f"{name}@{revision[:12]}"


def fetch_words(python: str, system: System, folder: Path) -> list[str]:
    """The command that fetches the weights; a part that is there is not fetched again."""
    details = system.serve.details
    return [python, "-c", _FETCH, str(details.get("weights")), str(details.get("revision") or ""), str(folder)]


def ensure_weights(python: str, system: System, folder: Path) -> None:
    """Fetch the weights where they are not, and check every file whose sha256 the system names.

    Raises ToolchainError when they cannot be fetched, UserError when a file is not what it should be.
    """
    expected: Mapping[str, Any] = system.serve.details.get("sha256") or {}
    if not _verified(folder, expected):
        make_folder(folder)
        done = subprocess.run(fetch_words(python, system, folder), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            cause = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise ToolchainError(
                f"cannot fetch {system.serve.details.get('weights')} ({cause[:300]}).\n"
                f"Check the network, or copy the weights to {folder}"
            )
        check_weights(folder, expected)


def check_weights(folder: Path, expected: Mapping[str, Any]) -> None:
    """Compare files with their sha256 and note the result. Raises UserError that names every file that differs."""
    wrong = []
    for name, digest in expected.items():
        path = folder / name
        if not path.is_file():
            wrong.append(f"{name} is missing")
        elif (found := _sha256(path)) != digest:
            wrong.append(f"{name} has sha256 {found[:12]}…, expected {str(digest)[:12]}…")
    if wrong:
        listing = "".join(f"\n  - {line}" for line in wrong)
        raise UserError(
            f"{folder}: these weights are not the ones asked for. Delete the folder to fetch them anew{listing}"
        )
    (folder / VERIFIED).write_text(json.dumps(_state(folder, expected)))


def _verified(folder: Path, expected: Mapping[str, Any]) -> bool:
    try:
        return bool(json.loads((folder / VERIFIED).read_text()) == _state(folder, expected))
    except (OSError, ValueError):
        return False


def _state(folder: Path, expected: Mapping[str, Any]) -> dict[str, list[Any]]:
    stats = {name: (folder / name).stat() for name in expected}
    return {name: [digest, stats[name].st_size, stats[name].st_mtime_ns] for name, digest in expected.items()}


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
