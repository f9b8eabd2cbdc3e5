"""Addresses, request heads, and connections that are kept and given up."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from pathlib import Path

import pytest

from evalkit.types import Load
from runners.http_exchange import ConnectionPool, Endpoint, ExchangeError, request_head
from tests.fakes.chat_server import Answer, FakeChatServer, Raw, page_jobs, serving
from tests.runners.test_load import drive


@pytest.mark.parametrize(
    ("url", "root", "secure"),
    [
        ("http://127.0.0.1:8118", "http://127.0.0.1:8118", False),
        ("127.0.0.1:8118", "http://127.0.0.1:8118", False),
        ("http://host:8000/v1", "http://host:8000", False),
        ("http://host:8000/v1/", "http://host:8000", False),
        ("https://api.example/openai/v1", "https://api.example:443/openai", True),
        ("http://[::1]:8000/v1", "http://[::1]:8000", False),
        ("http://host", "http://host:80", False),
    ],
)
def test_addresses_are_taken_apart(url: str, root: str, secure: bool) -> None:
    endpoint = Endpoint.parse(url)
    assert (endpoint.root, endpoint.secure) == (root, secure)


@pytest.mark.parametrize("url", ["", "ftp://host", "http://", "http://host:port"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError):
        Endpoint.parse(url)


def test_the_head_names_host_length_and_path() -> None:
    head = request_head(Endpoint.parse("http://[::1]:8000/base/v1"), "/v1/x", 7, {"Authorization": "Bearer k"})
    lines = head.decode().split("\r\n")
    assert lines[:2] == ["POST /base/v1/x HTTP/1.1", "Host: [::1]:8000"]
    assert "Content-Length: 7" in lines
    assert "Authorization: Bearer k" in lines
    assert lines[-2:] == ["", ""]


def test_a_connection_is_kept_for_the_next_page(tmp_path: Path) -> None:
    with serving(FakeChatServer()) as server:
        drive((server.url,), page_jobs(tmp_path, 10), load=Load("closed", 1))
        assert (len(server.requests), server.connections) == (10, 1)


def test_a_server_that_closes_gets_a_new_connection_and_no_request_twice(tmp_path: Path) -> None:
    body = b'{"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}'
    closing = Raw(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
        b"Content-Length: %d\r\n\r\n" % len(body) + body
    )
    with serving(FakeChatServer(lambda page_id: closing)) as server:
        outputs, _ = drive((server.url,), page_jobs(tmp_path, 5), load=Load("closed", 1))
        assert (len(server.requests), server.connections) == (5, 5)
    assert [(output.state, output.text) for output in outputs] == [("ok", "a")] * 5


def test_an_answer_framed_by_its_end_is_whole(tmp_path: Path) -> None:
    body = b'{"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}'
    until_close = Raw(b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + body)
    with serving(FakeChatServer(lambda page_id: until_close)) as server:
        outputs, _ = drive((server.url,), page_jobs(tmp_path, 2))
    assert [(output.state, output.text) for output in outputs] == [("ok", "a")] * 2


def test_an_early_refusal_of_a_big_body_is_understood(tmp_path: Path) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        error = b'{"error": {"message": "too big"}}'
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: %d\r\n\r\n" % len(error) + error)
        await writer.drain()
        while await reader.read(1 << 16):  # a server that read on would lose the client nothing
            pass
        writer.close()

    async def ask() -> tuple[int, bytes]:
        server = await asyncio.start_server(refuse, "127.0.0.1", 0)
        endpoint = Endpoint.parse(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        answer = _Collected()
        pool = ConnectionPool()
        connection = await pool.acquire(endpoint)
        body = memoryview(bytes(20_000_000))
        await connection.exchange(request_head(endpoint, "/", len(body), {}), body, answer)
        pool.release(endpoint, connection)
        server.close()
        return answer.status, answer.data

    assert asyncio.run(ask()) == (413, b'{"error": {"message": "too big"}}')


class _Collected:
    def __init__(self) -> None:
        self.status = 0
        self.data = b""

    def on_head(self, status: int, headers: object) -> None:
        self.status = status

    def on_body(self, data: bytes, time_s: float) -> None:
        self.data += data


def test_an_untrusted_certificate_is_refused_with_its_reason(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    try:
        subprocess.run([*words, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("no openssl program here to make a certificate with")

    async def ask() -> str:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ExchangeError) as caught:
            await ConnectionPool().acquire(Endpoint.parse(f"https://127.0.0.1:{port}"))
        server.close()
        return str(caught.value)

    assert "certificate verify failed" in asyncio.run(ask())


def test_an_answer_in_many_small_pieces(tmp_path: Path) -> None:
    with serving(FakeChatServer(lambda page_id: Answer(chunks=tuple("abc" * 500)))) as server:
        outputs, _ = drive((server.url,), page_jobs(tmp_path, 3))
    assert {output.text for output in outputs} == {"abc" * 500}
    assert {len(output.extra["chunk_times_s"]) for output in outputs} == {1500}
