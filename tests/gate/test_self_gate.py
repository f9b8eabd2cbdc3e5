"""The project's gate on itself, in a scratch copy: green as it is, red with a deliberate regression."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("evalkit", "runners", "metrics", "reports", "datasets/mini", "scripts/self_gate.py", "tests/baselines")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A copy of what the gate runs."""
    for part in PARTS:
        source, target = ROOT / part, tmp_path / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        else:
            shutil.copy(source, target)
    return tmp_path


def gate(scratch: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(scratch), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "scripts/self_gate.py"]
    return subprocess.run(command, cwd=scratch, env=environment, capture_output=True, text=True, check=False)


def replaced(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert before in text, f"{path.name} no longer holds {before!r}: choose another regression"
    path.write_text(text.replace(before, after), encoding="utf-8")


def break_converter(scratch: Path) -> None:
    """The converter upper-cases the text of every block."""
    replaced(scratch / "evalkit" / "converters" / "hpd.py", "return Block(", "return _loud(")
    with open(scratch / "evalkit" / "converters" / "hpd.py", "a", encoding="utf-8") as file:
        file.write("\n\ndef _loud(kind, **parts):\n    parts['text'] = (parts.get('text') or '').upper()\n")
        file.write("    return Block(kind, **parts)\n")


def slow_scheduler(scratch: Path) -> None:
    """The engine's scheduler takes ten milliseconds more for each step."""
    replaced(scratch / "runners" / "emulator" / "calibration.toml", "host_step_s = 0.00", "host_step_s = 0.01")


def drop_page(scratch: Path) -> None:
    """One page has no answer."""
    path = scratch / "datasets" / "mini" / "streams.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:5] + lines[6:]), encoding="utf-8")


def test_unchanged_it_is_green(scratch: Path) -> None:
    done = gate(scratch)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASS (no regression)") == 2


@pytest.mark.parametrize(
    ("regress", "code", "shown"),
    [
        (break_converter, 1, "FAIL text_edit: differs on"),
        (slow_scheduler, 1, "FAIL pps:"),
        (drop_page, 3, "27 of 28 pages have a prediction"),
    ],
)
def test_a_deliberate_regression_turns_it_red(
    scratch: Path, regress: Callable[[Path], None], code: int, shown: str
) -> None:
    regress(scratch)
    done = gate(scratch)
    assert (done.returncode, shown in done.stdout) == (code, True), done.stdout + done.stderr
