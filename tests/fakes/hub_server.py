"""A small hub of data sets on this machine: listings, ranges, and the faults of real networks on demand."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlparse

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class FakeHub:
    """Files by path. Faults by path: each request takes the next one; `listing_status` answers listings."""

    files: dict[str, bytes]
    faults: dict[str, list[str]] = field(default_factory=dict)
    listing_status: int = 200
    requests: Counter[str] = field(default_factory=Counter)
    ranges: list[str] = field(default_factory=list)
    endpoint: str = ""

    def listing(self) -> bytes:
        siblings = [
            {
                "rfilename": path,
                "size": len(data),
                "lfs": {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)},
            }
            if path.startswith("images")
            else {
                "rfilename": path,
                "size": len(data),
                "blobId": hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest(),
            }
            for path, data in self.files.items()
        ]
        return json.dumps({"sha": COMMIT, "siblings": siblings}).encode()

    def next_fault(self, path: str) -> str | None:
        queue = self.faults.get(path)
        return queue.pop(0) if queue else None


@contextmanager
def serving(hub: FakeHub) -> Iterator[FakeHub]:
    """Serve a hub on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            path = unquote(urlparse(self.path).path)
            if path.startswith("/api/"):
                hub.requests["listing"] += 1
                self.answer(hub.listing_status, hub.listing() if hub.listing_status == 200 else b"")
                return
            name = path.split(f"/resolve/{COMMIT}/", 1)[-1]
            hub.requests[name] += 1
            self.file(name, hub.files[name], hub.next_fault(name))

        def file(self, name: str, data: bytes, fault: str | None) -> None:
            if fault == "429":
                self.answer(429, b"", {"Retry-After": "0"})
                return
            if fault == "500":
                self.answer(500, b"")
                return
            data = bytes(len(data)) if fault == "wrong" else data
            start, asked = 0, self.headers.get("Range")
            if asked and fault != "no ranges":
                hub.ranges.append(asked)
                start = int(asked.removeprefix("bytes=").rstrip("-"))
            headers = {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"} if start else {}
            body = data[start:]
            sent = body[: len(body) // 2] if fault == "cut" else body
            self.answer(206 if start else 200, sent, headers, length=len(body))
            if fault == "cut":
                self.close_connection = True

        def answer(
            self, status: int, body: bytes, headers: dict[str, str] | None = None, length: int | None = None
        ) -> None:
            self.send_response(status)
            for key, value in (headers or {}).items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(body) if length is None else length))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    hub.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
