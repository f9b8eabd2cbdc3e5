"""The state of pages and streams inside the engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from runners.emulator.kv import Lease
from runners.emulator.pages import PagePlan, Steps, StreamPlan


class Phase(StrEnum):
    """Where a stream stands. HELD: forked, but its page was preempted and must first be computed again."""

    UNBORN = "unborn"
    WAITING = "waiting"
    PREFILL = "prefill"
    DECODE = "decode"
    HELD = "held"
    DONE = "done"


@dataclass(slots=True, eq=False)
class Stream:
    """One stream at run time.

    `base` counts the tokens at the start of its private blocks that it did not emit itself. `steps_done` is exact
    while it does not decode; while it does, it stood so at iteration `decode_from`.
    """

    page: Page
    plan: StreamPlan
    arrival: int = -1
    phase: Phase = Phase.UNBORN
    reached: Steps = field(init=False)
    base: int = 0
    private_blocks: int = 0
    steps_done: int = 0
    decode_from: int = 0
    prefill_left: int = 0
    prefill_context: int = 0
    encode_patches: int = 0
    epoch: int = 0
    born_s: float = 0.0
    started_s: float | None = None
    ended_s: float | None = None

    def __post_init__(self) -> None:
        self.reached = np.cumsum(self.plan.steps)

    @property
    def is_main(self) -> bool:
        """Whether this is the page's main stream."""
        return self.plan.index == 0

    @property
    def shares_page(self) -> bool:
        """Whether it reads the page's own prefix (a branch, not a crop)."""
        return not self.is_main and self.plan.own_prompt is None

    @property
    def visible(self) -> int:
        """Tokens before its own first: the prompt, and for a branch the main stream up to its fork."""
        if self.plan.own_prompt is not None:
            return self.plan.own_prompt
        return self.page.plan.prompt_tokens + (0 if self.is_main else self.plan.fork_after or 0)

    def tokens_after(self, steps: int) -> int:
        """Own tokens that exist after a number of steps."""
        return int(self.reached[steps - 1]) if steps else 0

    def steps_at(self, iteration: int) -> int:
        """Steps done before an iteration."""
        if self.phase is Phase.DECODE:
            return self.steps_done + max(iteration - self.decode_from, 0)
        return self.steps_done


@dataclass(slots=True, eq=False)
class Page:
    """One page at run time. `trunk` holds the blocks of the prompt and the main stream."""

    plan: PagePlan
    arrival: int
    arrival_s: float
    trunk: Lease
    streams: list[Stream] = field(default_factory=list)
    children: int = 0
    unfinished: int = 0
    trunk_ready: bool = False
    cached_tokens: int = 0
    computed_tokens: int = 0
    preemptions: int = 0
    started_s: float | None = None
    first_token_s: float | None = None
    ended_s: float | None = None
    aborted: bool = False

    @property
    def main(self) -> Stream:
        """The main stream."""
        return self.streams[0]

    @property
    def live(self) -> list[Stream]:
        """Streams that occupy the engine now."""
        return [stream for stream in self.streams if stream.phase in (Phase.PREFILL, Phase.DECODE)]
