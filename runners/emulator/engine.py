"""An iteration-level scheduler: continuous batching, chunked prefill, paged memory, forks, drafts and preemption."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from runners.emulator.cost import CostModel, Work
from runners.emulator.kv import BlockPool, Lease
from runners.emulator.pages import PagePlan
from runners.emulator.queue import WaitingQueue
from runners.emulator.streams import Page, Phase, Stream
from runners.emulator.timetable import Timetable
from runners.emulator.variants import Forking, Limits, Variant

_FIRST_TOKEN, _END = -1, -2


class PageTooLargeError(ValueError):
    """A page that could never be held in memory, however empty the engine."""


@dataclass(frozen=True, slots=True)
class Iteration:
    """What one iteration did. `tokens` are output tokens, `streams` those that decoded, `live` those in the engine."""

    start_s: float
    end_s: float
    tokens: int
    streams: int
    live: int
    prefill_tokens: int


@dataclass(slots=True)
class Counters:
    """Totals since the start, as the engine's own truth."""

    iterations: int = 0
    generated: int = 0
    drafts: int = 0
    drafted: int = 0
    accepted: int = 0
    accepted_at: list[int] = field(default_factory=list)
    prompt_tokens: int = 0
    cached_tokens: int = 0
    computed_tokens: int = 0
    preemptions: int = 0
    forks: int = 0


