"""Grids of simulations: every combination of deployments, batch sizes, draft windows, limits and hardware."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from runners.emulator.deployments import Deployment, deployment
from runners.emulator.simulator import LoadShape, SimulatedLoad, simulate
from runners.emulator.variants import Forking
from runners.emulator.workload import PageSource, pages_of, pages_of_rows


@dataclass(frozen=True, slots=True)
class Grid:
    """What to simulate. Lists are crossed; None in `windows` and the three after it means as the deployment has it.

    `rows`, where given, are rows of recorded streams to take in place of `pages`, which then only names them.
    """

    deployments: Sequence[str]
    in_flight: Sequence[int] = (512,)
    windows: Sequence[int | None] = (None,)
    acceptances: Sequence[float | None] = (None,)
    max_streams: Sequence[int | None] = (None,)
    occupancies: Sequence[float | None] = (None,)
    hardware: Sequence[str | None] = (None,)
    pages: str = "hpd"
    rows: Sequence[Mapping[str, Any]] | None = None
    count: int | None = None
    shape: str = "closed"
    rate_per_s: float = 1.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class GridRow:
    """Figures of one combination; times in simulated seconds. `gain` is pages a second over the first deployment's."""

    deployment: str
    hardware: str
    in_flight: int
    window: int
    acceptance: float | None
    max_streams: int
    occupancy: float
    pages: int
    truncated: int
    pps: float
    tps: float
    tps_peak: float
    latency_p50_s: float
    latency_p95_s: float
    first_token_p50_s: float
    critical_path_steps: float
    accepted_length: float
    live_streams: float
    preemptions: int
    gain: float | None
    provenance: str = "simulated"

    def plain(self) -> dict[str, Any]:
        """The row as plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class GridResult:
    """Rows and where their pages came from; `estimated` when regions are guessed from paragraphs."""

    rows: tuple[GridRow, ...]
    pages: str
    estimated: bool


def run_grid(progress: Callable[[int, int], None] = lambda done, total: None, **options: Any) -> GridResult:
    """Simulate a grid; `options` are the fields of Grid."""
    grid = Grid(**options)
    if grid.rows is None:
        source = pages_of(grid.pages, grid.count, grid.seed)
    else:
        source = pages_of_rows(grid.rows[: grid.count], grid.pages, estimated=True)
    settings = list(
        product(grid.hardware, grid.in_flight, grid.windows, grid.acceptances, grid.max_streams, grid.occupancies)
    )
    total = len(settings) * len(grid.deployments)
    rows: list[GridRow] = []
    for setting in settings:
        baseline: float | None = None
        for name in grid.deployments:
            row = _run(grid, source, _configured(name, setting), setting, baseline)
            baseline = row.pps if baseline is None else baseline
            rows.append(row)
            progress(len(rows), total)
    return GridResult(tuple(rows), source.about, source.estimated)


_Setting = tuple[str | None, int, int | None, float | None, int | None, float | None]


def _configured(name: str, setting: _Setting) -> Deployment:
    hardware, _, window, acceptance, max_streams, occupancy = setting
    found = deployment(name)
    if hardware is not None:
        found = found.on_hardware(hardware)
    if window is not None or acceptance is not None:
        found = found.drafting(window, acceptance)
    limits: Mapping[str, Any] = {"max_streams": max_streams, "occupancy": occupancy}
    return found.with_limits(**{key: value for key, value in limits.items() if value is not None})


def _run(grid: Grid, source: PageSource, how: Deployment, setting: _Setting, baseline: float | None) -> GridRow:
    in_flight = setting[1]
    pages = source.sequential if how.variant.forking is Forking.NONE else source.branching
    load = SimulatedLoad(in_flight, LoadShape(grid.shape), grid.rate_per_s)
    run = simulate(how, pages, load, grid.seed)
    pps = run.pps_all
    return GridRow(
        deployment=how.name,
        hardware=how.cost.hardware.name,
        in_flight=in_flight,
        window=how.variant.window,
        acceptance=setting[3] if how.variant.window else None,
        max_streams=how.variant.limits.max_streams,
        occupancy=how.variant.limits.occupancy,
        pages=len(run.pages),
        truncated=len(run.pages) - len(run.valid),
        pps=pps,
        tps=run.tps,
        tps_peak=run.tps_peak(),
        critical_path_steps=run.mean_steps(),
        accepted_length=run.accepted_length(),
        live_streams=run.mean_live(),
        preemptions=run.engine.counters.preemptions,
        gain=None if baseline is None else pps / baseline,
        latency_p50_s=run.latency_s(0.5),
        latency_p95_s=run.latency_s(0.95),
        first_token_p50_s=run.first_token_s(0.5),
    )
