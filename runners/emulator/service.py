"""The emulated OpenAI-compatible server: HTTP in front of an engine that runs in real time."""

from __future__ import annotations

import asyncio
import json
import time
import traceback
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp import web

from runners.emulator.answers import block_pieces, in_order_of_ending, looping, text_after
from runners.emulator.chat import ChatError, ChatRequest, Envelope, error_body, read_request
from runners.emulator.deployments import Deployment
from runners.emulator.engine import PageTooLargeError
from runners.emulator.exposition import Exposition
from runners.emulator.faults import FAULT_FIELD, FAULT_HEADER, Fault, FaultKind, FaultRule, first_hit, parse_fault
from runners.emulator.live import LiveEngine, LiveRequest
from runners.emulator.pages import PagePlan
from runners.emulator.recorded import AnswerBook, RecordedAnswer
from runners.emulator.tokenizer import token_strings
from runners.emulator.trace import TRACE_SCHEMA, TRACE_VERSION, engine_facts, request_figures, totals
from runners.emulator.variants import Forking, Variant, plan_page

PATCHES_PER_TOKEN = 4
MAX_BODY_BYTES = 256 * 2**20
_HEADER = ("X-Evalkit-Emulated", "1")


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """How the emulated server behaves. `unknown` is choose (an answer by hash) or refuse (404)."""

    deployment: Deployment
    model: str = "HPD-Parsing"
    speed: float = 1.0
    seed: int = 0
    release: str = "0.17.1"
    max_model_len: int = 16384
    unknown: str = "choose"
    faults: tuple[FaultRule, ...] = ()
    blocks: int | None = None


@dataclass(slots=True)
class _Exchange:
    """One chat request under way: what was asked, what is answered, and what the trace will say."""

    chat: ChatRequest
    answer: RecordedAnswer
    fault: Fault | None
    request_id: str
    received_wall_s: float
    live: LiveRequest | None = None
    plan: PagePlan | None = None
    sent: str = ""
    first_sent_wall_s: float | None = None
    envelope: Envelope = field(init=False)


