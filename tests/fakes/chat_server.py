"""A small chat server with scripted behaviour for each page, which also records what it was asked."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalkit.types import Page, PageJob

PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Answer:
    """A good answer in chunks; `usage` replaces the true one."""

    chunks: tuple[str, ...] = ("# Title\n", "body")
    finish_reason: str = "stop"
    usage: Any = None
    metrics: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Raw:
    """Bytes sent as they are, after which the connection is closed."""

    data: bytes


@dataclass(frozen=True)
class Hang:
    """Never answers."""


@dataclass(frozen=True)
class CutAfter:
    """Sends so many chunks of an answer and closes the connection; `politely` ends the HTTP body first."""

    chunks: int
    politely: bool = False


Behaviour = Answer | Raw | Hang | CutAfter
HTML = Raw(
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 24\r\n\r\n<html>bad gateway</html>"
)
STATUS_500 = Raw(
    b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\nContent-Length: 36\r\n\r\n"
    b'{"error": {"message": "CUDA error"}}'
)


@dataclass
class FakeChatServer:
    """Answers each page by `behave(page_id)`; `requests` are the bodies seen, in order."""

    behave: Callable[[str], Behaviour] = lambda page_id: Answer()
    metrics_text: str | None = None
    emulated: bool = False
    tokenize: Callable[[str], Mapping[str, Any]] | None = None
    model: str = "fake"
    version: str | None = "0.32.0"
    resettable: bool = True
    requests: list[dict[str, Any]] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    posts: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    connections: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    url: str = ""
    _chatting: set[asyncio.StreamWriter] = field(default_factory=set)
    listener: asyncio.Server | None = None

    def die(self, after: int) -> None:
        """Refuse connections once so many pages were asked for."""
        if len(self.pages) >= after and self.listener is not None:
            self.listener.close()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {line.split(":")[0].lower(): line.partition(":")[2].strip() for line in head[1:] if line}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        if path != "/v1/chat/completions":
            return self._side(method, path, body, writer)
        request = json.loads(body)
        page_id = page_of(request)
        if writer not in self._chatting:
            self._chatting.add(writer)
            self.connections += 1
        self.requests.append(request)
        self.headers.append(headers)
        self.pages.append(page_id)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._answer(self.behave(page_id), request, writer)
        finally:
            self.in_flight -= 1

    def _side(self, method: str, path: str, body: bytes, writer: asyncio.StreamWriter) -> bool:
        if method == "POST":
            self.posts.append(path)
        replies: dict[str, Any] = {
            "/v1/models": {"data": [{"id": self.model, "max_model_len": 16384}]},
            "/health": "",
        }
        if self.version is not None:
            replies["/version"] = {"version": self.version}
        if self.resettable:
            replies |= {"/reset_prefix_cache": "", "/reset_mm_cache": "", "/reset_encoder_cache": ""}
        if self.metrics_text is not None:
            replies["/metrics"] = self.metrics_text
        if self.tokenize is not None and path == "/tokenize":
            replies[path] = self.tokenize(json.loads(body)["prompt"])
        found = replies.get(path)
        data = b"" if found is None else found.encode() if isinstance(found, str) else json.dumps(found).encode()
        status = b"404 Not Found" if found is None else b"200 OK"
        writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(data) + data)
        return False

    async def _answer(self, behaviour: Behaviour, request: Mapping[str, Any], writer: asyncio.StreamWriter) -> bool:
        match behaviour:
            case Raw(data):
                writer.write(data)
                return False
            case Hang():
                await asyncio.Event().wait()
            case CutAfter(chunks, politely):
                events = _events(Answer(), request)[:chunks]
                writer.write(self._head(b"text/event-stream") + b"".join(map(_chunk, events)))
                if politely:
                    writer.write(b"0\r\n\r\n")
                return False
            case Answer() if request.get("stream"):
                writer.write(self._head(b"text/event-stream"))
                for event in _events(behaviour, request):
                    writer.write(_chunk(event))
                    await writer.drain()
                writer.write(b"0\r\n\r\n")
            case Answer():
                data = json.dumps(_whole(behaviour, request)).encode()
                writer.write(self._head(b"application/json") + _chunk(data) + b"0\r\n\r\n")
        return True

    def _head(self, content_type: bytes) -> bytes:
        mark = b"X-Evalkit-Emulated: 1\r\n" if self.emulated else b""
        return (
            b"HTTP/1.1 200 OK\r\nContent-Type: " + content_type + b"\r\n" + mark + b"Transfer-Encoding: chunked\r\n\r\n"
        )


def page_of(request: Mapping[str, Any]) -> str:
    """The page whose image a request holds: test images are a PNG signature and the page id."""
    parts = request["messages"][-1]["content"]
    url = next(part["image_url"]["url"] for part in parts if part["type"] == "image_url")
    return base64.b64decode(url.partition(",")[2])[len(PNG) :].partition(b"\0")[0].decode()


def _usage(answer: Answer) -> Any:
    if answer.usage is not None:
        return answer.usage
    return {"prompt_tokens": 100, "completion_tokens": len(answer.chunks) * 2, "total_tokens": 0}


def _events(answer: Answer, request: Mapping[str, Any]) -> list[bytes]:
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "content": ""},
        *({"content": text} for text in answer.chunks),
    ]
    events: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": answer.finish_reason}]})
    last: dict[str, Any] = {"choices": [], "usage": _usage(answer)}
    if answer.metrics is not None:
        last["metrics"] = answer.metrics
    events.append(last)
    lines = [b"data: " + json.dumps(event).encode() + b"\n\n" for event in events]
    return [*lines, b"data: [DONE]\n\n"]


def _whole(answer: Answer, request: Mapping[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": "".join(answer.chunks)}
    return {"choices": [{"message": message, "finish_reason": answer.finish_reason}], "usage": _usage(answer)}


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n" % len(data) + data + b"\r\n"


@contextmanager
def serving(server: FakeChatServer) -> Iterator[FakeChatServer]:
    """Run a fake server on a free port in a thread."""
    loop = asyncio.new_event_loop()
    started = loop.run_until_complete(asyncio.start_server(server.handle, "127.0.0.1", 0, limit=1 << 24))
    server.listener = started
    server.url = f"http://127.0.0.1:{started.sockets[0].getsockname()[1]}"
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(_stop, loop, started)
        thread.join()
        loop.close()


def _stop(loop: asyncio.AbstractEventLoop, started: asyncio.Server) -> None:
    started.close()
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.call_soon(loop.stop)


def page_jobs(folder: Path, count: int, size_bytes: int = 64) -> list[PageJob]:
    """Pages p000, p001, … with files that pass for PNG images and hold their page's id."""
    folder.mkdir(parents=True, exist_ok=True)
    jobs = []
    for number in range(count):
        name = f"p{number:03d}"
        image = folder / f"{name}.png"
        image.write_bytes((PNG + name.encode() + b"\0").ljust(size_bytes, b"."))
        jobs.append(PageJob(Page(name, name), str(image)))
    return jobs
