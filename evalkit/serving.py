"""Keeping a system's own server running in the foreground."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from evalkit.progress import say
from evalkit.types import Served, System


class Launcher(Protocol):
    """What starts and stops a server: registered under the kind "launcher"."""

    def describe(self, system: System, options: Mapping[str, Any]) -> list[str]:
        """What would be run, as shell lines."""

    def serve(self, system: System, folder: Path, options: Mapping[str, Any]) -> AbstractContextManager[Served]:
        """A healthy server for the time of the block."""


def launch_options(**options: Any) -> dict[str, Any]:
    """The options that were given, without those that were not."""
    return {name: value for name, value in options.items() if value is not None}


def serve_until_interrupted(launcher: Launcher, system: System, folder: Path, options: Mapping[str, Any]) -> None:
    """Serve until Ctrl-C or SIGTERM; the addresses are printed on stdout once they answer."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    say(f"starting the server of {system.title}; its log is {folder / 'server.log'}")
    try:
        with launcher.serve(system, folder, options) as served:
            for line in served.facts.get("differences") or ():
                say(f"not as asked: {line}")
            print("\n".join(served.endpoints), flush=True)
            stop.wait()
    except KeyboardInterrupt:
        say("stopped")
