"""Functions for worker processes, well-behaved and not."""

from __future__ import annotations

import os
import signal
import time


def double(number: int) -> int:
    return 2 * number


def talk(number: int) -> str:
    """Prints on the stream that carries outcomes, and answers with more than a pipe holds."""
    print("x" * 1000, flush=True)
    os.write(1, b"noise past Python's own stream\n")
    return "y" * (number * 100_000)


def die_on_seven(number: int) -> int:
    if number == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def leave_on_seven(number: int) -> int:
    if number == 7:
        os._exit(3)
    return 2 * number


def raise_on_seven(number: int) -> int:
    if number == 7:
        raise ValueError("seven")
    return 2 * number


def sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def leave(code: str) -> None:
    os._exit(int(code))
