"""Pages, variants and engines small enough to reason about."""

from __future__ import annotations

from hypothesis import strategies as st

from runners.emulator.acceptance import Acceptance
from runners.emulator.cost import Constants, CostModel, Drafter, Hardware, Model, Tower
from runners.emulator.engine import Engine
from runners.emulator.pages import BlockTokens, Content, PageTokens
from runners.emulator.variants import Crops, Forking, Limits, Variant

MODEL = Model(
    name="small",
    decoder=Tower(layers=4, hidden=64, intermediate=128, heads=4, kv_heads=2, head_dim=16, gated=True),
    encoder=Tower(layers=2, hidden=32, intermediate=64, heads=2, kv_heads=2, head_dim=16, gated=False),
    vocabulary=100,
    window_patches=None,
)
COST = CostModel(
    hardware=Hardware("small", memory_bytes=1e9, bandwidth=1e9, flops=1e10),
    model=MODEL,
    constants=Constants(0.5, 0.5, 1e-3, 1e-5, 1e-4),
    drafter=Drafter("small", window=3, passes=3, layers_per_pass=1, weight_bytes_per_pass=1e3),
)
ACCEPTANCE = Acceptance.from_means(3, dict.fromkeys(Content, 2.7), 0.95)

blocks = st.builds(
    BlockTokens,
    layout=st.integers(1, 12),
    content=st.one_of(st.none(), st.integers(1, 60)),
    kind=st.sampled_from([Content.TEXT, Content.TABLE, Content.FORMULA]),
)
page_lists = st.lists(st.tuples(st.integers(1, 90), st.lists(blocks, max_size=6)), min_size=1, max_size=8).map(
    lambda rows: [
        PageTokens(f"page-{index}", prompt, prompt * 4, tuple(parts)) for index, (prompt, parts) in enumerate(rows)
    ]
)


def variant(forking: Forking, *, drafts: bool = False, **limits: object) -> Variant:
    """A variant with small limits; `limits` overrides them."""
    bounds = {
        "max_streams": 4,
        "token_budget": 64,
        "occupancy": 0.9,
        "block_tokens": 4,
        "stream_tokens": 500,
        "reserve_bytes": 0,
    }
    return Variant(
        name=str(forking),
        forking=forking,
        drafter="small" if drafts else None,
        acceptance=ACCEPTANCE if drafts else None,
        limits=Limits(**{**bounds, **limits}),  # type: ignore[arg-type]
        crops=Crops(prompt_tokens=7, patches=16),
    )


def engine(how: Variant, blocks: int) -> Engine:
    """An engine with so many blocks."""
    return Engine(how, COST, blocks)
