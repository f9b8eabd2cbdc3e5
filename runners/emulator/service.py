"""The emulated OpenAI-compatible server: HTTP in front of an engine that runs in real time."""

from __future__ import annotations

import asyncio
import json
import time
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from runners.emulator.chat import error_body
from runners.emulator.completions import Completions, ServiceSettings
from runners.emulator.exposition import Exposition
from runners.emulator.live import LiveEngine
from runners.emulator.recorded import AnswerBook
from runners.emulator.tokenizer import token_strings
from runners.emulator.trace import TRACE_SCHEMA, TRACE_VERSION, engine_facts, totals

MAX_BODY_BYTES = 256 * 2**20
_HEADER = ("X-Evalkit-Emulated", "1")


class EmulatedService:
    """Answers HTTP requests from recorded answers, timed by the engine."""

    def __init__(self, settings: ServiceSettings, book: AnswerBook, on_crash: Callable[[], None]) -> None:
        self.settings = settings
        self.book = book
        self._on_crash = on_crash
        engine = settings.deployment.engine(settings.blocks, keep_log=False)
        self._engine = engine
        cache = {
            "block_size": str(engine.limits.block_tokens),
            "cache_dtype": "auto",
            "enable_prefix_caching": str(engine.limits.prefix_caching),
            "gpu_memory_utilization": str(engine.limits.memory_share),
            "num_gpu_blocks": str(engine.pool.total),
        }
        self.exposition = Exposition(settings.release, settings.model, engine.variant.window, cache)
        self._live: LiveEngine | None = None
        self._completions: Completions | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def live(self) -> LiveEngine:
        """The running engine."""
        if self._live is None:
            raise RuntimeError("the service has not started")
        return self._live

    @property
    def completions(self) -> Completions:
        """The chat part."""
        if self._completions is None:
            raise RuntimeError("the service has not started")
        return self._completions

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
        self._completions = Completions(self.settings, self.book, self._live, self.exposition, self._on_crash)
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

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self.completions.handle(request)

    # --- small addresses ---

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response()

    async def _version(self, _: web.Request) -> web.Response:
        return web.json_response({"version": f"{self.settings.release}+evalkit.emulated", "emulated": True})

    async def _load(self, _: web.Request) -> web.Response:
        return web.json_response({"server_load": self.completions.in_flight})

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
        self.completions.images.seen.clear()
        return web.Response()

    async def _metrics(self, _: web.Request) -> web.Response:
        self._refresh()
        return web.Response(body=self.exposition.text(), headers={"Content-Type": "text/plain; version=0.0.4"})

    async def _trace(self, request: web.Request) -> web.Response:
        skip = request.query.get("skip", "0")
        if not skip.isdecimal():
            return web.json_response(error_body(400, f"skip={skip}: expected a number of requests"), status=400)
        return web.json_response(self.trace(int(skip)))

    def trace(self, skip: int = 0) -> dict[str, Any]:
        """The engine's account so far; the first `skip` requests that came to an end (a warm-up) are left out."""
        rows = self.completions.rows[skip:]
        return {
            "schema": TRACE_SCHEMA,
            "version": TRACE_VERSION,
            "provenance": "emulated",
            "speed": self.settings.speed,
            "seed": self.settings.seed,
            "lag_s": self.live.lag_s,
            "engine": engine_facts(self._engine),
            "totals": totals(rows),
            "requests": rows,
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
        show.total("mm_cache_queries", self.completions.images.queries)
        show.total("mm_cache_hits", self.completions.images.hits)
        show.total("num_preemptions", counters.preemptions)
        show.total("spec_decode_num_drafts", counters.drafts)
        show.total("spec_decode_num_draft_tokens", counters.drafted)
        show.total("spec_decode_num_accepted_tokens", counters.accepted)
        for position, accepted in enumerate(counters.accepted_at):
            show.total("spec_decode_num_accepted_tokens_per_pos", accepted, position=str(position))
        show.gauge("num_requests_running", self._engine.live_streams)
        show.gauge("num_requests_waiting", len(self._engine.queue))
        show.gauge("kv_cache_usage_perc", self._engine.pool.in_use / self._engine.pool.total)
