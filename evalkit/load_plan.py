"""At which loads a system is driven: one, a sweep, a search for the most within a latency, or one repeated."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from evalkit import registry
from evalkit.errors import UserError
from evalkit.types import Load

LATENCIES = ("latency_p50_s", "latency_p95_s", "ttft_p50_s")
MOST_IN_FLIGHT = 65_535
"""More connections than that one client has no ports for."""
_QUANTILE = re.compile(r"_p(\d+)_s$")


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """The loads of one run. The largest of `sizes` (requests in flight) is the main load.

    The drive at the main load is the run's own: its answers are scored. Every other drive only adds to the figures of
    speed. `max_latency_s` asks for the most in flight, up to `max_in_flight`, that keep `latency_figure` within it;
    `repeats` drives the main load so many times, to see whether the rates agree.
    """

    sizes: tuple[int, ...] = (16,)
    shape: str = "closed"
    rate_per_s: float | None = None
    max_latency_s: float | None = None
    latency_figure: str = "latency_p95_s"
    max_in_flight: int = 512
    repeats: int = 1

    @property
    def main(self) -> Load:
        """The load of the run's own drive."""
        return Load(self.shape, max(self.sizes), self.rate_per_s)

    @property
    def name(self) -> str:
        """The main load as a part of a folder's name."""
        return f"bs{max(self.sizes)}" if self.shape == "closed" else f"{self.shape}{self.rate_per_s:g}"

    @property
    def is_swept(self) -> bool:
        """Whether there are drives at other loads than the main one."""
        return len(set(self.sizes)) > 1 or self.max_latency_s is not None

    def check(self, pages: int) -> None:
        """Raises UserError for a plan that cannot be carried out over so many pages."""
        if not self.sizes or min(self.sizes) < 1:
            raise UserError(f"--bs {','.join(map(str, self.sizes))}: must be 1 or more")
        if max(*self.sizes, self.max_in_flight) > MOST_IN_FLIGHT:
            raise UserError(f"--bs and --max-bs must be at most {MOST_IN_FLIGHT}")
        if self.repeats < 1:
            raise UserError(f"--repeat must be 1 or more, not {self.repeats}")
        if self.shape == "closed" and self.rate_per_s is not None:
            raise UserError("--rate is for --arrivals constant or poisson; a closed loop takes --bs")
        if self.shape != "closed" and not (self.rate_per_s and 0 < self.rate_per_s < math.inf):
            raise UserError(f"{self.shape} arrivals need a rate above 0 pages/s: give --rate")
        if self.shape != "closed" and self.is_swept:
            raise UserError(f"several loads and --max-latency are for closed loops, not for {self.shape} arrivals")
        if self.repeats > 1 and self.is_swept:
            raise UserError("--repeat drives one load: leave out the other --bs and --max-latency")
        if self.max_latency_s is not None:
            self._check_search(pages)

    def _check_search(self, pages: int) -> None:
        if not (self.max_latency_s and self.max_latency_s > 0):
            raise UserError(f"--max-latency must be above 0 seconds, not {self.max_latency_s}")
        if self.max_in_flight < 1:
            raise UserError(f"--max-bs must be 1 or more, not {self.max_in_flight}")
        _check_figure(self.latency_figure, pages)


def _check_figure(name: str, pages: int) -> None:
    """Raises UserError for a figure that a search cannot go by, or that so many pages cannot tell."""
    found = _QUANTILE.search(name)
    if name not in LATENCIES or found is None:
        raise UserError(f"a search goes by one of {', '.join(LATENCIES)}, not by {name}")
    needed = registry.load("figures", "fewest_pages")(int(found[1]) / 100)
    if pages < needed:
        raise UserError(
            f"{name} cannot be told from {pages} pages (p50 needs 6, p95 needs 72): it takes {needed} or more. "
            "Take more pages, or --latency-figure latency_p50_s"
        )


def parse_edges(text: str | None) -> tuple[int, ...]:
    """Lower edges of buckets in output tokens, as in 0,500,2000; () without a text. Raises UserError for others."""
    if text is None:
        return ()
    try:
        edges = tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise UserError(f"--edges {text}: expected numbers of output tokens, as in 0,500,2000") from error
    edges = edges if edges[0] == 0 else (0, *edges)
    if list(edges) != sorted(set(edges)) or edges[0] < 0:
        raise UserError(f"--edges {text}: must ascend from 0 or more")
    return edges


def parse_sizes(text: str) -> tuple[int, ...]:
    """Requests in flight as in 16 or 1,16,512. Raises UserError for anything else."""
    try:
        sizes = tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise UserError(f"--bs {text}: expected a number, or several as in 16,64,512") from error
    if min(sizes) < 1:
        raise UserError(f"--bs {text}: must be 1 or more")
    return sizes
