"""Launcher of hosted models: nothing is started, their address is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalkit.types import Served, System


class HostedLauncher:
    """Gives the address under `base_url` of the system."""

    @contextmanager
    def serve(self, system: System, folder: Path, options: Mapping[str, Any]) -> Iterator[Served]:
        """The hosted endpoint."""
        yield Served((str(system.serve.details["base_url"]),))


LAUNCHER = HostedLauncher()
