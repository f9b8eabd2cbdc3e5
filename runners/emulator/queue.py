"""Who is next: branches of started pages before new pages where the engine says so, else first come first served."""

from __future__ import annotations

from collections import deque

from runners.emulator.streams import Page, Stream

Key = tuple[int, float, int, int]


def order_key(stream: Stream) -> Key:
    """Algorithm 1's key: (0, arrival of the parent, -m, arrival of the child), or (1, arrival) for a page.

    m is the number of children that the parent has: among parents that came together, the one that has forked most.
    """
    if stream.is_main:
        return (1, stream.page.arrival_s, 0, stream.page.arrival)
    return (0, stream.page.arrival_s, -stream.page.children, stream.arrival)


class WaitingQueue:
    """Streams that wait for room. `branches_first` puts branches before pages; else one line for all."""

    def __init__(self, branches_first: bool) -> None:
        self._branches_first = branches_first
        self._branches: list[Stream] = []
        self._line: deque[Stream] = deque()

    def __len__(self) -> int:
        return len(self._branches) + len(self._line)

    def add(self, stream: Stream) -> None:
        """Put a stream at its place or at the end of the line."""
        if self._branches_first and not stream.is_main:
            self._branches.append(stream)
        else:
            self._line.append(stream)

    def put_back(self, stream: Stream) -> None:
        """Put a preempted stream at the head of the line."""
        if self._branches_first and not stream.is_main:
            self._branches.append(stream)
        else:
            self._line.appendleft(stream)

    @property
    def has_branches(self) -> bool:
        """Whether a branch waits before the line."""
        return bool(self._branches)

    def take_branches(self) -> list[Stream]:
        """All waiting branches in order; the caller adds back those it cannot start."""
        taken = sorted(self._branches, key=order_key)
        self._branches = []
        return taken

    def head(self) -> Stream | None:
        """First of the line."""
        return self._line[0] if self._line else None

    def pop_head(self) -> None:
        """Take the first out of the line."""
        self._line.popleft()

    def drop(self, page: Page) -> None:
        """Take all streams of a page out."""
        self._branches = [stream for stream in self._branches if stream.page is not page]
        self._line = deque(stream for stream in self._line if stream.page is not page)
