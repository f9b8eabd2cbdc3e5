"""The report on the loopback address, with every page view made when it is looked at."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import unquote, urlsplit

from reports.leaderboard import Standing
from reports.markup import ASSETS, POLICY, printable
from reports.page_site import FOLDER as PAGES
from reports.page_view import FormulaPicture
from reports.site import EXPORTS, INDEX, Site

HOST = "127.0.0.1"
Answer = tuple[str, bytes]


class SiteAnswers:
    """What is at each path of a served report. One page is made at a time."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._runs = {run.key: run for run in site.runs}
        self._lock = Lock()

    def answer(self, path: str) -> Answer | None:
        """Type and bytes of a path; None where there is nothing."""
        parts = [part for part in path.split("/") if part] or [INDEX]
        with self._lock:
            body = self._body(parts)
        if body is None:
            return None
        kind = mimetypes.guess_type(parts[-1])[0] or "text/plain"
        kind = "image/webp" if parts[-1].endswith(".webp") else kind
        return (kind, body) if isinstance(body, bytes) else (f"{kind}; charset=utf-8", body.encode("utf-8"))

    def _body(self, parts: Sequence[str]) -> str | bytes | None:
        match parts:
            case [name] if name == INDEX:
                return self._site.index()
            case [name] if name in EXPORTS:
                return printable(EXPORTS[name](self._site.sections))
            case ["assets", name]:
                return self._asset(name)
            case ["runs", name] if name.removesuffix(".html") in self._runs:
                return self._site.run_page(self._runs[name.removesuffix(".html")])
            case [folder, key, second, name] if folder == PAGES:
                return self._page(key, second, name)
        return None

    def _asset(self, name: str) -> bytes | None:
        found = {asset.name: asset for asset in ASSETS.iterdir()}.get(name)
        return found.read_bytes() if found is not None else None

    def _page(self, key: str, second: str, name: str) -> str | bytes | None:
        site = next((site for site in self._site.page_sites if site.pages.key == key), None)
        page_id = site.page_of(name) if site is not None else None
        if site is None or page_id is None:
            return None
        if second == "images":
            return site.image(page_id)
        run = self._runs.get(second)
        return site.view(run, page_id) if run is not None and run in site.pages.runs else None


class _Handler(BaseHTTPRequestHandler):
    """GET only, for requests that name this host: other sites cannot read the report through the browser."""

    def __init__(self, answers: SiteAnswers, *args: Any) -> None:
        self._answers = answers
        super().__init__(*args)

    def do_GET(self) -> None:
        host = (self.headers.get("Host") or "").rpartition(":")[0]
        if host not in {HOST, "localhost"}:
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        found = self._answers.answer(unquote(urlsplit(self.path).path, errors="replace"))
        if found is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        kind, body = found
        self.send_response(HTTPStatus.OK)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Content-Security-Policy", POLICY),
            ("X-Content-Type-Options", "nosniff"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: the URL is all that the terminal shows."""


def make_server(site: Site, port: int = 0) -> ThreadingHTTPServer:
    """A server of a report on the loopback address, not started yet."""
    server = ThreadingHTTPServer((HOST, port), partial(_Handler, SiteAnswers(site)))
    server.daemon_threads = True
    return server


def serve_site(
    folders: Sequence[Path],
    port: int,
    *,
    standings: Mapping[Path, Standing],
    published: Mapping[str, Sequence[Mapping[str, Any]]],
    announce: Callable[[str], None],
    picture: FormulaPicture | None = None,
) -> None:
    """Serve until interrupted. Raises UserError when no run can be shown."""
    site = Site(folders, standings=standings, published=published, every_page=True, picture=picture)
    with make_server(site, port) as server:
        announce(f"http://{HOST}:{server.server_address[1]}/")
        server.serve_forever()
