"""When and where requests go: arrival times, the order of pages, and the board that client processes share."""

from __future__ import annotations

import fcntl
import mmap
import os
import random
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from evalkit.errors import UserError
from evalkit.types import Load, PageJob, System

SHAPES = ("closed", "constant", "poisson")
IN_FLIGHT_PER_PROCESS = 64
MAX_PROCESSES = 8
DOWN = 2**40
"""Added to the outstanding requests of an endpoint that refuses connections, so that it is never chosen again."""


def check_load(load: Load) -> None:
    """Raises UserError for a load that cannot be made."""
    if load.shape not in SHAPES:
        raise UserError(f"load shape must be one of {', '.join(SHAPES)}, not {load.shape!r}")
    if load.shape == "closed" and load.in_flight < 1:
        raise UserError(f"a closed loop needs 1 or more requests in flight, not {load.in_flight}")
    if load.shape != "closed" and not (load.rate_per_s and load.rate_per_s > 0):
        raise UserError(f"{load.shape} arrivals need a rate above 0 pages/s")


def require_closed(load: Load, system: System) -> None:
    """Raises UserError for timed arrivals at a system that is driven without a chat server of its own."""
    if load.shape != "closed":
        raise UserError(f"system {system.name} is driven in a closed loop only: leave out --arrivals {load.shape}")


def arrival_times_s(load: Load, count: int, seed: int) -> list[float] | None:
    """Scheduled arrivals in seconds from the start, absolute so that delays do not add up; None in a closed loop."""
    if load.shape == "closed":
        return None
    rate = load.rate_per_s or 1.0
    if load.shape == "constant":
        return [index / rate for index in range(count)]
    generator = random.Random(seed)
    times, now_s = [], 0.0
    for _ in range(count):
        times.append(now_s)
        now_s += generator.expovariate(rate)
    return times


def ordered(pages: Sequence[PageJob], order: str, seed: int) -> list[PageJob]:
    """Pages in the order in which they are sent. Raises UserError for an unknown order."""
    if order == "dataset":
        return list(pages)
    if order != "shuffled":
        raise UserError(f"page order must be dataset or shuffled, not {order!r}")
    shuffled = list(pages)
    random.Random(seed).shuffle(shuffled)
    return shuffled


def process_count(load: Load, asked: int | None) -> int:
    """How many client processes: one for every 64 requests in flight, at most one a core and 8."""
    if asked is not None:
        if asked < 1:
            raise UserError(f"client processes must be 1 or more, not {asked}")
        return asked
    cores = len(os.sched_getaffinity(0))
    wanted = -(-load.in_flight // IN_FLIGHT_PER_PROCESS) if load.shape == "closed" else 1
    return max(1, min(wanted, cores, MAX_PROCESSES))


def slots_of(load: Load, process: int, processes: int) -> int:
    """How many of the closed loop's slots one client process holds."""
    return load.in_flight // processes + (1 if process < load.in_flight % processes else 0)


class Board:
    """A counter of pages taken and the requests outstanding at each endpoint, shared by all client processes.

    Pages so go out in one order whatever the number of processes, and no process idles while pages are left.
    """

    def __init__(self, descriptor: int, endpoints: int) -> None:
        self.descriptor = descriptor
        self._layout = struct.Struct(f"={1 + endpoints}q")
        self._endpoints = endpoints
        if os.fstat(descriptor).st_size < self._layout.size:
            os.ftruncate(descriptor, self._layout.size)
        self._map = mmap.mmap(descriptor, self._layout.size)

    @classmethod
    def create(cls, endpoints: int) -> Board:
        """A new board in anonymous memory."""
        return cls(os.memfd_create("evalkit-board"), endpoints)

    @contextmanager
    def _exclusive(self) -> Iterator[list[int]]:
        fcntl.lockf(self.descriptor, fcntl.LOCK_EX)
        try:
            values = list(self._layout.unpack(self._map[: self._layout.size]))
            yield values
            self._map[: self._layout.size] = self._layout.pack(*values)
        finally:
            fcntl.lockf(self.descriptor, fcntl.LOCK_UN)

    def take(self) -> int:
        """The number of the next page; each number is given once."""
        with self._exclusive() as values:
            values[0] += 1
            return values[0] - 1

    def choose_endpoint(self) -> int:
        """The endpoint with the fewest outstanding requests, which then has one more."""
        if self._endpoints == 1:
            return 0
        with self._exclusive() as values:
            chosen = min(range(self._endpoints), key=lambda index: values[1 + index])
            values[1 + chosen] += 1
            return chosen

    def finished(self, endpoint: int) -> None:
        """One request at an endpoint has ended."""
        if self._endpoints > 1:
            with self._exclusive() as values:
                values[1 + endpoint] -= 1

    def refuse(self, endpoint: int) -> bool:
        """Note that an endpoint refuses connections; whether another is left."""
        if self._endpoints == 1:
            return False
        with self._exclusive() as values:
            if values[1 + endpoint] < DOWN // 2:
                values[1 + endpoint] += DOWN
            return any(outstanding < DOWN // 2 for outstanding in values[1:])

    def refusing(self) -> list[int]:
        """The endpoints that were found to refuse connections while others were left."""
        with self._exclusive() as values:
            return [index for index, outstanding in enumerate(values[1:]) if outstanding >= DOWN // 2]

    def close(self) -> None:
        """Release the memory."""
        self._map.close()
        os.close(self.descriptor)
