"""The program of a worker process: reads chunks of items from stdin, writes one outcome an item to stdout."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import struct
import sys
import traceback
from functools import cache
from importlib import import_module
from typing import Any

from evalkit.collector import FEWER

_LENGTH = struct.Struct("<Q")
MOST_BYTES_A_READ = 1 << 20


def frame(value: Any) -> bytes:
    """A value with its length before it."""
    body = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(body)) + body


def read_frame(handle: int) -> bytes | None:
    """The next pickled value of a pipe, None at its end or when it ends in the middle of one.

    Reads the file descriptor itself: a buffer would hide frames from a selector that waits for them.
    """
    head = _read(handle, _LENGTH.size)
    return None if head is None else _read(handle, *_LENGTH.unpack(head))


def _read(handle: int, length: int) -> bytes | None:
    parts: list[bytes] = []
    while length:
        part = os.read(handle, min(length, MOST_BYTES_A_READ))
        if not part:
            return None
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


@cache
def _function(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


def call(target: str, item: Any) -> tuple[Any, str | None]:
    """(value, None), or (None, why it failed). One failing item must not end the run, so every error is caught."""
    try:
        return _function(target)(item), None
    except Exception as error:
        traceback.print_exc()
        return None, f"{type(error).__name__}: {error}"[:500]


def main(target: str) -> None:
    """Serve until stdin closes. Prints of libraries go to stderr, since stdout carries the outcomes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    outcomes = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    gc.set_threshold(*FEWER)
    while (chunk := read_frame(sys.stdin.fileno())) is not None:
        for item in pickle.loads(chunk):
            outcomes.write(frame(call(target, item)))
            outcomes.flush()


if __name__ == "__main__":
    main(sys.argv[1])
