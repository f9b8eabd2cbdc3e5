"""How a page is decoded: which streams it forks into, what drafts for them, and the engine's limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from zlib import crc32

import numpy as np

from runners.emulator.acceptance import Acceptance, Segment
from runners.emulator.pages import BlockTokens, Content, PagePlan, PageTokens, StreamPlan


class Forking(StrEnum):
    """How regions become streams.

    NONE: one trajectory. ENGINE: children share the parent's blocks by pointer and go first (HPD, Algorithm 1).
    REQUEST: children are ordinary requests that find the prefix in the cache (PaDoc, appendix E.2). CROPS: after the
    layout stage each region is a request with its own image crop and prompt (two-stage parsers).
    """

    NONE = "none"
    ENGINE = "engine"
    REQUEST = "request"
    CROPS = "crops"


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of the engine.

    max_streams (N_max): live streams above which no page is started. token_budget: tokens an iteration computes at
    most. occupancy (tau): share of key-value blocks in use above which no page is started. stream_tokens: longest
    stream. branches: most branches of a page; further regions stay in the main stream.
    """

    max_streams: int = 256
    token_budget: int = 8192
    occupancy: float = 0.95
    block_tokens: int = 16
    stream_tokens: int = 8000
    branches: int = 10_000
    memory_share: float = 0.9
    reserve_bytes: float = 4e9
    prefix_caching: bool = True


@dataclass(frozen=True, slots=True)
class Crops:
    """Second stage of a two-stage parser: prompt tokens and patches of one region crop."""

    prompt_tokens: int = 300
    patches: int = 1000


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to decode pages. `content_marker` and the two below count tokens that mark branches."""

    name: str
    forking: Forking = Forking.NONE
    drafter: str | None = None
    acceptance: Acceptance | None = None
    limits: Limits = field(default_factory=Limits)
    content_marker: int = 1
    fork_marker: int = 1
    branch_closing: int = 1
    crops: Crops = field(default_factory=Crops)

    @property
    def window(self) -> int:
        """Draft tokens a step (K)."""
        return self.acceptance.window if self.acceptance else 0


def plan_page(page: PageTokens, variant: Variant, seed: int, max_tokens: int | None = None) -> PagePlan:
    """The page's streams under a variant. Depends on page, variant and seed alone, never on the schedule."""
    random = np.random.default_rng([seed, crc32(page.page_id.encode())])
    limit = min(variant.limits.stream_tokens, max_tokens or variant.limits.stream_tokens)
    build = _PLANNERS[variant.forking]
    return PagePlan(
        page_id=page.page_id,
        prefix_key=page.prefix_key or page.page_id,
        prompt_tokens=page.input_tokens,
        patches=page.image_patches,
        streams=build(page, variant, limit, random),
    )


def _stream(
    index: int,
    segments: Sequence[Segment],
    variant: Variant,
    limit: int,
    random: np.random.Generator,
    **place: int,
) -> StreamPlan:
    kept, truncated = _cut(segments, limit)
    acceptance = variant.acceptance or _NO_DRAFTS
    return StreamPlan(index, acceptance.steps(kept, random), truncated=truncated, **place)


def _cut(segments: Sequence[Segment], limit: int) -> tuple[list[Segment], bool]:
    kept: list[Segment] = []
    left = limit
    for length, kind in segments:
        if length > left:
            kept.append((left, kind))
            return [segment for segment in kept if segment[0]], True
        if length:
            kept.append((length, kind))
        left -= length
    return kept, False


def _one_trajectory(
    page: PageTokens, variant: Variant, limit: int, random: np.random.Generator
) -> tuple[StreamPlan, ...]:
    segments: list[Segment] = []
    for block in page.blocks:
        segments.append((block.layout, Content.LAYOUT))
        if block.content is not None:
            segments.append((variant.content_marker + block.content, block.kind))
    segments.append((page.closing, Content.LAYOUT))
    return (_stream(0, segments, variant, limit, random),)


def _forked(page: PageTokens, variant: Variant, limit: int, random: np.random.Generator) -> tuple[StreamPlan, ...]:
    main: list[Segment] = []
    branches: list[tuple[BlockTokens, int]] = []
    length = 0
    for block in page.blocks:
        layout = block.layout
        if block.content is not None and len(branches) < variant.limits.branches:
            layout += variant.fork_marker
            branches.append((block, length + layout))
        elif block.content is not None:
            layout += block.content
        main.append((layout, Content.LAYOUT))
        length += layout
    main.append((page.closing, Content.LAYOUT))
    reached = min(length + page.closing, limit)
    streams = [_stream(0, main, variant, limit, random)]
    for block, fork_after in branches:
        if fork_after <= reached:
            segments = [((block.content or 0) + variant.branch_closing, block.kind)]
            streams.append(_stream(len(streams), segments, variant, limit, random, fork_after=fork_after))
    return tuple(streams)


def _cropped(page: PageTokens, variant: Variant, limit: int, random: np.random.Generator) -> tuple[StreamPlan, ...]:
    layout = [(block.layout, Content.LAYOUT) for block in page.blocks]
    streams = [_stream(0, [*layout, (page.closing, Content.LAYOUT)], variant, limit, random)]
    after = streams[0].tokens
    for block in page.blocks:
        if block.content is not None:
            place = {
                "fork_after": after,
                "own_prompt": variant.crops.prompt_tokens,
                "patches": variant.crops.patches,
            }
            segments = [(block.content + variant.branch_closing, block.kind)]
            streams.append(_stream(len(streams), segments, variant, limit, random, **place))
    return tuple(streams)


_NO_DRAFTS = Acceptance(0, {})
_Planner = Callable[[PageTokens, Variant, int, np.random.Generator], tuple[StreamPlan, ...]]
_PLANNERS: Mapping[Forking, _Planner] = {
    Forking.NONE: _one_trajectory,
    Forking.ENGINE: _forked,
    Forking.REQUEST: _forked,
    Forking.CROPS: _cropped,
}