class Engine:
    """Runs pages in virtual time. `on_page` is called as each page ends.

    Rules: a branch sees the page's prompt, the main stream up to its fork and itself; what a page emits depends on
    its plan alone; the oldest page is never preempted, so that every page ends.
    """

    def __init__(
        self,
        variant: Variant,
        cost: CostModel,
        blocks: int | None = None,
        on_page: Callable[[Page], None] | None = None,
        keep_log: bool = True,
    ) -> None:
        limits = variant.limits
        self.variant = variant
        self.cost = cost
        self.pool = BlockPool(blocks or cost.kv_blocks(limits.block_tokens, limits.memory_share, limits.reserve_bytes))
        self.now_s = 0.0
        self.iteration = 0
        self.counters = Counters(accepted_at=[0] * variant.window)
        self.log: list[Iteration] = []
        self.queue = WaitingQueue(variant.forking is Forking.ENGINE)
        self.pages: dict[int, Page] = {}
        self.on_page = on_page or (lambda page: None)
        self._keep_log = keep_log
        self._prefilling: list[Stream] = []
        self._decoding = 0
        self._context_tokens = 0
        self._growth = Timetable()
        self._events: list[tuple[int, int, int, Stream, int]] = []
        self._arrivals = 0
        self._event_count = 0

    @property
    def limits(self) -> Limits:
        """The engine's bounds."""
        return self.variant.limits

    @property
    def idle(self) -> bool:
        """Whether nothing runs or waits."""
        return not self.pages

    @property
    def live_streams(self) -> int:
        """Streams that prefill or decode."""
        return self._decoding + len(self._prefilling)

    def submit(self, plan: PagePlan, arrival_s: float) -> Page:
        """Hand a page to the engine. Raises PageTooLargeError when it can never fit."""
        if not all(len(stream.steps) for stream in plan.streams):
            raise ValueError(f"{plan.page_id}: a stream without tokens cannot be decoded")
        needed = self._blocks_of_page(plan)
        if needed > self.pool.total:
            raise PageTooLargeError(f"{plan.page_id}: needs {needed} blocks, the engine has {self.pool.total}")
        self._arrivals += 1
        key = f"{plan.prefix_key}#{self._arrivals}"
        page = Page(plan=plan, arrival=self._arrivals, arrival_s=arrival_s, trunk=Lease(key))
        page.streams = [Stream(page, stream) for stream in plan.streams]
        page.main.born_s = arrival_s
        page.main.arrival = self._arrivals
        page.main.phase = Phase.WAITING
        page.unfinished = len(page.streams)
        self.pages[page.arrival] = page
        self.queue.add(page.main)
        return page

    def step(self) -> Iteration:
        """Run one iteration and move the clock on. Call only when not idle."""
        self._start_branches()
        self._start_line()
        self._make_room()
        self.pool.take(self._growth.blocks_at(self.iteration))
        work, prefilled, prefill_tokens = self._work()
        start_s = self.now_s
        self.now_s += self.cost.step_s(work)
        tokens = self._growth.tokens_at(self.iteration)
        self._count(tokens, work)
        done = Iteration(start_s, self.now_s, tokens, self._decoding, self.live_streams, prefill_tokens)
        if self._keep_log:
            self.log.append(done)
        self._context_tokens += tokens
        self.iteration += 1
        self._handle_events()
        for stream in prefilled:
            self._end_prefill(stream)
        return done

    def abort(self, page: Page) -> None:
        """Drop a page whose client is gone."""
        if page.ended_s is not None:
            return
        page.aborted = True
        self._stop_page(page)
        self.queue.drop(page)
        self._close_page(page)

    def trunk_blocks(self, page: Page) -> int:
        """Blocks that hold the prompt and the main stream now."""
        main = page.main
        if main.phase is Phase.DECODE:
            return self._blocks(main.visible + main.tokens_after(main.steps_at(self.iteration)))
        return page.trunk.blocks

    def private_blocks(self, stream: Stream) -> int:
        """Blocks that a branch holds for itself now."""
        if stream.is_main or stream.phase not in (Phase.PREFILL, Phase.DECODE):
            return 0
        if stream.phase is Phase.PREFILL:
            return stream.private_blocks
        return self._blocks(stream.base + stream.tokens_after(stream.steps_at(self.iteration)))

    # --- admission ---

    def _start_branches(self) -> None:
        for stream in self.queue.take_branches():
            # starting one branch may preempt the page of another
            if stream.phase is Phase.WAITING and not self._start(stream, may_preempt=True):
                self.queue.add(stream)

    def _start_line(self) -> None:
        while (stream := self.queue.head()) is not None:
            full = self.live_streams >= self.limits.max_streams
            occupied = self.pool.in_use >= self.limits.occupancy * self.pool.total
            if full or occupied or not self._start(stream, may_preempt=False):
                return
            self.queue.pop_head()

    def _start(self, stream: Stream, may_preempt: bool) -> bool:
        if (self.live_streams + 1) * (self.variant.window + 1) > self.limits.token_budget:
            return False
        need = self._needed_blocks(stream)
        while need > self.pool.available:
            victim = self._youngest() if may_preempt else None
            if victim is None or victim.arrival <= stream.page.arrival:
                return False
            self._preempt(victim)
        self._enter(stream)
        return True

    def _needed_blocks(self, stream: Stream) -> int:
        own = stream.tokens_after(stream.steps_done)
        if not stream.shares_page:
            return self._blocks(stream.visible + own)
        missing = max(stream.visible // self.limits.block_tokens - self.trunk_blocks(stream.page), 0)
        revived = 0 if stream.page.trunk.references else stream.page.trunk.blocks
        return missing + revived + self._blocks(stream.visible % self.limits.block_tokens + own)

    def _enter(self, stream: Stream) -> None:
        """Take the stream's blocks and line it up for prefill, or for decoding when nothing is left to compute."""
        page = stream.page
        own = stream.tokens_after(stream.steps_done)
        if stream.started_s is None:
            stream.started_s = self.now_s
        if stream.is_main:
            self._enter_main(stream, own)
        elif not stream.shares_page:
            stream.base = stream.visible
            stream.private_blocks = self._blocks(stream.base + own)
            self.pool.take(stream.private_blocks)
            self._line_up(stream, stream.visible + own, stream.visible + own, stream.plan.patches)
        else:
            missing_tokens = self._hold_trunk(stream)
            stream.base = stream.visible % self.limits.block_tokens
            stream.private_blocks = self._blocks(stream.base + own)
            self.pool.take(stream.private_blocks)
            if self.variant.forking is Forking.REQUEST:
                # only whole blocks are found in the cache; the rest and the branch's first token are computed
                missing_tokens += stream.base + 1
            patches = page.plan.patches if missing_tokens > self.limits.block_tokens else 0
            self._line_up(stream, missing_tokens + own, stream.visible + own, patches)

    def _enter_main(self, stream: Stream, own: int) -> None:
        page = stream.page
        if page.started_s is None:
            page.started_s = self.now_s
        context = stream.visible + own
        hit = 0
        lease = self._cached_trunk(page)
        if lease is not None:
            hit = self._usable(lease, context)
            self.pool.revive(lease)
            self.pool.give(lease.blocks - hit)
            lease.blocks = hit
            lease.key = page.trunk.key
            page.trunk = lease
        else:
            page.trunk.references = 1
        total = self._blocks(context)
        self.pool.take(total - hit)
        page.trunk.blocks = total
        cached = hit * self.limits.block_tokens
        page.cached_tokens += cached
        self.counters.cached_tokens += cached
        self.counters.prompt_tokens += context
        patches = page.plan.patches if cached < page.plan.prompt_tokens // 2 else 0
        self._line_up(stream, context - cached, context, patches)

    def _hold_trunk(self, stream: Stream) -> int:
        """Make a branch's shared prefix resident and return how many of its tokens must be computed again."""
        if self.variant.forking is Forking.ENGINE:
            return 0
        page = stream.page
        resident = self.trunk_blocks(page)
        wanted = stream.visible // self.limits.block_tokens
        if page.trunk.references:
            page.trunk.references += 1
        elif self.pool.cached(page.trunk.key) is page.trunk:
            self.pool.revive(page.trunk)
        else:
            page.trunk.references = 1
        missing = max(wanted - resident, 0)
        self.pool.take(missing)
        page.trunk.blocks += missing
        cached = min(resident, wanted) * self.limits.block_tokens
        self.counters.cached_tokens += cached
        self.counters.prompt_tokens += stream.visible + 1
        return missing * self.limits.block_tokens

    def _line_up(self, stream: Stream, tokens: int, context: int, patches: int) -> None:
        stream.prefill_left = tokens
        stream.prefill_context = context
        stream.encode_patches = patches
        stream.phase = Phase.PREFILL
        if not tokens:
            self._start_decoding(stream)
        else:
            self._prefilling.append(stream)

    # --- one iteration ---

    def _work(self) -> tuple[Work, list[Stream], int]:
        decode_tokens = self._decoding * (self.variant.window + 1)
        budget = max(self.limits.token_budget - decode_tokens, 0)
        spent, contexts, encode_s = 0, 0.0, 0.0
        finished: list[Stream] = []
        for stream in self._prefilling:
            if not budget - spent:
                break
            chunk = min(stream.prefill_left, budget - spent)
            if stream.encode_patches:
                encode_s += self.cost.encode_s(stream.encode_patches)
                stream.encode_patches = 0
            contexts += chunk * (stream.prefill_context - stream.prefill_left + chunk / 2)
            stream.prefill_left -= chunk
            stream.page.computed_tokens += chunk
            spent += chunk
            if not stream.prefill_left:
                finished.append(stream)
        del self._prefilling[: len(finished)]
        drafting = self.variant.window > 0 and self._decoding > 0
        streams = self._decoding + len(finished)
        work = Work(streams, decode_tokens, self._context_tokens, spent, contexts, encode_s, drafting)
        return work, finished, spent

    def _count(self, tokens: int, work: Work) -> None:
        counters = self.counters
        counters.iterations += 1
        counters.generated += tokens
        counters.computed_tokens += work.prefill_tokens
        if self.variant.window:
            counters.drafts += self._decoding
            counters.drafted += self._decoding * self.variant.window
            counters.accepted += tokens - self._decoding

    def _handle_events(self) -> None:
        """Act on what the iteration just run brought: first tokens, forks, ends."""
        while self._events and self._events[0][0] < self.iteration:
            _, _, epoch, stream, what = heapq.heappop(self._events)
            if epoch != stream.epoch:
                continue
            if what == _FIRST_TOKEN:
                stream.page.first_token_s = self.now_s
            elif what == _END:
                self._end_stream(stream)
            else:
                self._fork(stream.page, stream.page.streams[what])

    def _end_prefill(self, stream: Stream) -> None:
        page = stream.page
        if stream.is_main and not page.trunk_ready:
            page.trunk_ready = True
            self._release_held(page)
        if stream.steps_done == len(stream.reached):
            stream.phase = Phase.DONE
        else:
            self._start_decoding(stream)

    def _start_decoding(self, stream: Stream) -> None:
        own = stream.tokens_after(stream.steps_done)
        base = stream.visible if stream.is_main else stream.base
        held = self._blocks(base + own)
        after = -(-(base + stream.reached[stream.steps_done :]) // self.limits.block_tokens)
        stream.phase = Phase.DECODE
        stream.decode_from = self.iteration
        self._growth.add(self.iteration, stream.plan.steps[stream.steps_done :], np.diff(after, prepend=held))
        self._context_tokens += stream.visible + own
        self._decoding += 1
        self._plan_events(stream)

    def _plan_events(self, stream: Stream) -> None:
        start = stream.decode_from - stream.steps_done
        if stream.is_main:
            if not stream.steps_done:
                self._push(start, stream, _FIRST_TOKEN)
            for child in stream.page.streams[1:]:
                if child.phase is Phase.UNBORN:
                    step = int(np.searchsorted(stream.reached, child.plan.fork_after or 0))
                    self._push(start + step, stream, child.plan.index)
        self._push(start + len(stream.reached) - 1, stream, _END)

    def _push(self, iteration: int, stream: Stream, what: int) -> None:
        self._event_count += 1
        heapq.heappush(self._events, (iteration, self._event_count, stream.epoch, stream, what))

    def _fork(self, page: Page, child: Stream) -> None:
        self._arrivals += 1
        self.counters.forks += 1
        page.children += 1
        child.arrival = self._arrivals
        child.born_s = self.now_s
        child.phase = Phase.WAITING
        if self.variant.forking is Forking.ENGINE:
            page.trunk.references += 1
        self.queue.add(child)

    # --- ends and preemption ---

    def _end_stream(self, stream: Stream) -> None:
        page = stream.page
        self._stop_decoding(stream)
        stream.phase = Phase.DONE
        stream.ended_s = self.now_s
        page.unfinished -= 1
        for position in range(self.variant.window):
            self.counters.accepted_at[position] += int(np.count_nonzero(stream.plan.steps > position + 1))
        last = not page.unfinished
        if last and self.variant.forking is Forking.REQUEST:
            page.trunk.key = page.plan.prefix_key
        if not stream.is_main:
            self._free_branch(stream)
        elif self.variant.forking is not Forking.ENGINE:
            if not stream.page.streams[1:] or self.variant.forking is Forking.CROPS:
                page.trunk.key = page.plan.prefix_key
            self.pool.release(page.trunk, self._kept_blocks(page))
        if last:
            self._close_page(page)

    def _free_branch(self, stream: Stream) -> None:
        self.pool.give(stream.private_blocks)
        stream.private_blocks = 0
        if stream.shares_page:
            self.pool.release(stream.page.trunk, self._kept_blocks(stream.page))

    def _close_page(self, page: Page) -> None:
        page.ended_s = self.now_s
        if self.variant.forking is Forking.ENGINE and page.trunk.references:
            page.trunk.key = page.plan.prefix_key
            self.pool.release(page.trunk, self._kept_blocks(page))
        del self.pages[page.arrival]
        self.on_page(page)

    def _kept_blocks(self, page: Page) -> int:
        """Blocks that stay as prefix cache once nobody reads the trunk."""
        if not self.limits.prefix_caching:
            return 0
        if page.unfinished and self.variant.forking is Forking.REQUEST:
            return page.trunk.blocks
        return page.plan.prompt_tokens // self.limits.block_tokens

    def _stop_decoding(self, stream: Stream) -> None:
        """Take a decoding stream out of the batch, its blocks counted as they are now."""
        steps = stream.steps_at(self.iteration)
        own = stream.tokens_after(steps)
        base = stream.visible if stream.is_main else stream.base
        after = -(-(base + stream.reached[steps:]) // self.limits.block_tokens)
        held = self._blocks(base + own)
        if steps < len(stream.reached):
            self._growth.add(self.iteration, stream.plan.steps[steps:], np.diff(after, prepend=held), sign=-1)
        stream.steps_done = steps
        stream.epoch += 1
        self._context_tokens -= stream.visible + own
        self._decoding -= 1
        if stream.is_main:
            stream.page.trunk.blocks = held
        else:
            stream.private_blocks = held

    def _make_room(self) -> None:
        while self._growth.blocks_at(self.iteration) > self.pool.available:
            victim = self._youngest()
            if victim is None:
                raise AssertionError("memory is full and nothing can be preempted")
            self._preempt(victim)

    def _youngest(self) -> Page | None:
        """The page that came last among those that hold memory, never the oldest of them."""
        running = [page for page in reversed(self.pages.values()) if page.trunk.references or page.live]
        return running[0] if len(running) > 1 else None

    def _preempt(self, page: Page) -> None:
        page.preemptions += 1
        self.counters.preemptions += 1
        waiting_again = self._stop_page(page)
        if self.variant.forking is Forking.ENGINE:
            self.queue.drop(page)
            for stream in page.streams[1:]:
                if stream.phase is Phase.WAITING:
                    stream.phase = Phase.HELD
            page.main.phase = Phase.WAITING
            self.queue.put_back(page.main)
        else:
            for stream in reversed(waiting_again):
                self.queue.put_back(stream)

    def _stop_page(self, page: Page) -> list[Stream]:
        """Take all live streams out and free their blocks; their tokens stay, to be computed again."""
        stopped = page.live
        for stream in stopped:
            if stream.phase is Phase.DECODE:
                self._stop_decoding(stream)
            else:
                self._prefilling.remove(stream)
                stream.epoch += 1
            stream.phase = Phase.WAITING
            if not stream.is_main:
                self.pool.give(stream.private_blocks)
                stream.private_blocks = 0
        self._drop_trunk(page, stopped)
        return stopped

    def _drop_trunk(self, page: Page, stopped: list[Stream]) -> None:
        trunk = page.trunk
        keep = page.plan.prompt_tokens // self.limits.block_tokens if self.limits.prefix_caching else 0
        if any(stream.is_main and stream.prefill_left for stream in stopped):
            keep = 0  # what was not computed cannot be found again
        if self.variant.forking is Forking.ENGINE:
            trunk.references = min(trunk.references, 1)
            page.trunk_ready = False
            leaving = trunk.references
        else:
            leaving = sum(1 for stream in stopped if stream.is_main or stream.shares_page)
        for _ in range(leaving):
            self.pool.release(trunk, keep)

    def _release_held(self, page: Page) -> None:
        for stream in page.streams[1:]:
            if stream.phase is Phase.HELD:
                stream.phase = Phase.WAITING
                page.trunk.references += 1
                self.queue.add(stream)

    # --- blocks ---

    def _blocks(self, tokens: int) -> int:
        return -(-tokens // self.limits.block_tokens)

    def _usable(self, lease: Lease, context: int) -> int:
        """Cached blocks that save work: at least one token is always computed."""
        return min(lease.blocks, (context - 1) // self.limits.block_tokens)

    def _cached_trunk(self, page: Page) -> Lease | None:
        if not self.limits.prefix_caching:
            return None
        return self.pool.cached(page.trunk.key) or self.pool.cached(page.plan.prefix_key)

    def _blocks_of_page(self, plan: PagePlan) -> int:
        total = self._blocks(plan.prompt_tokens + plan.streams[0].tokens)
        for stream in plan.streams[1:]:
            start = stream.own_prompt if stream.own_prompt is not None else self.limits.block_tokens
            total += self._blocks(start + stream.tokens)
        return total
