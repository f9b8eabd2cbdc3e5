"""Debian's Chromium under Playwright: pages of a report as a reader gets them, with everything that they ask for."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
TIMEOUT_MS = 120_000


def find_program() -> str | None:
    """Path of an installed Chromium; None without one."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


@dataclass(slots=True)
class Watched:
    """A page, with what its console said and what it asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, file: Path, hash_: str = "") -> None:
        """Open a file of a report from disk."""
        self.page.goto(file.absolute().as_uri() + hash_)


@contextmanager
def watched_page(playwright: Any, *, width: int = 1400, height: int = 900, scheme: str = "light") -> Iterator[Watched]:
    """A page in a browser of its own with a fresh profile."""
    with tempfile.TemporaryDirectory() as profile:
        context = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=find_program(),
            headless=True,
            args=list(FLAGS),
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            timeout=TIMEOUT_MS,
        )
        context.set_default_timeout(TIMEOUT_MS)
        watched = Watched(context.new_page())
        watched.page.on("console", lambda message: watched.complaints.append(f"{message.type}: {message.text}"))
        watched.page.on("pageerror", lambda error: watched.complaints.append(str(error)))
        watched.page.on("request", lambda request: watched.requests.append(request.url))
        yield watched
        context.close()
