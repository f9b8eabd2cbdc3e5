"""How many worker processes to use."""

from __future__ import annotations

import os

from evalkit.errors import UserError


def worker_count(asked: int | None) -> int:
    """The number asked for, or the cores that this process may use. Raises UserError under 1."""
    if asked is None:
        return max(len(os.sched_getaffinity(0)), 1)
    if asked < 1:
        raise UserError(f"--workers must be 1 or more, not {asked}")
    return asked
