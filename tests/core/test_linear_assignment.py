"""The solver loaded from its own file is scipy's: the same owners, ties included."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment as scipys

from evalkit import linear_assignment
from evalkit.linear_assignment import linear_sum_assignment, solver_alone, solver_of_package


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (4, 9), (9, 4), (30, 30)])
def test_same_owners_as_scipy_with_ties(shape: tuple[int, int]) -> None:
    random = np.random.default_rng(shape[0])
    for _ in range(50):
        costs = random.integers(0, 4, shape).astype(float)
        for ours, theirs in zip(linear_sum_assignment(costs), scipys(costs), strict=True):
            assert list(ours) == list(theirs)


def test_a_process_that_matches_does_not_import_all_of_scipy() -> None:
    code = "import sys, evalkit.linear_assignment; sys.exit('scipy.optimize' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_scipy_kept_elsewhere_is_imported_as_usual(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(linear_assignment, "find_spec", lambda _: None)
    assert solver_alone() is None
    owners = [list(found) for found in solver_of_package()(np.array([[1.0, 0.0], [0.0, 1.0]]))]
    assert owners == [[0, 1], [1, 0]]


def test_a_broken_extension_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(linear_assignment, "EXTENSION", "nowhere")
    assert solver_alone() is None
