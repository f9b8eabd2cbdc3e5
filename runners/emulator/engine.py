"""An iteration-level scheduler: continuous batching, chunked prefill, paged memory, forks, drafts and preemption."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from evalkit.errors import UserError
from runners.emulator.cost import CostModel, Work
from runners.emulator.kv import BlockPool, Lease
from runners.emulator.memory import PageMemory
from runners.emulator.pages import PagePlan
from runners.emulator.queue import WaitingQueue
from runners.emulator.streams import Page, Phase, Stream
from runners.emulator.timetable import Timetable
from runners.emulator.variants import Forking, Limits, Variant

_FIRST_TOKEN, _END = -1, -2


class PageTooLargeError(UserError):
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
        self.memory = PageMemory(self.pool, limits, variant.forking)
        self.now_s = 0.0
        self.iteration = 0
        self.counters = Counters(accepted_at=[0] * variant.window)
        self.log: list[Iteration] = []
        self.queue = WaitingQueue(variant.forking in (Forking.ENGINE, Forking.REQUEST))
        self.pages: dict[int, Page] = {}
        self.on_page = on_page or (lambda page: None)
        self._keep_log = keep_log
        self._prefilling: list[Stream] = []
        self._decoding = 0
        self.context_tokens = 0
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
        needed = self.memory.of_page(plan)
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
        self.context_tokens += tokens
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

    # --- admission ---

    def _start_branches(self) -> None:
        """Branches go before pages. The engine's own children pass its gates; requests do not."""
        own_children = self.variant.forking is Forking.ENGINE
        for stream in self.queue.take_branches():
            if stream.phase is not Phase.WAITING:
                continue  # starting another branch preempted its page
            full = not own_children and self.live_streams >= self.limits.max_streams
            if full or not self._start(stream, may_preempt=own_children):
                self.queue.add(stream)

    def _start_line(self) -> None:
        while not self.queue.has_branches and (stream := self.queue.head()) is not None:
            full = self.live_streams >= self.limits.max_streams
            occupied = self.pool.in_use >= self.limits.occupancy * self.pool.total
            if full or occupied or not self._start(stream, may_preempt=False):
                return
            self.queue.pop_head()

    def _start(self, stream: Stream, may_preempt: bool) -> bool:
        if (self.live_streams + 1) * (self.variant.window + 1) > self.limits.token_budget:
            return False
        need = self.memory.needed(stream, self.iteration)
        while need > self.pool.available:
            victim = self._youngest() if may_preempt else None
            if victim is None or victim.arrival <= stream.page.arrival:
                return False
            self._preempt(victim)
        self._enter(stream)
        return True

    def _enter(self, stream: Stream) -> None:
        """Give a stream its blocks and line it up for prefill, or for decoding when nothing is left to compute."""
        page = stream.page
        begun_s = max(self.now_s, page.arrival_s)  # a live server may take a page in between two iterations
        if stream.started_s is None:
            stream.started_s = begun_s
        if page.started_s is None:
            page.started_s = begun_s
        entry = self.memory.enter(stream, self.iteration)
        self.counters.prompt_tokens += entry.prompt_tokens
        self.counters.cached_tokens += entry.cached_tokens
        if stream.is_main:
            page.cached_tokens += entry.cached_tokens
        stream.prefill_left = entry.tokens
        stream.prefill_context = entry.context
        stream.encode_patches = entry.patches
        stream.phase = Phase.PREFILL
        if entry.tokens:
            self._prefilling.append(stream)
        else:
            self._start_decoding(stream)

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
        work = Work(streams, decode_tokens, self.context_tokens, spent, contexts, encode_s, drafting)
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
        steps = stream.steps_done
        stream.phase = Phase.DECODE
        stream.decode_from = self.iteration
        self._growth.add(self.iteration, stream.plan.steps[steps:], self.memory.growth(stream, steps))
        self.context_tokens += stream.visible + stream.tokens_after(steps)
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
        self.memory.leave(stream)
        if not page.unfinished:
            self._close_page(page)

    def _close_page(self, page: Page) -> None:
        page.ended_s = self.now_s
        del self.pages[page.arrival]
        self.on_page(page)

    def _stop_decoding(self, stream: Stream) -> None:
        """Take a decoding stream out of the batch as it stands now."""
        steps = stream.steps_at(self.iteration)
        if steps < len(stream.reached):
            self._growth.add(self.iteration, stream.plan.steps[steps:], self.memory.growth(stream, steps), sign=-1)
        stream.steps_done = steps
        stream.epoch += 1
        self.context_tokens -= stream.visible + stream.tokens_after(steps)
        self._decoding -= 1
        self.memory.settle(stream)

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
        page.trunk_ready = False
        self.memory.drop(page, stopped)
        return stopped

    def _release_held(self, page: Page) -> None:
        for stream in page.streams[1:]:
            if stream.phase is Phase.HELD:
                stream.phase = Phase.WAITING
                page.trunk.references += 1
                self.queue.add(stream)
