"""A served report: every page is there, and nothing else, for this machine alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import httpx
import pytest

from reports.markup import POLICY
from reports.serve import make_server
from reports.site import Site

TIMEOUT_S = 120.0


@pytest.fixture(scope="module")
def url(runs: list[Path]) -> Iterator[str]:
    site = Site(runs, standings={}, published={}, every_page=True)
    with make_server(site) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("path", "kind", "part"),
    [
        ("/", "text/html", "Good parser"),
        ("/index.html", "text/html", "Leaderboard"),
        ("/runs/good.html", "text/html", "Run card"),
        ("/assets/report.js", "text/javascript", "sortTable"),
        ("/leaderboard.csv", "text/csv", "system,"),
        ("/pages/made-abc/good/00003.html", "text/html", "page_3.png"),
        ("/pages/made-abc/images/00003.webp", "image/webp", ""),
    ],
)
def test_what_is_there(url: str, path: str, kind: str, part: str) -> None:
    answer = httpx.get(url + path, timeout=TIMEOUT_S)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(kind)
    assert answer.headers["content-security-policy"] == POLICY
    assert part in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "/nowhere",
        "/runs/../run.json",
        "/runs/nowhere.html",
        "/assets/..%2f..%2fsite.py",
        "/assets/../site.py",
        "/pages/made-abc/good/00099.html",
        "/pages/made-abc/good/-1.html",
        "/pages/made-abc/nowhere/00001.html",
        "/pages/made-abc/good/..%2f..%2f..%2f..%2fetc%2fpasswd",
        "//etc/passwd",
    ],
)
def test_what_is_not_there(url: str, path: str) -> None:
    assert httpx.get(url + path, timeout=TIMEOUT_S).status_code == 404


@pytest.mark.parametrize("host", ["evil.test", "evil.test:80", "127.0.0.1.evil.test:80", ""])
def test_requests_by_another_name_are_refused(url: str, host: str) -> None:
    assert httpx.get(url, headers={"Host": host}, timeout=TIMEOUT_S).status_code == 403
