"""A chat server that answers by prompt, with scripted failures; records prompts, image sizes and keys."""

from __future__ import annotations

import asyncio
import base64
import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from PIL import Image


@dataclass
class Asked:
    """One request as it came: prompt, image size in px, the Authorization header, and the other body fields."""

    prompt: str
    size_px: tuple[int, int]
    key: str | None
    body: dict[str, Any]


@dataclass
class PromptServer:
    """`answer` gets each request and gives a text, or a status code to fail with."""

    answer: Callable[[Asked], str | int]
    asked: list[Asked] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        parts = [part for message in body["messages"] if message["role"] == "user" for part in message["content"]]
        prompt = next(part["text"] for part in parts if part["type"] == "text")
        url = next(part["image_url"]["url"] for part in parts if part["type"] == "image_url")
        with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as image:
            size = image.size
        asked = Asked(prompt, size, request.headers.get("Authorization"), body)
        self.asked.append(asked)
        said = self.answer(asked)
        if isinstance(said, int):
            headers = {"Retry-After": "0.01"}
            error = {"error": {"message": f"refused {asked.key}"}}
            return web.json_response(error, status=said, headers=headers)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        return web.json_response({"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage})

    async def models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "m", "object": "model"}]})


@contextmanager
def prompt_server(answer: Callable[[Asked], str | int]) -> Iterator[PromptServer]:
    """The server in a thread of its own, on a free port."""
    server = PromptServer(answer)
    loop = asyncio.new_event_loop()
    started = threading.Event()

    async def start() -> web.AppRunner:
        app = web.Application(client_max_size=100_000_000)
        app.router.add_post("/v1/chat/completions", server.chat)
        app.router.add_get("/v1/models", server.models)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.port = runner.addresses[0][1]
        started.set()
        return runner

    def serve() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(start())
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    started.wait(10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
