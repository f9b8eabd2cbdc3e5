"""Chat completions of the emulated server: one request from its body to its last byte and its row in the trace."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp import web

from evalkit.errors import UserError
from runners.emulator.answers import block_pieces, in_order_of_ending, looping, text_after
from runners.emulator.chat import ChatError, ChatRequest, Envelope, read_request
from runners.emulator.deployments import Deployment
from runners.emulator.engine import PageTooLargeError
from runners.emulator.exposition import Exposition
from runners.emulator.faults import FAULT_FIELD, FAULT_HEADER, Fault, FaultKind, FaultRule, first_hit, parse_fault
from runners.emulator.live import LiveEngine, LiveRequest
from runners.emulator.recorded import AnswerBook, RecordedAnswer
from runners.emulator.trace import request_figures
from runners.emulator.variants import Forking, Variant, plan_page
from runners.emulator.workload import PATCHES_PER_TOKEN

LARGE_BODY_BYTES = 100_000


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
class ImageCache:
    """Images seen since the last reset, as a multi-modal processor cache counts them."""

    queries: int = 0
    hits: int = 0
    seen: set[str] = field(default_factory=set)

    def ask(self, sha256: str) -> None:
        """Count one image."""
        self.queries += 1
        self.hits += sha256 in self.seen
        self.seen.add(sha256)


@dataclass(slots=True)
class _Exchange:
    """One request under way: what was asked, what is answered, and what the trace will say."""

    chat: ChatRequest
    answer: RecordedAnswer
    fault: Fault | None
    request_id: str
    envelope: Envelope
    received_wall_s: float
    first_sent_wall_s: float | None = None
    cut: bool = False

    def has(self, kind: FaultKind) -> bool:
        """Whether the request commits a fault of this kind."""
        return self.fault is not None and self.fault.kind is kind


class Completions:
    """Answers chat requests from recorded answers, timed by the engine, and keeps the trace's rows."""

    def __init__(
        self,
        settings: ServiceSettings,
        book: AnswerBook,
        live: LiveEngine,
        exposition: Exposition,
        on_crash: Callable[[], None],
    ) -> None:
        self.rows: list[dict[str, Any]] = []
        self.images = ImageCache()
        self.in_flight = 0
        self._settings = settings
        self._book = book
        self._live = live
        self._exposition = exposition
        self._on_crash = on_crash
        self._asked = 0
        # recorded counts already hold the markers of branches
        variant = live.engine.variant
        self._variant: Variant = replace(variant, content_marker=0, fork_marker=0, branch_closing=0)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One POST to /v1/chat/completions."""
        received_s = self._live.wall_s()
        self.in_flight += 1
        try:
            return await self._answer(request, received_s)
        except ChatError as error:
            return web.json_response(error.body(), status=error.status)
        finally:
            self.in_flight -= 1

    async def _answer(self, request: web.Request, received_s: float) -> web.StreamResponse:
        body = await request.read()
        if len(body) > LARGE_BODY_BYTES:  # decoding an image must not hold up the engine's clock
            chat = await asyncio.to_thread(read_request, body, FAULT_FIELD)
        else:
            chat = read_request(body, FAULT_FIELD)
        self._check(chat)
        answer = self._book.find(chat.image_sha256, chat.prompt)
        self._asked += 1
        fault = self._fault_of(request.headers.get(FAULT_HEADER) or chat.fault, answer.page_id)
        request_id = f"chatcmpl-emulated-{self._asked}"
        envelope = Envelope(request_id, self._settings.model, int(time.time()))
        exchange = _Exchange(chat, answer, fault, request_id, envelope, received_s)
        await self._fail_early(exchange, request)
        live = self._submit(exchange)
        try:
            if chat.stream:
                return await self._stream(exchange, live, request)
            return await self._whole(exchange, live)
        except (ConnectionError, asyncio.CancelledError):
            self._give_up(exchange, live, "cut" if exchange.cut else "aborted")
            raise

    def _fault_of(self, named: str | None, page_id: str) -> Fault | None:
        if not named:
            return first_hit(self._settings.faults, self._asked, page_id)
        try:
            return parse_fault(named)
        except UserError as error:
            raise ChatError(400, str(error)) from error

    def _check(self, chat: ChatRequest) -> None:
        settings = self._settings
        if chat.model and chat.model != settings.model:
            raise ChatError(404, f"The model `{chat.model}` does not exist.")
        if chat.max_tokens is not None and chat.max_tokens > settings.max_model_len:
            raise ChatError(
                400, f"max_tokens={chat.max_tokens} is too large: the context length is {settings.max_model_len}."
            )
        if settings.unknown == "refuse" and not self._book.known(chat.image_sha256):
            raise ChatError(404, f"No recorded answer for the image with sha256 {chat.image_sha256}.")

    async def _fail_early(self, exchange: _Exchange, request: web.Request) -> None:
        """Faults that strike before the engine sees the request."""
        if exchange.has(FaultKind.ERROR) and exchange.fault is not None:
            self._record(exchange, None, "error")
            raise ChatError(int(exchange.fault.value), "emulated fault: internal error")
        if exchange.has(FaultKind.CRASH):
            self._record(exchange, None, "crash")
            if request.transport is not None:
                request.transport.abort()
            self._on_crash()
            raise asyncio.CancelledError
        if exchange.has(FaultKind.HANG):
            self._record(exchange, None, "hang")
            await asyncio.Event().wait()
        if exchange.has(FaultKind.REPEAT):
            limit = min(exchange.chat.max_tokens or 10**9, self._variant.limits.stream_tokens)
            exchange.answer = looping(exchange.answer, limit)

    def _submit(self, exchange: _Exchange) -> LiveRequest:
        chat, answer = exchange.chat, exchange.answer
        key = f"{chat.image_sha256}|{chat.prompt}|{chat.salt}"
        page = replace(answer.page_tokens(key), image_patches=answer.input_tokens * PATCHES_PER_TOKEN)
        room = self._settings.max_model_len - answer.input_tokens
        if room < 1:
            raise ChatError(
                400, f"The prompt has {answer.input_tokens} tokens, more than {self._settings.max_model_len}."
            )
        variant = self._variant if answer.forked else replace(self._variant, forking=Forking.NONE)
        plan = plan_page(page, variant, self._settings.seed, min(chat.max_tokens or room, room))
        if chat.has_image:
            self.images.ask(chat.image_sha256)
        try:
            return self._live.submit(plan)
        except PageTooLargeError as error:
            raise ChatError(400, str(error)) from error

    async def _whole(self, exchange: _Exchange, live: LiveRequest) -> web.Response:
        pieces: list[str] = []

        async def keep(piece: str) -> None:
            pieces.append(piece)

        await self._follow(exchange, live, keep)
        usage, figures = self._usage(exchange, live), self._record(exchange, live, "ok")
        answer = exchange.envelope.completion("".join(pieces), _finish(live), usage, {"evalkit_emulated": figures})
        body = json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")
        return web.Response(body=body, content_type="application/json")

    async def _stream(self, exchange: _Exchange, live: LiveRequest, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        out = _Output(response, request, exchange)
        await out.write(exchange.envelope.chunk({"role": "assistant", "content": ""}))

        async def send(piece: str) -> None:
            usage = self._usage(exchange, live) if exchange.chat.continuous_usage else None
            await out.write_content(exchange.envelope.chunk({"content": piece}, usage=usage))

        await self._follow(exchange, live, send)
        if exchange.cut:
            self._give_up(exchange, live, "cut")
            return response
        await out.write(exchange.envelope.chunk({}, finish=_finish(live)))
        usage, figures = self._usage(exchange, live), self._record(exchange, live, "ok")
        if exchange.chat.include_usage:
            await out.write(exchange.envelope.usage_chunk(usage, {"evalkit_emulated": figures}))
        await out.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response

    async def _follow(self, exchange: _Exchange, live: LiveRequest, send: Callable[[str], Awaitable[None]]) -> None:
        """Send text as the engine brings it: a trajectory step by step, a forked page once all its branches ended."""
        if exchange.has(FaultKind.SLOW_FIRST) and exchange.fault is not None:
            await asyncio.sleep(exchange.fault.value / self._settings.speed)
        forked = len(live.page.streams) > 1
        sent = 0
        while not exchange.cut and (tokens := await live.progress.get()) is not None:
            text = "" if forked else text_after(exchange.answer, tokens)
            if len(text) > sent:
                self._note_first(exchange)
                await send(text[sent:])
                sent = len(text)
        text = _text(exchange, live)
        for piece in block_pieces(text) if forked else [text[sent:]]:
            if piece and not exchange.cut:
                self._note_first(exchange)
                await send(piece)

    def _note_first(self, exchange: _Exchange) -> None:
        if exchange.first_sent_wall_s is None:
            exchange.first_sent_wall_s = self._live.wall_s()

    def _usage(self, exchange: _Exchange, live: LiveRequest) -> dict[str, Any]:
        plan, ended = live.page.plan, live.page.ended_s is not None
        tokens = plan.tokens if ended else live.told
        if exchange.has(FaultKind.WRONG_USAGE) and exchange.fault is not None:
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

    def _give_up(self, exchange: _Exchange, live: LiveRequest, state: str) -> None:
        self._live.abort(live)
        self._record(exchange, live, state)
        self._exposition.add("request_success", finished_reason="abort")

    def _record(self, exchange: _Exchange, live: LiveRequest | None, state: str) -> dict[str, Any]:
        """Write the request's row, and its histograms when it ended well; what decoding it took."""
        forked = live is not None and len(live.page.streams) > 1
        finished = live is not None and state == "ok"
        row: dict[str, Any] = {
            "request_id": exchange.request_id,
            "page_id": exchange.answer.page_id,
            "mode": "fork" if forked else "plain",
            "state": state,
            "fault": str(exchange.fault.kind) if exchange.fault else None,
            "finish_reason": _finish(live) if live is not None and finished else None,
            "received_wall_s": exchange.received_wall_s,
            "first_sent_wall_s": exchange.first_sent_wall_s,
            "last_sent_wall_s": self._live.wall_s(),
        }
        figures = request_figures(live.page, self._variant.window) if live else {"arrival_s": None, "ended_s": None}
        self.rows.append(row | figures)
        if live is not None and finished:
            chat = exchange.chat
            self._exposition.observe_page(live.page, self._settings.speed, chat.samples, chat.max_tokens, _finish(live))
        return figures


