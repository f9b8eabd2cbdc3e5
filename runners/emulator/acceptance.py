"""How many drafted tokens a verification step accepts: by draft position and by kind of content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from runners.emulator.pages import Content, Steps

Segment = tuple[int, Content]


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Chance that the draft prefix of each length survives, by content; one row of `survival` per kind."""

    window: int
    survival: Mapping[Content, npt.NDArray[np.float64]]

    @classmethod
    def from_means(cls, window: int, means: Mapping[Content, float], decay: float) -> Acceptance:
        """Rates that give these mean tokens a step (drafts accepted + 1), the rate falling by `decay` a position.

        Every mean lies in [1, window + 1]; a mean that no rate reaches raises ValueError.
        """
        return cls(window, {kind: _survival(window, mean, decay) for kind, mean in means.items()})

    def with_window(self, window: int, decay: float) -> Acceptance:
        """The same rates with another window: cut, or going on with the same fall by position."""
        survival = {}
        for kind, row in self.survival.items():
            first = float(row[0]) if len(row) else 0.0
            survival[kind] = np.cumprod(first * decay ** np.arange(window))
        return Acceptance(window, survival)

    def mean(self, kind: Content) -> float:
        """Expected tokens a step on an endless stream of one kind."""
        return 1.0 + float(self.survival[kind].sum())

    def steps(self, segments: Sequence[Segment], random: np.random.Generator) -> Steps:
        """Tokens that each step of a stream advances; a step is drawn by the kind at its first token.

        The last step is cut at the end of the stream, so that the advances sum to the stream's length.
        """
        total = sum(length for length, _ in segments)
        if self.window == 0 or total == 0:
            return np.ones(total, dtype=np.int64)
        parts: list[Steps] = []
        position = end = 0
        for length, kind in segments:
            end += length
            if position < end:
                drawn = self._draw_until(end - position, kind, random)
                parts.append(drawn)
                position += int(drawn.sum())
        joined = np.concatenate(parts)
        joined[-1] -= position - total
        return joined

    def _draw_until(self, tokens: int, kind: Content, random: np.random.Generator) -> Steps:
        ascending = self.survival[kind][::-1]
        parts: list[Steps] = []
        missing = tokens
        while missing > 0:
            uniform = random.random(int(missing / self.mean(kind)) + 2)
            # survival falls with position: those above the draw are the accepted drafts
            drawn = 1 + self.window - np.searchsorted(ascending, uniform, side="right")
            reached = np.cumsum(drawn)
            used = int(np.searchsorted(reached, missing)) + 1
            parts.append(drawn[:used])
            missing -= int(reached[min(used, len(reached)) - 1])
        return np.concatenate(parts)


def most_tokens(window: int, decay: float) -> float:
    """Mean tokens a step when the first draft is always accepted."""
    return 1.0 + float(np.cumprod(decay ** np.arange(window)).sum())


def _survival(window: int, mean: float, decay: float) -> npt.NDArray[np.float64]:
    positions = np.arange(window)
    low, high = 0.0, 1.0
    for _ in range(60):
        rate = (low + high) / 2
        value = 1.0 + float(np.cumprod(rate * decay**positions).sum())
        low, high = (rate, high) if value < mean else (low, rate)
    if window and abs(value - mean) > 1e-6:
        raise ValueError(f"no acceptance rate gives {mean} tokens a step with a window of {window}")
    return np.cumprod(high * decay**positions)