class EmulatedService:
    """Answers HTTP requests from recorded answers, timed by the engine."""

    def __init__(self, settings: ServiceSettings, book: AnswerBook, on_crash: Callable[[], None]) -> None:
        self.settings = settings
        self.book = book
        self.requests: list[dict[str, Any]] = []
        self._on_crash = on_crash
        self._asked = 0
        self._in_flight = 0
        self._images: OrderedDict[str, None] = OrderedDict()
        self._mm_queries = self._mm_hits = 0
        engine = settings.deployment.engine(settings.blocks, keep_log=False)
        self._engine = engine
        # recorded counts already hold the markers of branches
        self._variant: Variant = replace(engine.variant, content_marker=0, fork_marker=0, branch_closing=0)
        cache = {
            "block_size": str(engine.limits.block_tokens),
            "cache_dtype": "auto",
            "enable_prefix_caching": str(engine.limits.prefix_caching),
            "gpu_memory_utilization": str(engine.limits.memory_share),
            "num_gpu_blocks": str(engine.pool.total),
        }
        self.exposition = Exposition(settings.release, settings.model, engine.variant.window, cache)
        self._live: LiveEngine | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def live(self) -> LiveEngine:
        """The running engine."""
        if self._live is None:
            raise RuntimeError("the service has not started")
        return self._live

    def application(self) -> web.Application:
        """The HTTP application."""
        app = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[self._count_http])
        app.on_response_prepare.append(self._mark)
        app.on_startup.append(self._start)
        app.on_cleanup.append(self._stop)
        app.add_routes(
            [
                web.post("/v1/chat/completions", self._chat),
                web.get("/v1/models", self._models),
                web.get("/health", self._health),
                web.get("/ping", self._health),
                web.get("/version", self._version),
                web.get("/load", self._load),
                web.get("/metrics", self._metrics),
                web.get("/trace", self._trace),
                web.post("/tokenize", self._tokenize),
                web.post("/reset_prefix_cache", self._reset_prefix),
                web.post("/reset_mm_cache", self._reset_images),
                web.post("/reset_encoder_cache", self._reset_images),
            ]
        )
        return app

    # --- lifecycle and middleware ---

    async def _start(self, _: web.Application) -> None:
        self._live = LiveEngine(self._engine, self.settings.speed)
        self._task = asyncio.create_task(self._live.run())
        self._task.add_done_callback(self._engine_ended)

    def _engine_ended(self, task: asyncio.Task[None]) -> None:
        """An engine that fails is a bug: show it and stop, rather than let every client wait."""
        if not task.cancelled() and (error := task.exception()) is not None:
            traceback.print_exception(error)
            self._on_crash()

    async def _stop(self, _: web.Application) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _mark(self, _: web.Request, response: web.StreamResponse) -> None:
        response.headers[_HEADER[0]] = _HEADER[1]

    @web.middleware
    async def _count_http(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        started_s = time.monotonic()
        response = await handler(request)
        if request.path not in ("/metrics", "/health", "/trace"):
            seconds = time.monotonic() - started_s
            sent = response.body_length if response.prepared else len(getattr(response, "body", b"") or b"")
            self.exposition.http(
                request.path, request.method, response.status, seconds, sent, request.content_length or 0
            )
        return response

    # --- small addresses ---

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response()

    async def _version(self, _: web.Request) -> web.Response:
        return web.json_response({"version": f"{self.settings.release}+evalkit.emulated", "emulated": True})

    async def _load(self, _: web.Request) -> web.Response:
        return web.json_response({"server_load": self._in_flight})

    async def _models(self, _: web.Request) -> web.Response:
        entry = {
            "id": self.settings.model,
            "object": "model",
            "created": 0,
            "owned_by": "evalkit-emulated",
            "root": self.settings.model,
            "max_model_len": self.settings.max_model_len,
        }
        return web.json_response({"object": "list", "data": [entry]})

    async def _tokenize(self, request: web.Request) -> web.Response:
        try:
            data = json.loads(await request.read())
            texts = [data["prompt"]] if "prompt" in data else [str(message["content"]) for message in data["messages"]]
        except (ValueError, KeyError, TypeError):
            return web.json_response(error_body(400, "tokenize: expected prompt or messages"), status=400)
        strings = [token for text in texts for token in token_strings(text, self.book.with_text(text))]
        reply: dict[str, Any] = {
            "count": len(strings),
            "max_model_len": self.settings.max_model_len,
            "tokens": list(range(len(strings))),
            "token_strs": strings if data.get("return_token_strs") else None,
            "emulated": True,
        }
        return web.json_response(reply)

    async def _reset_prefix(self, _: web.Request) -> web.Response:
        self._engine.pool.reset_cache()
        return web.Response()

    async def _reset_images(self, _: web.Request) -> web.Response:
        self._images.clear()
        return web.Response()

    async def _metrics(self, _: web.Request) -> web.Response:
        self._refresh()
        return web.Response(body=self.exposition.text(), headers={"Content-Type": "text/plain; version=0.0.4"})

    async def _trace(self, _: web.Request) -> web.Response:
        return web.json_response(self.trace())

    def trace(self) -> dict[str, Any]:
        """The engine's account of everything so far."""
        return {
            "schema": TRACE_SCHEMA,
            "version": TRACE_VERSION,
            "provenance": "emulated",
            "speed": self.settings.speed,
            "seed": self.settings.seed,
            "lag_s": self.live.lag_s,
            "engine": engine_facts(self._engine),
            "totals": totals(self.requests),
            "requests": self.requests,
        }

    def _refresh(self) -> None:
        """Bring counters and gauges up to the engine's state."""
        counters, show = self._engine.counters, self.exposition
        show.total("generation_tokens", counters.generated)
        show.total("prompt_tokens", counters.prompt_tokens)
        show.total("prompt_tokens_cached", counters.cached_tokens)
        computed = counters.prompt_tokens - counters.cached_tokens
        show.total("prompt_tokens_by_source", computed, source="local_compute")
        show.total("prompt_tokens_by_source", counters.cached_tokens, source="local_cache_hit")
        show.total("prompt_tokens_cached_by_source", counters.cached_tokens, source="device")
        show.total("prefix_cache_queries", counters.prompt_tokens)
        show.total("prefix_cache_hits", counters.cached_tokens)
        show.total("mm_cache_queries", self._mm_queries)
        show.total("mm_cache_hits", self._mm_hits)
        show.total("num_preemptions", counters.preemptions)
        show.total("spec_decode_num_drafts", counters.drafts)
        show.total("spec_decode_num_draft_tokens", counters.drafted)
        show.total("spec_decode_num_accepted_tokens", counters.accepted)
        for position, accepted in enumerate(counters.accepted_at):
            show.total("spec_decode_num_accepted_tokens_per_pos", accepted, position=str(position))
        show.gauge("num_requests_running", self._engine.live_streams)
        show.gauge("num_requests_waiting", len(self._engine.queue))
        show.gauge("kv_cache_usage_perc", self._engine.pool.in_use / self._engine.pool.total)

    # --- chat ---

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        received_s = self.live.wall_s()
        self._in_flight += 1
        try:
            return await self._answer(request, received_s)
        except ChatError as error:
            return web.json_response(error.body(), status=error.status)
        finally:
            self._in_flight -= 1

    async def _answer(self, request: web.Request, received_s: float) -> web.StreamResponse:
        chat = read_request(await request.read(), FAULT_FIELD)
        self._check(chat)
        answer = self.book.find(chat.image_sha256, chat.prompt)
        self._asked += 1
        named = request.headers.get(FAULT_HEADER) or chat.fault
        fault = parse_fault(named) if named else first_hit(self.settings.faults, self._asked, answer.page_id)
        exchange = _Exchange(chat, answer, fault, f"chatcmpl-emulated-{self._asked}", received_s)
        exchange.envelope = Envelope(exchange.request_id, self.settings.model, int(time.time()))
        if fault is not None:
            await self._before_answer(exchange, request)
        self._submit(exchange)
        try:
            if chat.stream:
                return await self._stream(exchange, request)
            return await self._whole(exchange)
        except (ConnectionError, asyncio.CancelledError):
            self._give_up(exchange, "aborted")
            raise

    def _check(self, chat: ChatRequest) -> None:
        settings = self.settings
        if chat.model and chat.model != settings.model:
            raise ChatError(404, f"The model `{chat.model}` does not exist.")
        if chat.max_tokens is not None and chat.max_tokens > settings.max_model_len:
            raise ChatError(
                400, f"max_tokens={chat.max_tokens} is too large: the context length is {settings.max_model_len}."
            )
        if settings.unknown == "refuse" and not self.book.known(chat.image_sha256):
            raise ChatError(404, f"No recorded answer for the image with sha256 {chat.image_sha256}.")

    async def _before_answer(self, exchange: _Exchange, request: web.Request) -> None:
        """Faults that strike before the engine sees the request."""
        fault = exchange.fault
        if fault is None:
            return
        if fault.kind is FaultKind.ERROR:
            self._record(exchange, "error")
            raise ChatError(int(fault.value), "emulated fault: internal error")
        if fault.kind is FaultKind.CRASH:
            self._record(exchange, "crash")
            if request.transport is not None:
                request.transport.abort()
            self._on_crash()
            raise asyncio.CancelledError
        if fault.kind is FaultKind.HANG:
            self._record(exchange, "hang")
            await asyncio.Event().wait()
        if fault.kind is FaultKind.REPEAT:
            limit = min(exchange.chat.max_tokens or 10**9, self._variant.limits.stream_tokens)
            exchange.answer = looping(exchange.answer, limit)

    def _submit(self, exchange: _Exchange) -> None:
        chat, answer = exchange.chat, exchange.answer
        key = f"{chat.image_sha256}|{chat.prompt}|{chat.salt}"
        page = replace(answer.page_tokens(key), image_patches=answer.input_tokens * PATCHES_PER_TOKEN)
        room = self.settings.max_model_len - answer.input_tokens
        if room < 1:
            raise ChatError(
                400, f"The prompt has {answer.input_tokens} tokens, more than {self.settings.max_model_len}."
            )
        limit = min(chat.max_tokens or room, room)
        variant = self._variant if answer.forked else replace(self._variant, forking=Forking.NONE)
        exchange.plan = plan_page(page, variant, self.settings.seed, limit)
        if chat.has_image:
            self._mm_queries += 1
            self._mm_hits += chat.image_sha256 in self._images
            self._images[chat.image_sha256] = None
        try:
            exchange.live = self.live.submit(exchange.plan)
        except PageTooLargeError as error:
            raise ChatError(400, str(error)) from error

    async def _whole(self, exchange: _Exchange) -> web.Response:
        await self._wait(exchange, lambda text: asyncio.sleep(0))
        text, finish = self._final_text(exchange), self._finish(exchange)
        self._note_first(exchange)
        usage, metrics = self._usage(exchange), self._record(exchange, "ok")
        body = json.dumps(exchange.envelope.completion(text, finish, usage, metrics), ensure_ascii=False)
        return web.Response(body=body.encode("utf-8", "replace"), content_type="application/json")

    async def _stream(self, exchange: _Exchange, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        out = _Output(response, request, exchange.fault)
        await out.write(exchange.envelope.chunk({"role": "assistant", "content": ""}))

        async def send(piece: str) -> None:
            usage = self._usage(exchange) if exchange.chat.continuous_usage else None
            self._note_first(exchange)
            await out.write_content(exchange.envelope.chunk({"content": piece}, usage=usage))

        if not await self._wait(exchange, send, out):
            self._give_up(exchange, "cut")
            return response
        await out.write(exchange.envelope.chunk({}, finish=self._finish(exchange)))
        usage, metrics = self._usage(exchange), self._record(exchange, "ok")
        if exchange.chat.include_usage:
            await out.write(exchange.envelope.usage_chunk(usage, metrics))
        await out.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response

    async def _wait(
        self, exchange: _Exchange, send: Callable[[str], Awaitable[None]], out: _Output | None = None
    ) -> bool:
        """Follow the engine and send text as it comes; False when the stream is to be cut."""
        live = exchange.live
        if live is None:
            return False
        fault = exchange.fault
        if fault is not None and fault.kind is FaultKind.SLOW_FIRST:
            await asyncio.sleep(fault.value / self.settings.speed)
        forked = len(live.page.streams) > 1
        while (tokens := await live.progress.get()) is not None:
            if not forked:
                await self._send_up_to(exchange, text_after(exchange.answer, tokens), send)
            if out is not None and out.cut:
                return False
        # a forked page is released when all its branches have ended
        pieces = (
            block_pieces(self._final_text(exchange)) if forked else [self._final_text(exchange)[len(exchange.sent) :]]
        )
        for piece in pieces:
            if piece:
                await send(piece)
            if out is not None and out.cut:
                return False
        return True

    async def _send_up_to(self, exchange: _Exchange, text: str, send: Callable[[str], Awaitable[None]]) -> None:
        piece = text[len(exchange.sent) :]
        if piece:
            exchange.sent = text
            await send(piece)

    def _final_text(self, exchange: _Exchange) -> str:
        plan, live = exchange.plan, exchange.live
        if plan is None or live is None:
            return ""
        text = text_after(exchange.answer, plan.tokens)
        if exchange.fault is not None and exchange.fault.kind is FaultKind.OUT_OF_ORDER:
            return in_order_of_ending(text, live.page)
        return text

    def _finish(self, exchange: _Exchange) -> str:
        return "length" if exchange.plan is not None and exchange.plan.truncated else "stop"

    def _note_first(self, exchange: _Exchange) -> None:
        if exchange.first_sent_wall_s is None:
            exchange.first_sent_wall_s = self.live.wall_s()

    def _usage(self, exchange: _Exchange) -> dict[str, Any]:
        plan, live = exchange.plan, exchange.live
        if plan is None or live is None:
            return {}
        ended = live.page.ended_s is not None
        tokens = plan.tokens if ended else live.told
        if exchange.fault is not None and exchange.fault.kind is FaultKind.WRONG_USAGE:
            tokens = int(tokens * exchange.fault.value)
        usage: dict[str, Any] = {
            "prompt_tokens": plan.prompt_tokens,
            "completion_tokens": tokens,
            "total_tokens": plan.prompt_tokens + tokens,
            "prompt_tokens_details": {"cached_tokens": live.page.cached_tokens},
        }
        if ended:
            usage["evalkit_emulated"] = request_figures(live.page, self._variant.window)
        return usage

    def _give_up(self, exchange: _Exchange, state: str) -> None:
        if exchange.live is not None:
            self.live.abort(exchange.live)
        self._record(exchange, state)
        self.exposition.add("request_success", finished_reason="abort")

    def _record(self, exchange: _Exchange, state: str) -> dict[str, Any]:
        """Write the request into the trace and, when it ended well, into the histograms."""
        page = exchange.live.page if exchange.live else None
        row: dict[str, Any] = {
            "request_id": exchange.request_id,
            "page_id": exchange.answer.page_id,
            "mode": "fork" if exchange.answer.forked and len(page.streams if page else ()) > 1 else "plain",
            "state": state,
            "fault": str(exchange.fault.kind) if exchange.fault else None,
            "finish_reason": self._finish(exchange) if state == "ok" else None,
            "received_wall_s": exchange.received_wall_s,
            "first_sent_wall_s": exchange.first_sent_wall_s,
            "last_sent_wall_s": self.live.wall_s(),
        }
        figures = request_figures(page, self._variant.window) if page else dict.fromkeys(("arrival_s", "ended_s"))
        self.requests.append(row | figures)
        if state == "ok" and page is not None:
            observe_page(self.exposition, page, self.settings.speed, exchange.chat, self._finish(exchange))
        return {"evalkit_emulated": figures}


def observe_page(show: Exposition, page: Any, speed: float, chat: ChatRequest, finish: str) -> None:
    """Histograms of one page that ended; seconds are those of the wall clock, as a client sees them."""
    started, first, ended = page.started_s, page.first_token_s, page.ended_s
    plan = page.plan
    show.add("request_success", finished_reason=finish)
    show.observe("e2e_request_latency_seconds", (ended - page.arrival_s) / speed)
    show.observe("time_to_first_token_seconds", (first - page.arrival_s) / speed)
    show.observe("request_queue_time_seconds", (started - page.arrival_s) / speed)
    show.observe("request_prefill_time_seconds", (first - started) / speed)
    show.observe("request_decode_time_seconds", (ended - first) / speed)
    show.observe("request_inference_time_seconds", (ended - started) / speed)
    show.observe("request_prompt_tokens", plan.prompt_tokens)
    show.observe("request_generation_tokens", plan.tokens)
    show.observe("request_max_num_generation_tokens", plan.tokens)
    show.observe("request_params_n", chat.samples)
    show.observe("request_params_max_tokens", chat.max_tokens or plan.tokens)
    show.observe("request_prefill_kv_computed_tokens", page.computed_tokens)
    show.observe("request_num_preemptions", page.preemptions)
    if plan.tokens > 1:
        per_token_s = (ended - first) / speed / (plan.tokens - 1)
        show.observe("request_time_per_output_token_seconds", per_token_s)
        show.observe("inter_token_latency_seconds", per_token_s)


class _Output:
    """Writes events, and cuts or spoils them where a fault says so."""

    def __init__(self, response: web.StreamResponse, request: web.Request, fault: Fault | None) -> None:
        self._response = response
        self._request = request
        self._fault = fault
        self._contents = 0
        self.cut = False

    async def write(self, data: bytes) -> None:
        await self._response.write(data)

    async def write_content(self, data: bytes) -> None:
        """One content chunk, counted for cut and malformed."""
        kind = self._fault.kind if self._fault else None
        limit = self._fault.value if self._fault else 0.0
        if kind is FaultKind.MALFORMED and self._contents == int(limit):
            data = data[: len(data) // 2].rstrip(b"}") + b"\n\n"
        if kind is FaultKind.CUT and self._contents >= int(limit):
            self.cut = True
            if self._request.transport is not None:
                self._request.transport.abort()
            return
        self._contents += 1
        await self._response.write(data)
