"""Launcher for a server that runs already: nothing is started or stopped, only checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalkit.errors import UserError
from evalkit.types import Served, System
from runners.drive_setup import auth_headers
from runners.http_exchange import Endpoint
from runners.launchers.flags import differences, read_back
from runners.server_facts import read_facts


class UrlLauncher:
    """Yields the servers at `url` (an address, or several separated by commas)."""

    def describe(self, system: System, options: Mapping[str, Any]) -> list[str]:
        """What would be run: nothing."""
        return [
            f"# nothing is started: {system.name} is driven at {options.get('url') or 'an address given with --url'}"
        ]

    @contextmanager
    def serve(self, system: System, folder: Path, options: Mapping[str, Any]) -> Iterator[Served]:
        """The running servers. Raises UserError when one does not answer."""
        urls = [url.strip() for url in str(options.get("url") or "").split(",") if url.strip()]
        if not urls:
            raise UserError(f"{system.name} is driven at an address: give --url {system.name}=http://HOST:PORT")
        try:
            endpoints = [Endpoint.parse(url) for url in urls]
        except ValueError as error:
            raise UserError(str(error)) from error
        facts = [read_facts(endpoint, auth_headers(system)) for endpoint in endpoints]
        names = {"weights": str(system.serve.details.get("weights", ""))}
        found = [
            line
            for endpoint, fact in zip(endpoints, facts, strict=True)
            for line in differences(system, names, fact.version, read_back(endpoint.root, None))
        ]
        emulated = any(fact.emulated for fact in facts)
        yield Served(
            endpoints=tuple(urls),
            emulated=emulated,
            facts={
                "version": facts[0].version,
                # an emulated server has no flags of the real one to differ in
                "differences": [] if emulated else found,
            },
        )


LAUNCHER = UrlLauncher()
