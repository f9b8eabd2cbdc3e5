"""Figures of speed on drives small enough to be worked by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.types import (
    BranchTokens,
    Figure,
    FinishState,
    Load,
    Observation,
    OutputFacts,
    Provenance,
    RawOutput,
    RunFacts,
    Sample,
    System,
    TokenCounts,
)
from metrics import buckets, decoding_steps, energy, latency, page_figures, quantiles, throughput, validity
from metrics.server_figures import told

AR = System(name="ar", title="AR", runner="openai")
HIERARCHICAL = replace(AR, paradigm="hierarchical", speculative=True, output=OutputFacts(stream="hpd"))


def page(
    name: str,
    send_s: float,
    last_s: float,
    *,
    first_s: float | None = None,
    tokens: int | None = 10,
    state: FinishState = FinishState.OK,
    arrival_s: float | None = None,
    **extra: Any,
) -> RawOutput:
    return RawOutput(
        page_id=name,
        text="text" if state is FinishState.OK else None,
        state=state,
        arrival_s=send_s if arrival_s is None else arrival_s,
        send_s=send_s,
        first_s=first_s,
        last_s=last_s,
        tokens=TokenCounts(100, tokens, 0),
        extra=extra,
    )


def seen(*outputs: RawOutput, system: System = AR, in_flight: int = 2, **changes: Any) -> Observation:
    facts = changes.pop("facts", RunFacts("server", 0.0))
    base = Observation(system, Load("closed", in_flight), len(outputs), outputs, facts)
    return replace(base, **changes)


def server_samples(*rows: tuple[float, Mapping[str, float]]) -> RunFacts:
    return RunFacts("server", 0.0, samples=tuple(Sample(time_s, "server", values) for time_s, values in rows))


def named(figures: list[Figure]) -> dict[str, Figure]:
    return {figure.name: figure for figure in figures}


# Two slots, W = [1, 11]: p1 1-4, p2 1-6, p3 4-8 truncated, p4 6-11.
FOUR = (
    page("p1", 1, 4, tokens=30),
    page("p2", 1, 6, tokens=50),
    page("p3", 4, 8, tokens=40, state=FinishState.TRUNCATED),
    page("p4", 6, 11, tokens=60),
)


def test_throughput_by_hand() -> None:
    found = named(throughput.figures(seen(*FOUR, chars={"p1": 100, "p2": 200, "p3": 300, "p4": 400})))
    assert found["pps"].value == pytest.approx(3 / 10)
    assert found["pps_all"].value == pytest.approx(4 / 10)
    assert found["tps"].value == pytest.approx(180 / 10)
    assert found["chars_per_s"].value == pytest.approx(1000 / 10)
    # both slots busy from 1 until p3 ends at 8 and no page is left: p1 and p2 ended well in it
    assert found["full_load_share"].value == pytest.approx(7 / 10)
    assert found["pps_full"].value == pytest.approx(2 / 7)
    assert found["pps"].provenance is Provenance.MEASURED


def test_the_time_of_failed_pages_counts_and_their_pages_do_not() -> None:
    failed = page("p5", 11, 21, tokens=None, state=FinishState.TIMEOUT)
    found = named(throughput.figures(seen(*FOUR, failed)))
    assert found["pps"].value == pytest.approx(3 / 20)
    assert found["tps"].value == pytest.approx(180 / 20)


def test_a_short_share_of_full_load_is_not_printed() -> None:
    found = named(throughput.figures(seen(page("p1", 0, 1), page("p2", 0, 10), in_flight=2)))
    assert found["pps_full"].value is None
    assert found["full_load_share"].value == pytest.approx(0.1)
    assert "under 20%" in (found["pps_full"].reason or "")


def test_an_interrupted_run_has_no_rates_and_keeps_its_latencies() -> None:
    observation = seen(*FOUR, sessions=2)
    found = named(throughput.figures(observation))
    assert {name: figure.value for name, figure in found.items()} == dict.fromkeys(
        ("pps", "pps_all", "pps_full", "full_load_share", "tps", "tps_peak", "chars_per_s")
    )
    assert {found[name].reason for name in ("pps", "tps_peak")} == {"the run was interrupted and resumed"}
    assert named(latency.figures(observation))["latency_mean_s"].value == pytest.approx(13 / 3)


def test_every_figure_of_an_emulated_server_says_so() -> None:
    observation = seen(*FOUR, facts=RunFacts("server", 0.0, emulated=True))
    for module in (throughput, latency, decoding_steps, energy):
        assert {figure.provenance for figure in module.figures(observation)} == {Provenance.EMULATED}


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([(0, 0), (5, 500)], None),
        ([(0, 0), (10, 500)], 50.0),
        ([(0, 0), (4, 100), (10, 400), (14, 1100), (20, 1200)], 100.0),
        ([(0, 0), (0.2, 5), (10.2, 1005), (10.4, 1100)], 100.0),
    ],
    ids=["too short", "just long enough", "best of several", "uneven samples"],
)
def test_peak_is_the_greatest_rise_of_the_counter(counts: list[tuple[float, float]], expected: float | None) -> None:
    facts = server_samples(*((time_s, {"generation_tokens": value}) for time_s, value in counts))
    figure = named(throughput.figures(seen(*FOUR, facts=facts)))["tps_peak"]
    assert figure.value == (None if expected is None else pytest.approx(expected))


def test_latency_ttft_and_tpot_by_hand() -> None:
    outputs = [page(f"p{n}", n, n + 2.0, first_s=n + 0.5, tokens=31, arrival_s=n - 1.0) for n in range(6)]
    found = named(latency.figures(seen(*outputs)))
    assert found["latency_mean_s"].value == pytest.approx(2.0)
    assert found["queued_latency_p50_s"].value == pytest.approx(3.0)
    assert found["ttft_p50_s"].value == pytest.approx(0.5)
    assert found["tpot_p50_s"].value == pytest.approx(1.5 / 30)
    told_first = [replace(output, extra={"chunk_tokens": [6, 31]}) for output in outputs]
    assert named(latency.figures(seen(*told_first)))["tpot_p50_s"].value == pytest.approx(1.5 / 25)


def test_tpot_without_the_first_chunk_s_tokens_is_estimated_when_tokens_come_in_groups() -> None:
    outputs = [page(f"p{n}", n, n + 2.0, first_s=n + 0.5) for n in range(6)]
    system = replace(AR, speculative=True)
    assert named(latency.figures(seen(*outputs, system=system)))["tpot_p50_s"].provenance is Provenance.ESTIMATED


def test_pages_that_come_as_a_whole_have_no_time_per_token() -> None:
    outputs = [page(f"p{n}", n, n + 2.0, first_s=n + 1.999) for n in range(6)]
    figure = named(latency.figures(seen(*outputs)))["tpot_p50_s"]
    assert (figure.value, figure.reason) == (None, "the server sends a page when it is complete, not as it is decoded")


@pytest.mark.parametrize(("share", "count"), [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368)])
def test_a_quantile_is_left_out_when_there_are_too_few_pages(share: float, count: int) -> None:
    name = f"latency_p{round(share * 100)}_s"
    enough = [page(f"p{n}", 0, 1 + n) for n in range(count)]
    assert named(latency.figures(seen(*enough)))[name].value is not None
    few = named(latency.figures(seen(*enough[1:])))[name]
    assert few.value is None
    assert few.reason == f"p{round(share * 100)} needs {count} pages, there are {count - 1}"


def test_failures_count_as_infinitely_long_beside() -> None:
    outputs = [page(f"p{n}", 0, 1 + n) for n in range(30)]
    failed = [page(f"f{n}", 0, 1, state=FinishState.ERROR) for n in range(10)]
    found = named(latency.figures(seen(*outputs, *failed)))
    assert found["latency_p50_s"].value == pytest.approx(15)
    assert found["latency_all_p50_s"].value == pytest.approx(20)
    assert found["latency_all_p90_s"].value is None
    assert found["latency_all_p90_s"].reason == "more than 10% of the pages failed"


@given(st.lists(st.floats(0, 1e6), min_size=6, max_size=200))
def test_a_median_lies_in_its_interval_and_in_the_data(values: list[float]) -> None:
    ordered = sorted(values)
    interval = quantiles.quantile_interval(ordered, 0.5)
    assert interval is not None
    assert interval[0] <= quantiles.quantile(ordered, 0.5) <= interval[1]
    assert set(interval) <= set(ordered)


def test_quantile_interval_of_six_is_their_range() -> None:
    # P(all six above the median) = 1/64 < 2.5 %, so the interval is the whole sample
    assert quantiles.quantile_interval([1, 2, 3, 4, 5, 6], 0.5) == (1, 6)


def test_a_structural_critical_path_by_hand() -> None:
    # layout 40 tokens; branches forked after 10, 25 and 39 layout tokens with 100, 20 and 30 tokens
    branch = BranchTokens("p1", 190, 40, ((10, 100), (25, 20), (39, 30)))
    assert (branch.critical_path, branch.sequential) == (110, 190)
    facts = RunFacts("server", 0.0, branches=(branch,))
    system = replace(HIERARCHICAL, speculative=False)
    found = named(decoding_steps.figures(seen(page("p1", 0, 1, tokens=190), system=system, facts=facts)))
    assert found["path_tokens_per_page"].value == 110
    assert found["step_reduction"].value == pytest.approx(1 - 110 / 190)
    assert found["path_steps_per_page"].value == 110
    assert found["steps_per_page"].value == 190
    assert found["accepted_length"].reason == "the system does not speculate"


def test_steps_and_accepted_length_from_the_server_s_own_figures() -> None:
    def answer(name: str, tokens: int, steps: int) -> RawOutput:
        counts = {
            "num_spec_steps": steps,
            "num_accepted_draft_tokens": tokens - steps,
            "num_draft_tokens": 6 * steps,
        }
        return page(name, 0, 1, tokens=tokens, server_metrics={"speculative_decoding": counts})

    outputs = (answer("p1", 60, 10), answer("p2", 30, 15))
    found = named(decoding_steps.figures(seen(*outputs, system=replace(AR, speculative=True))))
    assert found["steps_per_page"].value == 12.5
    assert found["accepted_length"].value == pytest.approx(90 / 25)
    assert found["accepted_length_page_mean"].value == pytest.approx((6 + 2) / 2)
    assert found["acceptance_rate"].value == pytest.approx(65 / 150)


def test_steps_from_counters_when_pages_do_not_tell() -> None:
    first = {
        "spec_decode_num_drafts": 100.0,
        "spec_decode_num_accepted_tokens": 50.0,
        "spec_decode_num_draft_tokens": 300.0,
    }
    last = {
        "spec_decode_num_drafts": 120.0,
        "spec_decode_num_accepted_tokens": 90.0,
        "spec_decode_num_draft_tokens": 360.0,
    }
    positions = [
        {"spec_decode_num_accepted_tokens_per_pos.0": 5.0},
        {"spec_decode_num_accepted_tokens_per_pos.0": 25.0},
    ]
    facts = server_samples((0, first | positions[0]), (1, last | positions[1]))
    outputs = (page("p1", 0, 1, tokens=32), page("p2", 0, 1, tokens=30))
    found = named(decoding_steps.figures(seen(*outputs, system=replace(AR, speculative=True), facts=facts)))
    assert (found["steps_per_page"].value, found["steps_per_page"].provenance) == (10.0, Provenance.MEASURED)
    assert found["accepted_length"].value == 3.0
    assert found["accepted_length"].details == {"by_position": [20]}
    assert found["acceptance_rate"].value == pytest.approx(40 / 60)


def test_a_counter_that_was_not_read_after_the_last_page_tells_nothing() -> None:
    early = healthy(*FOUR)
    assert early.facts is not None
    first, last = early.facts.samples
    gone = replace(early, facts=replace(early.facts, samples=(first, replace(last, time_s=10.9))))
    unsure = {name for name, passed in verdicts(gone).items() if passed is None}
    assert unsure == {"token_counts_agree", "server_to_itself"}


def test_counters_of_the_last_drive_tell_nothing_of_pages_of_earlier_ones() -> None:
    names = ("spec_decode_num_drafts", "spec_decode_num_accepted_tokens", "spec_decode_num_draft_tokens")
    facts = server_samples((0, dict.fromkeys(names, 0.0)), (1, dict(zip(names, (10.0, 20.0, 30.0), strict=True))))
    outputs = (page("p1", 0, 1, chunk_times_s=[0.5] * 9), page("p2", 0, 1, chunk_times_s=[0.5] * 11))
    resumed = seen(*outputs, system=replace(AR, speculative=True), facts=facts, sessions=2)
    found = named(decoding_steps.figures(resumed))
    assert (found["steps_per_page"].value, found["steps_per_page"].provenance) == (10.0, Provenance.ESTIMATED)
    assert found["accepted_length"].value == 3.0
    unsure = {name for name, passed in verdicts(replace(healthy(*FOUR), sessions=2)).items() if passed is None}
    assert unsure == {"token_counts_agree", "client_headroom", "server_to_itself"}


def test_steps_from_chunks_are_estimated() -> None:
    output = page("p1", 0, 1, tokens=30, chunk_times_s=[0.1, 0.2, 0.3, 0.4, 0.5])
    found = named(decoding_steps.figures(seen(output, system=replace(AR, speculative=True))))
    assert (found["steps_per_page"].value, found["steps_per_page"].provenance) == (5.0, Provenance.ESTIMATED)
    assert (found["accepted_length"].value, found["accepted_length"].provenance) == (6.0, Provenance.ESTIMATED)


@pytest.mark.parametrize(
    "metrics",
    [
        None,
        {},
        {"speculative_decoding": 3},
        {"speculative_decoding": {"num_spec_steps": -1}},
        {"speculative_decoding": {"num_spec_steps": True, "num_accepted_draft_tokens": "x"}},
        {"evalkit_emulated": {"branches": [{"tokens": 3}, {"tokens": 4, "fork_after_tokens": None}]}},
        {"evalkit_emulated": {"branches": "none"}},
    ],
)
def test_odd_server_figures_are_absent(metrics: Any) -> None:
    found = told(page("p1", 0, 1, server_metrics=metrics))
    assert (found.steps, found.path_steps, found.speculation, found.branches) == (None, None, None, None)


def test_a_row_for_every_page_and_branch() -> None:
    branch = BranchTokens("p1", 190, 40, ((10, 100), (25, 20), (39, 71)))
    failed = page("p2", 0, 1, tokens=None, state=FinishState.ERROR)
    outputs = (page("p1", 1, 3, first_s=2, tokens=190, chunk_times_s=[2.0, 3.0]), failed)
    system = replace(HIERARCHICAL, speculative=False)
    observation = seen(*outputs, system=system, facts=RunFacts("server", 0.0, branches=(branch,)), chars={"p1": 7})
    first, second = page_figures.page_rows(observation)
    assert (first.latency_s, first.ttft_s, first.chunks, first.steps, first.chars) == (2, 1, 2, 190, 7)
    assert (first.branches, first.path_tokens, first.path_steps, first.sequential_tokens) == (3, 110, 110, 231)
    assert (second.state, second.steps, second.path_tokens, second.chars) == ("error", None, None, None)
    rows = page_figures.branch_rows(observation)
    assert [(row.branch, row.tokens, row.path_tokens, row.critical) for row in rows] == [
        (0, 40, 40, False),
        (1, 100, 110, True),
        (2, 20, 45, False),
        (3, 71, 110, True),
    ]


def test_energy_by_the_gpu_s_counter_and_by_power() -> None:
    counter = [Sample(float(t), "gpu0", {"energy_j": 1000.0 + 50 * t, "power_w": 99.0}) for t in range(0, 13)]
    power = [replace(sample, values={"power_w": 60.0}) for sample in counter]
    for samples, joules, source in ((counter, 500.0, "energy counter"), (power, 600.0, "mean power")):
        facts = RunFacts("server", 0.0, samples=tuple(samples))
        found = named(energy.figures(seen(*FOUR, facts=facts)))
        assert found["energy_per_page_j"].value == pytest.approx(joules / 3)
        assert found["energy_per_1k_tokens_j"].value == pytest.approx(joules / 0.18)
        assert found["energy_per_page_j"].details["source"] == source
    assert named(energy.figures(seen(*FOUR)))["energy_per_page_j"].reason == "no GPU was seen"


def test_buckets_by_own_and_by_the_baseline_s_length_and_paired_speedup() -> None:
    own = (page("a", 0, 1, tokens=300), page("b", 0, 2, tokens=1000), page("c", 0, 4, tokens=9000))
    base = (page("a", 0, 3, tokens=200), page("b", 0, 8, tokens=1100), page("c", 0, 4, tokens=8000))
    observation = seen(*own, reference=base)
    by_own = {row.name: row.pages for row in buckets.by_length(observation, buckets.EDGES["hpd"], False)}
    assert by_own["0-1000"] == 1
    assert by_own["1000-2000"] == 1
    assert by_own["8000+"] == 1
    by_base = {row.name: row for row in buckets.by_length(observation, buckets.EDGES["hunyuan"], True)}
    assert {name: row.pages for name, row in by_base.items() if row.pages} == {"0-256": 1, "1024-2048": 1, "2048+": 1}
    assert by_base["1024-2048"].request_throughput == pytest.approx(2 * 1 / 2)
    # all single trajectories: their steps are their tokens
    assert by_base["2048+"].path_steps == 9000
    assert by_base["2048+"].fewer_steps == pytest.approx(8000 / 9000)
    speedup = buckets.paired_speedup(own, base)
    assert speedup is not None
    assert speedup.geometric_mean == pytest.approx((3 * 4 * 1) ** (1 / 3))
    assert speedup.median == pytest.approx(3)
    assert speedup.pages == 3


def test_pages_are_grouped_by_every_attribute() -> None:
    groups = {"p1": {"language": "en"}, "p2": {"language": "en"}, "p3": {"language": "zh"}, "p4": {"language": "zh"}}
    tables = buckets.by_group(seen(*FOUR, groups=groups))
    assert [(row.name, row.pages, row.ok, row.truncated) for row in tables["language"]] == [
        ("en", 2, 2, 0),
        ("zh", 2, 1, 1),
    ]


ALONE = {"pages": 3, "equal": 3, "differing": [], "similarity": 1.0, "lowest_similarity": 1.0, "failed": {}}
MIXED = ALONE | {"equal": 2, "differing": ["p2"], "similarity": 0.75, "lowest_similarity": 0.25}
HEALTHY = {"lag_p99_s": 0.001, "stub_pps": 100.0, "alone": ALONE}
COUNTED = ({"generation_tokens": 0.0, "prefix_cache_hits": 0.0, "prefix_cache_queries": 0.0, "request_success": 5.0},)


def healthy(*outputs: RawOutput, client: Mapping[str, Any] = HEALTHY, **last: float) -> Observation:
    end = {"generation_tokens": 180.0, "prefix_cache_hits": 0.0, "prefix_cache_queries": 400.0, "request_success": 9.0}
    samples = (Sample(0.0, "server", COUNTED[0]), Sample(11.0, "server", end | last))
    branches = tuple(BranchTokens(o.page_id, o.tokens.output or 0, 0) for o in outputs)
    server: dict[str, Any] = {"differences": []}
    facts = RunFacts("server", 0.0, samples=samples, client=client, server=server, branches=branches)
    return seen(*outputs, facts=facts)


def verdicts(observation: Observation, allowed: tuple[str, ...] = ()) -> dict[str, bool | None]:
    return {check.name: check.passed for check in validity.checks(observation, allowed)}


def test_a_healthy_run_passes_every_rule() -> None:
    found = verdicts(healthy(*FOUR))
    assert found == dict.fromkeys(validity.names(), True)


BROKEN: list[tuple[str, str, Observation]] = [
    ("coverage", "a failed page", healthy(*FOUR[:3], page("p4", 6, 11, tokens=60, state=FinishState.ERROR))),
    ("coverage", "a page never asked", replace(healthy(*FOUR), pages=5)),
    ("uninterrupted", "two drives", replace(healthy(*FOUR), sessions=2)),
    ("token_counts_agree", "usage doubled", healthy(*FOUR, generation_tokens=90.0)),
    ("client_lag", "a busy client", healthy(*FOUR, client={"lag_p99_s": 0.9, "stub_pps": 100.0})),
    ("client_headroom", "a slow client", healthy(*FOUR, client={"lag_p99_s": 0.0, "stub_pps": 1.9})),
    ("server_to_itself", "someone else's requests", healthy(*FOUR, request_success=10.0)),
    ("same_alone", "one page with another's answer", healthy(*FOUR, client=HEALTHY | {"alone": MIXED})),
]


@pytest.mark.parametrize(("rule", "observation"), [(row[0], row[2]) for row in BROKEN], ids=[row[1] for row in BROKEN])
def test_each_rule_can_be_broken_and_allowed(rule: str, observation: Observation) -> None:
    (check,) = [check for check in validity.checks(observation) if check.name == rule]
    assert check.passed is False
    assert validity.invalidates(check)
    (allowed,) = [check for check in validity.checks(observation, (rule,)) if check.name == rule]
    assert not validity.invalidates(allowed)


def test_cache_hits_over_one_percent_break_the_rule() -> None:
    by_usage = [replace(output, tokens=TokenCounts(100, 10, 2)) for output in FOUR]
    assert verdicts(healthy(*by_usage))["cold_prefix_cache"] is False
    silent = [replace(output, tokens=TokenCounts(100, 10, None)) for output in FOUR]
    assert verdicts(healthy(*silent, prefix_cache_hits=3.0))["cold_prefix_cache"] is True
    assert verdicts(healthy(*silent, prefix_cache_hits=5.0))["cold_prefix_cache"] is False


def test_a_server_that_tells_nothing_leaves_rules_unchecked() -> None:
    silent = [replace(output, tokens=TokenCounts()) for output in FOUR]
    found = verdicts(seen(*silent))
    assert [name for name, passed in found.items() if passed is None] == [
        "cold_prefix_cache",
        "token_counts_agree",
        "retokenised_counts_agree",
        "client_lag",
        "client_headroom",
        "server_as_asked",
        "server_to_itself",
        "same_alone",
    ]


def test_too_few_pages_and_small_disagreement_are_advice() -> None:
    lines = validity.advice(healthy(*FOUR, generation_tokens=184.0))
    assert any("4 pages are fewer than 4 x 2 in flight" in line for line in lines)
    assert any("counter disagree on the output tokens by 2.2%" in line for line in lines)


def test_other_words_alone_advise_and_do_not_invalidate() -> None:
    alone = MIXED | {"similarity": 0.99, "lowest_similarity": 0.97}
    observation = healthy(*FOUR, client=HEALTHY | {"alone": alone})
    (check,) = [check for check in validity.checks(observation) if check.name == "same_alone"]
    assert check.value == pytest.approx(2 / 3)
    assert check.passed is False
    assert not validity.invalidates(check)
    assert any("1 of 3 pages asked again alone" in line for line in validity.advice(observation))


def test_nothing_was_sent() -> None:
    observation = seen(RawOutput("p1", None, FinishState.ERROR, "image: the file is empty"))
    for module in (throughput, latency, decoding_steps, energy):
        for figure in module.figures(observation):
            assert figure.value is None or not math.isnan(figure.value)
    assert named(throughput.figures(observation))["pps"].reason == "no request was sent"
