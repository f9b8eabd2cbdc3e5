"""The CI examples of the docs: their steps are run as they stand, with a green and a red candidate."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from evalkit.cli.main import main
from evalkit.dataset import load_dataset

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*-gate.yml"))


def steps(example: Path) -> list[str]:
    """The evalkit commands of an example, in order."""
    lines = example.read_text(encoding="utf-8").splitlines()
    return [line.strip().removeprefix("- ") for line in lines if re.match(r"\s+(- )?evalkit ", line)]


def perfect_predictions(folder: Path) -> None:
    """Markdown of the text of every page of `mini`."""
    folder.mkdir()
    for truth in load_dataset("mini").pages:
        text = "\n\n".join(block.text or block.html or "" for block in truth.blocks)
        (folder / f"{truth.page.stem}.md").write_text(text, encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's repository: predictions, a baseline of them, and rules."""
    monkeypatch.chdir(tmp_path)
    perfect_predictions(tmp_path / "predictions")
    evaluate = ["evaluate", "--predictions", "predictions", "--dataset", "mini", "--out", "before", "--no-cdm"]
    assert main([*evaluate, "--workers", "1"]) == 0
    assert main(["baseline", "save", "main", "before"]) == 0
    assert main(["gate", "init", "before"]) == 0
    return tmp_path


def run_steps(example: Path, project: Path) -> subprocess.CompletedProcess[str]:
    script = "\n".join(steps(example)).replace("evalkit ", f"{sys.executable} -m evalkit.cli.main ")
    environment = os.environ | {"DATASET": "mini", "OPTIONS": "--no-cdm --workers 1"}
    return subprocess.run(
        ["bash", "-euc", script], cwd=project, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_steps_run_green_and_red(example: Path, project: Path) -> None:
    assert [step.split()[1] for step in steps(example)] == ["evaluate", "gate"]
    done = run_steps(example, project)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in re.findall(r"runs/candidate/gate/[\w.]+", example.read_text(encoding="utf-8")):
        assert (project / name).exists()
    for path in (project / "predictions").glob("*.md"):
        path.write_text(path.read_text(encoding="utf-8")[::-1], encoding="utf-8")
    assert run_steps(example, project).returncode == 1


def test_both_examples_are_there() -> None:
    assert [path.stem for path in EXAMPLES] == ["github-gate", "gitlab-gate"]
