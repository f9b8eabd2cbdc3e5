"""Iteration times against sums done by hand, and what must make them longer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runners.emulator.cost import Constants, CostModel, Drafter, Hardware, Model, Tower, Work
from runners.emulator.deployments import deployment, hardware, model

TINY = Model(
    name="tiny",
    decoder=Tower(layers=1, hidden=10, intermediate=20, heads=2, kv_heads=1, head_dim=5, gated=True),
    encoder=Tower(layers=1, hidden=4, intermediate=8, heads=1, kv_heads=1, head_dim=4, gated=False),
    vocabulary=100,
    window_patches=None,
)
COST = CostModel(Hardware("tiny", 1e6, bandwidth=1e4, flops=1e6), TINY, Constants(0.5, 0.5, 0.001, 0.0001, 0.01))


def test_shapes_by_hand() -> None:
    # attention 10*5*(4+2) = 300, gated feed-forward 3*10*20 = 600, head 10*100 = 1000
    assert TINY.decoder.parameters == 900
    assert TINY.weight_bytes == 2 * 1900
    assert TINY.kv_bytes_per_token == 2 * 2 * 1 * 1 * 5
    # 4*4*(2+2) = 64 and 2*4*8 = 64
    assert TINY.encoder.parameters == 128


def test_a_decoding_iteration_by_hand() -> None:
    work = Work(streams=1, decode_tokens=1, kv_tokens=50)
    # host 0.001 + 0.0001; weights 3800 B at 5 kB/s = 0.76 s, above 2*1900/5e5 of compute; keys and values 50*20/5e3
    assert COST.step_s(work) == pytest.approx(0.0011 + 0.76 + 0.2)


def test_prefill_becomes_compute_bound() -> None:
    work = Work(prefill_tokens=1000, prefill_context=1000 * 500)
    linear = 2 * (1000 * 900 + 1000) / 5e5
    attention = 4 * 500_000 * 2 * 5 / 5e5
    assert COST.step_s(work) == pytest.approx(0.001 + linear + attention)


def test_encoding_by_hand() -> None:
    assert COST.encode_s(10) == pytest.approx(10 * (2 * 128 + 4 * 10 * 4) / 5e5)
    windowed = replace(COST, model=replace(TINY, window_patches=5))
    assert windowed.encode_s(10) == pytest.approx(10 * (2 * 128 + 4 * 5 * 4) / 5e5)
    assert COST.encode_s(0) == 0


def test_drafting_by_hand() -> None:
    drafting = replace(COST, drafter=Drafter("d", window=3, passes=3, layers_per_pass=2, weight_bytes_per_pass=100))
    work = Work(streams=2, decode_tokens=8, drafting=True)
    added = drafting.step_s(work) - COST.step_s(work)
    assert added == pytest.approx(3 * 2 * 0.01 + 3 * 100 / 5e3)
    assert drafting.step_s(replace(work, drafting=False)) == pytest.approx(COST.step_s(work))


@pytest.mark.parametrize("field", ["streams", "decode_tokens", "kv_tokens", "prefill_tokens"])
def test_more_work_takes_no_less_time(field: str) -> None:
    base = Work(streams=4, decode_tokens=4, kv_tokens=100, prefill_tokens=50, prefill_context=50.0)
    assert COST.step_s(replace(base, **{field: 10_000})) >= COST.step_s(base)


def test_published_sizes_of_the_models() -> None:
    # HPD-Parsing: a 0.8B decoder with its embeddings and a 0.3B encoder; PaDoc 2.1B over all
    internvl, qwen = model("InternVL3_5-1B"), model("Qwen3-VL-2B")
    assert internvl.weight_bytes / 2 == pytest.approx(0.6e9, rel=0.05)
    assert internvl.encoder.parameters == pytest.approx(0.3e9, rel=0.05)
    assert qwen.resident_bytes / 2 == pytest.approx(2.1e9, rel=0.1)


def test_memory_holds_fewer_blocks_with_a_bigger_model() -> None:
    small, big = deployment("hpd-ar"), deployment("padoc-sequential")
    assert small.engine().pool.total > big.engine().pool.total > 30_000
    assert small.on_hardware("H200").engine().pool.total > small.engine().pool.total
    assert hardware("H100").bandwidth > hardware("A800-80GB").bandwidth
