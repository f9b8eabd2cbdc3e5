"""One HTTP/1.1 request and its answer over asyncio, with the arrival time of every received piece.

General clients copy and re-encode bodies of a megabyte on the event loop, which then shows up as the server's
latency. Here the body is written as it lies in memory and the answer is parsed by llhttp as it arrives.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

import httptools

WRITE_SLICE_BYTES = 256 * 1024
MAX_HEAD_BYTES = 64 * 1024
MAX_ANSWER_BYTES = 64 * 1024 * 1024
MAX_IDLE_S = 2.0
"""An idle connection older than this is not used again: servers close theirs after about 5 s, and a timed run
sends nothing twice."""


class ExchangeError(Exception):
    """An exchange failed; the text begins with a short code and a colon."""


class Receiver(Protocol):
    """Takes an answer as it arrives. Times are `time.monotonic()` seconds."""

    def on_head(self, status: int, headers: Mapping[str, str]) -> None:
        """The status line and all headers, names in lower case."""

    def on_body(self, data: bytes, time_s: float) -> None:
        """A piece of the body, framing removed."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go: a base address taken apart."""

    url: str
    host: str
    port: int
    secure: bool
    path: str

    @classmethod
    def parse(cls, url: str) -> Endpoint:
        """From a base URL such as http://127.0.0.1:8000 or …/v1. Raises ValueError when it is none."""
        text = url if "://" in url else f"http://{url}"
        parts = urlsplit(text)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"{url!r} is not an http or https address")
        secure = parts.scheme == "https"
        path = parts.path.rstrip("/").removesuffix("/v1")
        return cls(text.rstrip("/"), parts.hostname, parts.port or (443 if secure else 80), secure, path)

    @property
    def root(self) -> str:
        """The address without /v1, for /health, /metrics and the like."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}{self.path}"


class Connection(asyncio.Protocol):
    """One connection, which carries one exchange after the other."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._receiver: Receiver | None = None
        self._finished: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._now_s = 0.0
        self._reset_head()
        self.closed = False
        self.reusable = False
        self.idle_since_s = 0.0

    def _reset_head(self) -> None:
        self._headers: dict[str, str] = {}
        self._status = 0
        self._head_bytes = 0
        self._body_bytes = 0

    # --- transport callbacks -------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        self._now_s = time.monotonic()
        if self._parser is None:
            self.close()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._fail("malformed: the server wants to change the protocol")
        except httptools.HttpParserError as error:
            self._fail(f"malformed: not an HTTP answer ({error})")
        if not self._status:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._fail("malformed: headers over 64 KiB")

    def connection_lost(self, error: Exception | None) -> None:
        self.closed = True
        self._writable.set()
        if self._finished is None or self._finished.done():
            return
        framed = "content-length" in self._headers or "chunked" in self._headers.get("transfer-encoding", "").lower()
        if self._status and not framed and error is None:
            self._finished.set_result(None)
            return
        cause = f" ({error})" if error else ""
        what = "before its end" if self._status else "without an answer"
        self._fail(f"cut: the server closed the connection {what}{cause}")

    # --- parser callbacks ----------------------------------------------------------------------------------

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        if self._receiver is None:  # a second answer to one request
            return
        status = int(self._parser.get_status_code())
        if status < 200:
            self._headers = {}
            return
        self._status = status
        self._receiver.on_head(self._status, self._headers)

    def on_body(self, data: bytes) -> None:
        self._body_bytes += len(data)
        if self._body_bytes > MAX_ANSWER_BYTES:
            self._fail("malformed: answer over 64 MiB")
        elif self._receiver is not None:
            self._receiver.on_body(data, self._now_s)

    def on_message_complete(self) -> None:
        assert self._parser is not None
        if self._receiver is None:
            self.reusable = False
        elif self._status and self._finished is not None and not self._finished.done():
            self.reusable = bool(self._parser.should_keep_alive())
            self._receiver = None
            self._finished.set_result(None)

    # --- one exchange --------------------------------------------------------------------------------------

    def _fail(self, reason: str) -> None:
        if self._finished is not None and not self._finished.done():
            self._finished.set_exception(ExchangeError(reason))
        self.close()

    def close(self) -> None:
        """Close at once; what is not yet sent is dropped."""
        self.closed = True
        if self._transport is not None:
            self._transport.abort()

    async def exchange(self, head: bytes, body: memoryview, receiver: Receiver) -> None:
        """Send a request and wait for the whole answer. Raises ExchangeError."""
        assert self._transport is not None
        self._reset_head()
        self.reusable = False
        self._receiver = receiver
        self._parser = httptools.HttpResponseParser(self)
        finished = self._finished = asyncio.get_running_loop().create_future()
        try:
            await self._write(head, body, finished)
            await finished
        finally:
            if not finished.done():
                finished.cancel()
            self._parser = self._receiver = self._finished = None
            self.idle_since_s = time.monotonic()
            if not self.reusable:
                self.close()

    async def _write(self, head: bytes, body: memoryview, finished: asyncio.Future[None]) -> None:
        assert self._transport is not None
        first = WRITE_SLICE_BYTES - len(head)
        self._transport.write(head + body[:first])
        for start in range(first, len(body), WRITE_SLICE_BYTES):
            await self._writable.wait()
            if self.closed or finished.done():
                # An early answer, such as 400, ends the request; the connection is out of step and not used again.
                self.reusable = False
                return
            self._transport.write(body[start : start + WRITE_SLICE_BYTES])


class ConnectionPool:
    """Keeps connections to endpoints for the next request."""

    def __init__(self) -> None:
        self._idle: dict[Endpoint, list[Connection]] = {}
        self._tls: ssl.SSLContext | None = None

    async def acquire(self, endpoint: Endpoint) -> Connection:
        """A connection that is open and fresh. Raises ExchangeError when the server refuses."""
        idle = self._idle.setdefault(endpoint, [])
        while idle:
            connection = idle.pop()
            if not connection.closed and time.monotonic() - connection.idle_since_s < MAX_IDLE_S:
                return connection
            connection.close()
        if endpoint.secure and self._tls is None:
            self._tls = ssl.create_default_context()
        tls = self._tls if endpoint.secure else None
        try:
            _, made = await asyncio.get_running_loop().create_connection(
                Connection, endpoint.host, endpoint.port, ssl=tls
            )
        except OSError as error:
            where = f"{endpoint.host}:{endpoint.port}"
            raise ExchangeError(f"refused: cannot connect to {where} ({error.strerror or error})") from error
        return made

    def release(self, endpoint: Endpoint, connection: Connection) -> None:
        """Give a connection back; it is kept when the server keeps it open."""
        if connection.reusable and not connection.closed:
            self._idle.setdefault(endpoint, []).append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Close all idle connections."""
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
        self._idle.clear()


def request_head(endpoint: Endpoint, path: str, length: int, headers: Mapping[str, str]) -> bytes:
    """The bytes before a POST body of `length` bytes."""
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    lines = [
        f"POST {endpoint.path}{path} HTTP/1.1",
        f"Host: {host}:{endpoint.port}",
        "Content-Type: application/json",
        "Accept: text/event-stream, application/json",
        f"Content-Length: {length}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
