"""Python's cycle collector, asked to look less often, or not at all, while very many records are made.

Records are freed by their reference counts. With the usual thresholds the collector walks all of them over and over,
which takes half of the time of loading a large data set.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

FEWER = (200_000, 50, 100)


@contextmanager
def fewer_collections() -> Iterator[None]:
    """Raise the collector's thresholds while the block runs."""
    before = gc.get_threshold()
    gc.set_threshold(*(max(pair) for pair in zip(before, FEWER, strict=True)))
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def no_collections() -> Iterator[None]:
    """Stop the collector while the block runs; for work that makes no reference cycles.

    What was made goes to the oldest generation unseen, or the collector would walk it as soon as it goes on.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        if running:
            gc.enable()
