"""Virtual time: pages through an engine under a load, and the figures that this gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from runners.emulator.deployments import Deployment
from runners.emulator.engine import Engine, Iteration
from runners.emulator.pages import PagePlan, PageTokens
from runners.emulator.streams import Page
from runners.emulator.variants import plan_page

PEAK_WINDOW_S = 10.0


class LoadShape(StrEnum):
    """closed: so many pages in flight. batches: so many at once, the next when all ended. poisson: a rate."""

    CLOSED = "closed"
    BATCHES = "batches"
    POISSON = "poisson"


@dataclass(frozen=True, slots=True)
class SimulatedLoad:
    """How pages arrive; `in_flight` for closed and batches, `rate_per_s` for poisson."""

    in_flight: int = 16
    shape: LoadShape = LoadShape.CLOSED
    rate_per_s: float = 1.0


@dataclass(frozen=True, slots=True)
class Simulation:
    """Pages that ended, in order of arrival, and the engine's iterations. All times are simulated seconds."""

    pages: tuple[Page, ...]
    log: tuple[Iteration, ...]
    engine: Engine

    @property
    def valid(self) -> tuple[Page, ...]:
        """Pages that met no token limit."""
        return tuple(page for page in self.pages if not page.plan.truncated)

    @property
    def window_s(self) -> float:
        """First arrival to last end."""
        return max(page.ended_s or 0.0 for page in self.pages) - min(page.arrival_s for page in self.pages)

    @property
    def pps(self) -> float:
        """Valid pages a second."""
        return len(self.valid) / self.window_s

    @property
    def pps_all(self) -> float:
        """All pages that ended, a second."""
        return len(self.pages) / self.window_s

    @property
    def tps(self) -> float:
        """Output tokens of all pages a second."""
        return sum(page.plan.tokens for page in self.pages) / self.window_s

    def latency_s(self, quantile: float) -> float:
        """A quantile (0 to 1) of the valid pages' time from arrival to end."""
        return float(np.quantile([(page.ended_s or 0.0) - page.arrival_s for page in self.valid], quantile))

    def first_token_s(self, quantile: float) -> float:
        """A quantile of the time from arrival to the first token decoded."""
        return float(np.quantile([(page.first_token_s or 0.0) - page.arrival_s for page in self.valid], quantile))

    def tps_peak(self) -> float:
        """Most output tokens a second in any window of ten seconds."""
        ends = np.array([step.end_s for step in self.log])
        tokens = np.cumsum([step.tokens for step in self.log])
        before = np.searchsorted(ends, ends - PEAK_WINDOW_S)
        earlier = np.where(before > 0, tokens[before - 1], 0)
        return float(np.max(tokens - earlier)) / min(PEAK_WINDOW_S, max(self.window_s, 1e-9))

    def accepted_length(self) -> float:
        """Tokens a decoding step."""
        return sum(page.plan.tokens for page in self.pages) / sum(page.plan.decoding_steps for page in self.pages)

    def mean_steps(self) -> float:
        """Decoding steps on the critical path, mean over pages."""
        return float(np.mean([page.plan.critical_path_steps() for page in self.pages]))

    def mean_live(self) -> float:
        """Live streams, averaged over time."""
        return sum(step.live * (step.end_s - step.start_s) for step in self.log) / max(self.window_s, 1e-9)


def simulate(deployment: Deployment, pages: Sequence[PageTokens], load: SimulatedLoad, seed: int = 0) -> Simulation:
    """Run pages through a deployment in virtual time. The same arguments give the same result."""
    plans = [plan_page(page, deployment.variant, seed) for page in pages]
    engine = deployment.engine()
    started: list[Page] = []
    _DRIVERS[load.shape](engine, plans, load, seed, started)
    return Simulation(tuple(started), tuple(engine.log), engine)


def _closed(engine: Engine, plans: list[PagePlan], load: SimulatedLoad, seed: int, started: list[Page]) -> None:
    waiting = iter(plans)

    def next_page(_: Page | None = None) -> None:
        if (plan := next(waiting, None)) is not None:
            started.append(engine.submit(plan, engine.now_s))

    engine.on_page = next_page
    for _ in range(load.in_flight):
        next_page()
    while not engine.idle:
        engine.step()


def _batches(engine: Engine, plans: list[PagePlan], load: SimulatedLoad, seed: int, started: list[Page]) -> None:
    for first in range(0, len(plans), load.in_flight):
        for plan in plans[first : first + load.in_flight]:
            started.append(engine.submit(plan, engine.now_s))
        while not engine.idle:
            engine.step()


def _poisson(engine: Engine, plans: list[PagePlan], load: SimulatedLoad, seed: int, started: list[Page]) -> None:
    gaps = np.random.default_rng([seed, 2]).exponential(1 / load.rate_per_s, len(plans))
    for plan, arrival in zip(plans, np.cumsum(gaps), strict=True):
        arrival_s = float(arrival)
        while not engine.idle and engine.now_s < arrival_s:
            engine.step()
        engine.now_s = max(engine.now_s, arrival_s)
        started.append(engine.submit(plan, arrival_s))
    while not engine.idle:
        engine.step()


_Driver = Callable[[Engine, list[PagePlan], SimulatedLoad, int, list[Page]], None]
_DRIVERS: dict[LoadShape, _Driver] = {
    LoadShape.CLOSED: _closed,
    LoadShape.BATCHES: _batches,
    LoadShape.POISSON: _poisson,
}
