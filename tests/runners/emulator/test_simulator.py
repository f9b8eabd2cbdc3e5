"""Simulated loads: how many are in flight, what repeats, and figures that can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evalkit.errors import UserError
from runners.emulator.deployments import Deployment, deployment
from runners.emulator.grid import run_grid
from runners.emulator.pages import BlockTokens, PageTokens
from runners.emulator.simulator import LoadShape, SimulatedLoad, Simulation, simulate
from runners.emulator.variants import Forking
from runners.emulator.workload import pages_of, synthetic_pages
from tests.runners.emulator.cases import COST, variant

SMALL = Deployment(
    "small", "for tests", variant(Forking.NONE, max_streams=100, occupancy=1.0, token_budget=10_000), COST
)
PAGES = [PageTokens(f"p{number}", 16, 0, (BlockTokens(2, 10 + number),)) for number in range(20)]


def in_flight(run: Simulation, at_s: float) -> int:
    return sum(page.arrival_s <= at_s < (page.ended_s or 0.0) for page in run.pages)


@pytest.mark.parametrize("shape", [LoadShape.CLOSED, LoadShape.BATCHES])
def test_never_more_in_flight_than_asked_for(shape: LoadShape) -> None:
    run = simulate(SMALL, PAGES, SimulatedLoad(4, shape))
    assert max(in_flight(run, step.start_s) for step in run.log) == 4
    assert len(run.pages) == 20


def test_a_batch_starts_when_the_one_before_has_ended() -> None:
    run = simulate(SMALL, PAGES, SimulatedLoad(5, LoadShape.BATCHES))
    assert run.pages[5].arrival_s == max(page.ended_s or 0.0 for page in run.pages[:5])


def test_a_closed_loop_is_no_slower_than_batches() -> None:
    closed, batches = (
        simulate(SMALL, PAGES, SimulatedLoad(5, shape)) for shape in (LoadShape.CLOSED, LoadShape.BATCHES)
    )
    assert closed.window_s < batches.window_s


def test_poisson_arrivals_keep_their_rate() -> None:
    run = simulate(SMALL, PAGES * 50, SimulatedLoad(shape=LoadShape.POISSON, rate_per_s=2.0))
    assert len(run.pages) / run.pages[-1].arrival_s == pytest.approx(2.0, rel=0.1)


def test_figures_of_one_page_by_hand() -> None:
    run = simulate(SMALL, PAGES[:1], SimulatedLoad(1))
    (page,) = run.pages
    # one prefill iteration, then one for each of 2 + 1 + 10 + 1 tokens
    assert len(run.log) == 15
    assert run.window_s == pytest.approx(sum(step.end_s - step.start_s for step in run.log))
    assert run.pps == pytest.approx(1 / run.window_s)
    assert run.tps == pytest.approx(14 / run.window_s)
    assert page.first_token_s == run.log[1].end_s
    assert (run.accepted_length(), run.mean_steps()) == (1.0, 14.0)


def test_truncated_pages_do_not_count_as_valid() -> None:
    short = replace(SMALL, variant=variant(Forking.NONE, stream_tokens=20))
    run = simulate(short, PAGES, SimulatedLoad(4))
    assert len(run.valid) == 7
    assert run.pps == pytest.approx(run.pps_all * 7 / 20)


def test_the_same_seed_gives_the_same_result() -> None:
    pages = synthetic_pages("hpd", 40, 3)
    runs = [simulate(deployment("hpd-parsing"), pages, SimulatedLoad(16), seed) for seed in (1, 1, 2)]
    ends = [[page.ended_s for page in run.pages] for run in runs]
    assert ends[0] == ends[1] != ends[2]


def test_drawn_pages_have_the_published_lengths() -> None:
    pages = synthetic_pages("hpd", 3000, 5)
    sequential = [page.sequential_tokens + sum(block.content is not None for block in page.blocks) for page in pages]
    assert sum(sequential) / len(pages) == pytest.approx(1524.3, rel=0.01)
    assert sum(page.input_tokens for page in pages) / len(pages) == pytest.approx(4809.3, rel=0.02)
    looping = synthetic_pages("padoc-sequential", 384, 0)
    assert sum(page.sequential_tokens > 100_000 for page in looping) == 22


def test_a_grid_crosses_its_lists() -> None:
    result = run_grid(
        deployments=["hpd-ar", "hpd-parsing"],
        in_flight=[2, 8],
        windows=[2, 6],
        hardware=["H100"],
        pages="hpd",
        count=12,
    )
    assert [(row.deployment, row.in_flight, row.window) for row in result.rows] == [
        ("hpd-ar", 2, 0), ("hpd-parsing", 2, 2), ("hpd-ar", 2, 0), ("hpd-parsing", 2, 6),
        ("hpd-ar", 8, 0), ("hpd-parsing", 8, 2), ("hpd-ar", 8, 0), ("hpd-parsing", 8, 6),
    ]  # fmt: skip
    assert {row.provenance for row in result.rows} == {"simulated"}
    assert {row.hardware for row in result.rows} == {"H100"}
    assert all((row.gain is None) == (row.deployment == "hpd-ar") for row in result.rows)


def test_better_acceptance_means_fewer_steps() -> None:
    rows = run_grid(deployments=["hpd-parsing"], acceptances=[2.0, 4.0, 6.0], in_flight=[8], pages="hpd", count=12).rows
    steps = [row.critical_path_steps for row in rows]
    assert steps == sorted(steps, reverse=True)
    assert rows[0].accepted_length == pytest.approx(2.0, abs=0.2)


def test_pages_of_recorded_streams() -> None:
    source = pages_of("datasets/mini/streams.jsonl", None, 0)
    assert len(source.sequential) == len(source.branching) == 28
    assert not source.estimated


def test_an_unknown_source_lists_the_workloads() -> None:
    with pytest.raises(UserError, match="Workloads: hpd, padoc"):
        pages_of("no-such-thing", None, 0)
