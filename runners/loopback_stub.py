"""A server that answers every chat completion at once: what the client can do by itself shows against it.

Run as `python -m runners.loopback_stub [FIRST_TOKEN_S]`; prints its port and ends when its stdin closes.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import PIPE, Popen

MODEL = "stub"
BUFFER_BYTES = 256 * 1024
CHUNKS = ("# Stub\n", "One paragraph.")


def _event(value: object) -> bytes:
    data = b"data: " + (value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n\n"
    return b"%x\r\n" % len(data) + data + b"\r\n"


def _answer() -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    common = {"id": "stub", "object": "chat.completion.chunk", "created": 0, "model": MODEL}
    deltas = [{"role": "assistant", "content": ""}, *({"content": text} for text in CHUNKS)]
    events = [{**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    events.append({**common, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    usage = {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14}
    events.append({**common, "choices": [], "usage": usage})
    return head + b"".join(map(_event, events)) + _event(b"[DONE]") + b"0\r\n\r\n"


def _plain(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body


ANSWER = _answer()
MODELS = _plain(json.dumps({"object": "list", "data": [{"id": MODEL, "object": "model"}]}).encode())


class _Exchange(asyncio.BufferedProtocol):
    """Counts the bytes of each request's body and answers when they are all there.

    The bytes land in one buffer again and again: they are not looked at beyond the head.
    """

    def __init__(self, first_token_s: float) -> None:
        self._first_token_s = first_token_s
        self._transport: asyncio.Transport | None = None
        self._buffer = memoryview(bytearray(BUFFER_BYTES))
        self._head = b""
        self._left = 0
        self._reply = ANSWER

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._left > nbytes:
            self._left -= nbytes
            return
        self._received(bytes(self._buffer[self._left : nbytes]), ended=self._left > 0)

    def _received(self, data: bytes, ended: bool) -> None:
        """What follows a body that has just ended, or a head."""
        self._left = 0
        if ended:
            self._finish()
        while data:
            head, found, rest = (self._head + data).partition(b"\r\n\r\n")
            self._head = b"" if found else head
            if not found:
                return
            length = self._begin(head)
            if length > len(rest):
                self._left = length - len(rest)
                return
            self._finish()
            data = rest[length:]

    def _begin(self, head: bytes) -> int:
        """Choose the reply; the length of the body."""
        length = 0
        self._reply = ANSWER if head.startswith(b"POST /v1/chat") else MODELS
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
            elif name.lower() == b"expect" and self._transport is not None:
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return length

    def _finish(self) -> None:
        if self._transport is None:
            return
        if self._first_token_s and self._reply is ANSWER:
            asyncio.get_running_loop().call_later(self._first_token_s, self._transport.write, self._reply)
        else:
            self._transport.write(self._reply)


async def _serve(first_token_s: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Exchange(first_token_s), "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


@contextmanager
def stub_server(first_token_s: float = 0.0) -> Iterator[str]:
    """A running stub in a process of its own; its address."""
    words = [sys.executable, "-P", "-m", "runners.loopback_stub", str(first_token_s)]
    with Popen(words, stdin=PIPE, stdout=PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.stdin.close()
            process.kill()


if __name__ == "__main__":
    asyncio.run(_serve(float(sys.argv[1]) if len(sys.argv) > 1 else 0.0))
