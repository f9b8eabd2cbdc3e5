"""Fixtures for the whole test suite."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The research data that lies beside the checkout; tests that need it skip, and say so, where it is absent."""
    folder = Path(os.environ.get("EVALKIT_SHARED") or ROOT.parent / "shared")
    if not (folder / "golden").is_dir():
        pytest.skip(f"no research data at {folder}; set EVALKIT_SHARED to its folder")
    return folder
