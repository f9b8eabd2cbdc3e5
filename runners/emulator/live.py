"""The engine in real time: its virtual clock follows the wall clock at a chosen speed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from runners.emulator.engine import Engine, Iteration
from runners.emulator.pages import PagePlan
from runners.emulator.streams import Page

_SHORTEST_SLEEP_S = 0.0003


@dataclass(slots=True, eq=False)
class LiveRequest:
    """A page under way. `progress` brings the number of main-stream tokens so far, then None at the end."""

    page: Page
    progress: asyncio.Queue[int | None] = field(default_factory=asyncio.Queue)
    told: int = 0


class LiveEngine:
    """Runs an engine as a task of the event loop; `speed` emulated seconds pass in one second.

    A machine too slow for the speed falls behind: the engine's own times stay exact, `lag_s` says by how much the wall
    clock is late (in seconds of the wall clock, the most so far).
    """

    def __init__(self, engine: Engine, speed: float) -> None:
        self.engine = engine
        self.speed = speed
        self.lag_s = 0.0
        self._loop = asyncio.get_running_loop()
        self._start_s = self._loop.time()
        self._wake = asyncio.Event()
        self._requests: dict[int, LiveRequest] = {}
        self._ended: list[Page] = []
        self._step: Iteration | None = None
        engine.on_page = self._ended.append

    def clock_s(self) -> float:
        """Emulated time now: inside the iteration that runs, or by the wall clock when idle."""
        wall_s = (self._loop.time() - self._start_s) * self.speed
        if self._step is None:
            return max(wall_s, self.engine.now_s)
        return min(max(wall_s, self._step.start_s), self._step.end_s)

    def wall_s(self) -> float:
        """Wall-clock seconds since the start."""
        return self._loop.time() - self._start_s

    def submit(self, plan: PagePlan) -> LiveRequest:
        """Hand a page to the engine, now."""
        page = self.engine.submit(plan, self.clock_s())
        request = LiveRequest(page)
        self._requests[page.arrival] = request
        self._wake.set()
        return request

    def abort(self, request: LiveRequest) -> None:
        """Drop a page whose client is gone."""
        self.engine.abort(request.page)
        self._requests.pop(request.page.arrival, None)

    async def run(self) -> None:
        """Iterate for ever; cancel to stop."""
        while True:
            if self.engine.idle:
                self._step = None
                self._wake.clear()
                await self._wake.wait()
                if self.engine.idle:
                    continue  # its client went away before the first iteration
                first_s = min(page.arrival_s for page in self.engine.pages.values())
                self.engine.now_s = max(self.engine.now_s, first_s)
                continue
            self._step = self.engine.step()
            await self._sleep_until(self._step.end_s)
            self._deliver()

    async def _sleep_until(self, virtual_s: float) -> None:
        ahead_s = self._start_s + virtual_s / self.speed - self._loop.time()
        await asyncio.sleep(ahead_s if ahead_s > _SHORTEST_SLEEP_S else 0)
        self.lag_s = max(self.lag_s, -ahead_s)

    def _deliver(self) -> None:
        iteration = self.engine.iteration
        for request in self._requests.values():
            main = request.page.main
            tokens = main.tokens_after(main.steps_at(iteration))
            if tokens > request.told:
                request.told = tokens
                request.progress.put_nowait(tokens)
        for page in self._ended:
            ended = self._requests.pop(page.arrival, None)
            if ended is not None:
                ended.progress.put_nowait(None)
        self._ended.clear()
