"""A server that answers every chat completion at once: what the client can do by itself shows against it.

Run as `python -m runners.loopback_stub [FIRST_TOKEN_S]`; prints its port and ends when its stdin closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import PIPE, Popen

MODEL = "stub"
HEAD_BYTES = 16 * 1024
DROPPED = bytearray(4 * 1024 * 1024)
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


class _Exchange:
    """One connection: takes requests and answers each when its body has come.

    Bodies are dropped in the kernel (MSG_TRUNC), so that a comparison of clients is not one of this server's copying.
    """

    def __init__(self, connection: socket.socket, first_token_s: float) -> None:
        self._socket = connection
        self._first_token_s = first_token_s
        self._loop = asyncio.get_running_loop()
        self._head = b""
        self._left = 0
        self._reply = ANSWER
        connection.setblocking(False)
        self._loop.add_reader(connection, self._readable)

    def _readable(self) -> None:
        try:
            if self._left:
                taken = self._socket.recv_into(DROPPED, min(self._left, len(DROPPED)), socket.MSG_TRUNC)
                self._left -= taken
                ended = taken == 0
            else:
                data = self._socket.recv(HEAD_BYTES, socket.MSG_PEEK)
                ended = not data or not self._take_head(data)
        except BlockingIOError:
            return
        except OSError:
            ended = True
        if ended:
            self._loop.remove_reader(self._socket)
            self._socket.close()
        elif not self._left and not self._head:
            self._finish()

    def _take_head(self, data: bytes) -> bool:
        """Take what belongs to the head and leave the body to be dropped; False for a head without an end."""
        head, found, _ = (self._head + data).partition(b"\r\n\r\n")
        taken = len(head) + len(found) - len(self._head)
        self._socket.recv(taken)
        self._head = b"" if found else head
        if found:
            self._begin(head)
        return len(self._head) < HEAD_BYTES

    def _begin(self, head: bytes) -> None:
        """Choose the reply, and note the length of the body."""
        self._reply = ANSWER if head.startswith(b"POST /v1/chat") else MODELS
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                self._left = int(value)

    def _finish(self) -> None:
        if self._first_token_s and self._reply is ANSWER:
            self._loop.call_later(self._first_token_s, self._send, self._reply)
        else:
            self._send(self._reply)

    def _send(self, reply: bytes) -> None:
        with contextlib.suppress(OSError):  # a reply of a kilobyte fits any socket's buffer
            self._socket.send(reply)


async def _serve(first_token_s: float) -> None:
    loop = asyncio.get_running_loop()
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    listener.setblocking(False)

    def accept() -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                _Exchange(listener.accept()[0], first_token_s)

    loop.add_reader(listener, accept)
    print(listener.getsockname()[1], flush=True)
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
