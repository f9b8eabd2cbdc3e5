"""Which blocks pages and streams hold: trunks shared by branches, private blocks, and prefixes kept as cache."""

from __future__ import annotations

from dataclasses import dataclass

from runners.emulator.kv import BlockPool, Lease
from runners.emulator.pages import PagePlan, Steps
from runners.emulator.streams import Page, Phase, Stream
from runners.emulator.variants import Forking, Limits


@dataclass(frozen=True, slots=True)
class Entry:
    """What a stream must compute before it decodes: tokens, the context they end at, image patches; and cache hits."""

    tokens: int
    context: int
    patches: int
    prompt_tokens: int = 0
    cached_tokens: int = 0


class PageMemory:
    """Block accounting over a pool. A trunk is the lease of a page's prompt and main stream.

    ENGINE: a branch holds the trunk by reference from its fork on. REQUEST: a branch finds the trunk's whole blocks in
    the cache when it starts, and computes what was evicted. CROPS: a branch has its own prompt.
    """

    def __init__(self, pool: BlockPool, limits: Limits, forking: Forking) -> None:
        self.pool = pool
        self._block_tokens = limits.block_tokens
        self._caching = limits.prefix_caching
        self._forking = forking

    def blocks(self, tokens: int) -> int:
        """Blocks that hold so many tokens."""
        return -(-tokens // self._block_tokens)

    def blocks_after(self, stream: Stream, steps: int) -> int:
        """Blocks of a stream's own lease (for a main stream the trunk) after a number of steps."""
        return self.blocks(self._base(stream) + stream.tokens_after(steps))

    def growth(self, stream: Stream, steps: int) -> Steps:
        """Blocks that each step from `steps` on adds to a stream's own lease."""
        after = -(-(self._base(stream) + stream.reached[steps:]) // self._block_tokens)
        added = after.copy()
        added[1:] -= after[:-1]
        added[:1] -= self.blocks_after(stream, steps)
        return added

    def of_page(self, plan: PagePlan) -> int:
        """Most blocks that a page can come to hold."""
        total = self.blocks(plan.prompt_tokens + plan.streams[0].tokens)
        for stream in plan.streams[1:]:
            start = self._block_tokens if stream.own_prompt is None else stream.own_prompt
            total += self.blocks(start + stream.tokens)
        return total

    def trunk_blocks(self, page: Page, iteration: int) -> int:
        """Blocks of prompt and main stream that are resident at an iteration."""
        main = page.main
        if main.phase is Phase.DECODE:
            return self.blocks_after(main, main.steps_at(iteration))
        return page.trunk.blocks

    def private_blocks(self, stream: Stream, iteration: int) -> int:
        """Blocks that a branch holds for itself at an iteration."""
        if stream.is_main or stream.phase not in (Phase.PREFILL, Phase.DECODE):
            return 0
        if stream.phase is Phase.PREFILL:
            return stream.private_blocks
        return self.blocks_after(stream, stream.steps_at(iteration))

    def needed(self, stream: Stream, iteration: int) -> int:
        """Available blocks that starting a stream takes up."""
        own = stream.tokens_after(stream.steps_done)
        if not stream.shares_page:
            held = stream.page.trunk.blocks if stream.is_main and stream.page.trunk.references else 0
            return self.blocks(stream.visible + own) - held
        missing = max(stream.visible // self._block_tokens - self.trunk_blocks(stream.page, iteration), 0)
        revived = 0 if stream.page.trunk.references else stream.page.trunk.blocks
        return missing + revived + self.blocks(stream.visible % self._block_tokens + own)

    def enter(self, stream: Stream, iteration: int) -> Entry:
        """Take the blocks of a stream that starts or starts again."""
        if stream.is_main:
            return self._enter_main(stream)
        own = stream.tokens_after(stream.steps_done)
        missing = self._hold_trunk(stream, iteration) if stream.shares_page else 0
        stream.base = stream.visible % self._block_tokens if stream.shares_page else stream.visible
        stream.private_blocks = self.blocks(stream.base + own)
        self.pool.take(stream.private_blocks)
        context = stream.visible + own
        if not stream.shares_page:
            return Entry(context, context, stream.plan.patches, prompt_tokens=stream.visible)
        if self._forking is Forking.ENGINE:
            return Entry(own, context, 0)
        # only whole blocks are found in the cache; the rest and the branch's first token are computed
        found = stream.visible - stream.base - missing
        patches = stream.page.plan.patches if found < stream.page.plan.prompt_tokens - self._block_tokens else 0
        tokens = missing + stream.base + 1 + own
        return Entry(tokens, context, patches, prompt_tokens=stream.visible + 1, cached_tokens=found)

    def _enter_main(self, stream: Stream) -> Entry:
        page = stream.page
        context = stream.visible + stream.tokens_after(stream.steps_done)
        if page.trunk.references:
            page.trunk.references += 1  # a branch of a preempted page was back before its main stream
        elif (lease := self._cached_trunk(page)) is not None:
            self.pool.revive(lease)
            lease.key = page.trunk.key
            page.trunk = lease
        else:
            page.trunk.references = 1
        total, resident = self.blocks(context), page.trunk.blocks
        self.pool.give(max(resident - total, 0))
        self.pool.take(max(total - resident, 0))
        page.trunk.blocks = total
        # at least one token is always computed
        cached = min(resident, (context - 1) // self._block_tokens) * self._block_tokens
        patches = page.plan.patches if cached < page.plan.prompt_tokens - self._block_tokens else 0
        return Entry(context - cached, context, patches, prompt_tokens=context, cached_tokens=cached)

    def _hold_trunk(self, stream: Stream, iteration: int) -> int:
        """Make a branch's shared prefix resident; the tokens of it that must be computed again."""
        if self._forking is Forking.ENGINE:
            return 0
        trunk = stream.page.trunk
        missing = max(stream.visible // self._block_tokens - self.trunk_blocks(stream.page, iteration), 0)
        if trunk.references:
            trunk.references += 1
        elif self.pool.cached(trunk.key) is trunk:
            self.pool.revive(trunk)
        else:
            trunk.references = 1
        self.pool.take(missing)
        trunk.blocks += missing
        return missing * self._block_tokens

    def leave(self, stream: Stream) -> None:
        """Free what a stream that ended holds; its page counts it as ended already."""
        page = stream.page
        if not stream.is_main:
            self.pool.give(stream.private_blocks)
            stream.private_blocks = 0
        if self._forking is Forking.ENGINE:
            if not stream.is_main:
                self.pool.release(page.trunk, 0)
            if not page.unfinished:
                self._release_last(page)
        elif self._forking is Forking.REQUEST and page.unfinished:
            self.pool.release(page.trunk, page.trunk.blocks if self._caching else 0)
        elif stream.is_main or self._forking is Forking.REQUEST:
            self._release_last(page)

    def drop(self, page: Page, stopped: list[Stream]) -> None:
        """Free what a page's stopped streams hold; what was computed of the prompt may be found again."""
        for stream in stopped:
            if not stream.is_main:
                self.pool.give(stream.private_blocks)
                stream.private_blocks = 0
        uncomputed = any(stream.is_main and stream.prefill_left for stream in stopped)
        keep = self._prompt_blocks(page) if not uncomputed else 0
        if self._forking is Forking.ENGINE:
            page.trunk.references = min(page.trunk.references, 1)
            leaving = page.trunk.references
        else:
            leaving = sum(1 for stream in stopped if stream.is_main or stream.shares_page)
        for _ in range(leaving):
            self.pool.release(page.trunk, keep)

    def settle(self, stream: Stream) -> None:
        """Note the blocks of a stream that stops decoding, as its steps now stand."""
        held = self.blocks_after(stream, stream.steps_done)
        if stream.is_main:
            stream.page.trunk.blocks = held
        else:
            stream.private_blocks = held

    def _release_last(self, page: Page) -> None:
        """Drop the page's own reference; its prompt stays as prefix cache for the same page asked again."""
        page.trunk.key = page.plan.prefix_key
        self.pool.release(page.trunk, self._prompt_blocks(page))

    def _prompt_blocks(self, page: Page) -> int:
        return page.plan.prompt_tokens // self._block_tokens if self._caching else 0

    def _cached_trunk(self, page: Page) -> Lease | None:
        if not self._caching:
            return None
        return self.pool.cached(page.trunk.key) or self.pool.cached(page.plan.prefix_key)

    def _base(self, stream: Stream) -> int:
        return stream.visible if stream.is_main else stream.base
