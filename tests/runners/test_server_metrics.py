"""Counters read from the /metrics of real vLLM releases."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.types import Sample
from runners.http_exchange import Endpoint
from runners.server_metrics import COUNTERS, MetricsReader, MetricsSampler, parse_metrics
from tests.fakes.chat_server import FakeChatServer, serving

DATA = Path(__file__).parents[1] / "data" / "vllm"


def text(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")


def test_vllm_0_32_with_speculation() -> None:
    values = parse_metrics(text("metrics_032_internvl_medusa.txt"))
    assert values["generation_tokens"] == 6428
    assert values["prompt_tokens"] == 59649
    assert (values["prefix_cache_hits"], values["prefix_cache_queries"]) == (3328, 59649)
    assert values["spec_decode_num_drafts"] == 2464
    assert values["spec_decode_num_draft_tokens"] == 7392
    assert values["spec_decode_num_accepted_tokens"] == 3957
    positions = [values[f"spec_decode_num_accepted_tokens_per_pos.{position}"] for position in range(3)]
    assert positions == [1621, 1335, 1001]
    assert (values["request_success"], values["request_success.stop"], values["request_success.length"]) == (29, 17, 12)
    assert values["request_prefill_time_seconds_sum"] == pytest.approx(20.145004314998232)
    assert values["num_requests_running"] == 0
    assert set(COUNTERS) <= set(values)


def test_vllm_0_17_without_speculation() -> None:
    values = parse_metrics(text("metrics_0171_internvl.txt"))
    assert values["generation_tokens"] > 0
    assert values["request_success"] > 0
    assert "spec_decode_num_drafts" not in values
    assert {name for name in COUNTERS if not name.startswith("spec_")} <= set(values)


def test_engines_are_summed() -> None:
    lines = ['vllm:generation_tokens_total{engine="0"} 5.0', 'vllm:generation_tokens_total{engine="1"} 7.0']
    assert parse_metrics("\n".join(lines))["generation_tokens"] == 12


@pytest.mark.parametrize(
    "line",
    [
        "vllm:generation_tokens_total NaN",
        "vllm:generation_tokens_total +Inf",
        "vllm:generation_tokens_total",
        'vllm:generation_tokens_total{engine="0" 5',
        "vllm:generation_tokens_created 1.7e9",
        "<html>not metrics</html>",
    ],
)
def test_lines_that_are_no_readings_are_passed_over(line: str) -> None:
    assert "generation_tokens" not in parse_metrics(line)


@given(st.text())
def test_any_text_is_read_without_an_error(noise: str) -> None:
    parse_metrics(f"vllm:{noise}")


def test_the_sampler_has_a_reading_at_both_ends() -> None:
    server = FakeChatServer(metrics_text='vllm:generation_tokens_total{engine="0"} 5.0\n')
    with serving(server):
        reader = MetricsReader([Endpoint.parse(server.url)], {})
        sampler = MetricsSampler(reader, every_s=30.0)
        sampler.start(0.0, {"generation_tokens": 1.0})
        server.metrics_text = 'vllm:generation_tokens_total{engine="0"} 9.0\n'
        samples = sampler.stop()
    assert samples[0] == Sample(0.0, "server", {"generation_tokens": 1.0})
    assert samples[-1].values == {"generation_tokens": 9.0}


def test_two_servers_are_summed_and_one_without_metrics_gives_none() -> None:
    good = FakeChatServer(metrics_text="vllm:generation_tokens_total 5\nvllm:kv_cache_usage_perc 0.5\n")
    with serving(good) as first, serving(FakeChatServer()) as silent:
        one, other = Endpoint.parse(first.url), Endpoint.parse(silent.url)
        assert MetricsReader([one, one], {}).read() == {"generation_tokens": 10.0, "kv_cache_usage_perc": 0.5}
        assert MetricsReader([one, other], {}).read() is None
        assert MetricsReader([other], {}).outstanding() is None
