"""Growth that the decoding streams bring, added up by iteration, so that an iteration costs O(1)."""

from __future__ import annotations

import numpy as np

from runners.emulator.pages import Steps

_ROOM = 4096


class Timetable:
    """Sums by future iteration. A stream that decodes takes part in every iteration until it ends or is preempted."""

    def __init__(self) -> None:
        self._first = 0
        self._tokens: Steps = np.zeros(_ROOM, dtype=np.int64)
        self._blocks: Steps = np.zeros(_ROOM, dtype=np.int64)

    def add(self, iteration: int, tokens: Steps, blocks: Steps, sign: int = 1) -> None:
        """Add (or with sign -1 take back) a stream's growth, its first value falling on `iteration`."""
        start = iteration - self._first
        end = start + len(tokens)
        if end > len(self._tokens):
            self._make_room(iteration, len(tokens))
            start = iteration - self._first
            end = start + len(tokens)
        self._tokens[start:end] += sign * tokens
        self._blocks[start:end] += sign * blocks

    def tokens_at(self, iteration: int) -> int:
        """Tokens by which all contexts grow in an iteration."""
        index = iteration - self._first
        return int(self._tokens[index]) if index < len(self._tokens) else 0

    def blocks_at(self, iteration: int) -> int:
        """Blocks that the decoding streams need in an iteration."""
        index = iteration - self._first
        return int(self._blocks[index]) if index < len(self._blocks) else 0

    def _make_room(self, iteration: int, length: int) -> None:
        # iterations before the one asked for are over and may be dropped
        passed = iteration - self._first
        size = max(len(self._tokens), 2 * length, _ROOM) * 2
        for name in ("_tokens", "_blocks"):
            old: Steps = getattr(self, name)
            fresh = np.zeros(size, dtype=np.int64)
            kept = old[passed:]
            fresh[: len(kept)] = kept
            setattr(self, name, fresh)
        self._first = iteration