def _finish(live: LiveRequest) -> str:
    return "length" if live.page.plan.truncated else "stop"


def _text(exchange: _Exchange, live: LiveRequest) -> str:
    text = text_after(exchange.answer, live.page.plan.tokens)
    return in_order_of_ending(text, live.page) if exchange.has(FaultKind.OUT_OF_ORDER) else text


class _Output:
    """Writes events, and cuts or spoils them where a fault says so."""

    def __init__(self, response: web.StreamResponse, request: web.Request, exchange: _Exchange) -> None:
        self._response = response
        self._request = request
        self._exchange = exchange
        self._contents = 0

    async def write(self, data: bytes) -> None:
        """Send an event as it is."""
        await self._response.write(data)

    async def write_content(self, data: bytes) -> None:
        """Send a content event, counted for the faults cut and malformed."""
        fault = self._exchange.fault
        if fault is not None and fault.kind is FaultKind.MALFORMED and self._contents == int(fault.value):
            data = data[: len(data) // 2].rstrip(b"}") + b"\n\n"
        if fault is not None and fault.kind is FaultKind.CUT and self._contents >= int(fault.value):
            self._exchange.cut = True
            if self._request.transport is not None:
                self._request.transport.abort()
            return
        self._contents += 1
        await self._response.write(data)
