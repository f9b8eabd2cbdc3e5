"""What is done after the timed drive: an interrupt there leaves the rest of it out, but not the drive."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

LEFT_OUT = "interrupted after the last page: not everything that follows a drive was done"


class Afterwards:
    """Does one piece of work after another until one is interrupted (Ctrl-C); from then on nothing."""

    def __init__(self) -> None:
        self.interrupted = False

    def do(self, work: Callable[[], Result]) -> Result | None:
        """The result of the work; None when it, or work before it, was interrupted."""
        if self.interrupted:
            return None
        try:
            return work()
        except KeyboardInterrupt:
            self.interrupted = True
            return None
