"""Makes the environment that a vendor's program runs in, and finds programs in it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from evalkit.errors import ToolchainError, unknown_name
from evalkit.types import System

FOLDER = Path(__file__).parent
READY = ".ready"


def lock_file(name: str) -> Path:
    """The lock file of an environment. Raises UserError for an unknown one."""
    path = FOLDER / f"{name}.txt"
    if not path.is_file():
        raise unknown_name("environment", name, [found.stem for found in FOLDER.glob("*.txt")])
    return path


def environment_folder(name: str) -> Path:
    """Where an environment lives: another lock file is another folder."""
    home = os.environ.get("EVALKIT_CACHE")
    cache = Path(home) if home else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evalkit"
    digest = hashlib.sha256(lock_file(name).read_bytes()).hexdigest()[:12]
    return cache / "environments" / f"{name}-{digest}"


def is_ready(name: str) -> bool:
    """Whether an environment is whole."""
    return (environment_folder(name) / READY).is_file()


def install(name: str, say: Callable[[str], None]) -> Path:
    """Make an environment from its lock file; quick when it is there. Raises ToolchainError when pip fails."""
    folder = environment_folder(name)
    if is_ready(name):
        return folder
    say(f"making the environment {name} in {folder}; it may take minutes and gigabytes")
    shutil.rmtree(folder, ignore_errors=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "-q"]
    _run([sys.executable, "-m", "venv", str(folder)], name)
    _run([*pip, "-r", str(lock_file(name))], name)
    (folder / READY).write_text("", encoding="utf-8")
    return folder


def _run(command: list[str], name: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = " ".join(done.stderr.split())[-400:]
        raise ToolchainError(f"the environment {name} cannot be made: {last}")


def program_of(system: System) -> str:
    """The system's program: that of its environment where it is made, else the word as it stands."""
    word = system.command[0]
    if system.environment is None or os.sep in word or not is_ready(system.environment):
        return word
    inside = environment_folder(system.environment) / "bin" / word
    return str(inside) if inside.is_file() else word
