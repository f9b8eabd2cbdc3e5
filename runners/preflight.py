"""Before the clock starts, the page with the largest image shows whether the server takes the set's pages at all."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from evalkit.types import InferSettings, PageJob, System
from runners.drive_setup import ask_untimed
from runners.server_facts import ServerFacts


@dataclass(frozen=True, slots=True, order=True)
class _Size:
    pixels: int
    bytes: int
    width_px: int = 0
    height_px: int = 0


def preflight(
    system: System,
    settings: InferSettings,
    headers: Mapping[str, str],
    pages: Sequence[PageJob],
    facts: ServerFacts,
    notes: list[str],
) -> dict[str, Any]:
    """Send the page with the largest image once; a refusal (HTTP 4xx) becomes the first of the notes.

    The page is timed later on: only where a salt can keep its prompt out of the prefix cache is it sent.
    """
    if not settings.preflight or not pages:
        return {"page": None, "skipped": "not asked for"}
    if facts.version is None:
        return {"page": None, "skipped": "the server names no version: whether a salt keeps its caches cold is unknown"}
    size, job = max(((_size(job), job) for job in pages), key=lambda pair: pair[0])
    record = {"page": job.page.page_id, "width_px": size.width_px, "height_px": size.height_px, "bytes": size.bytes}
    outputs = ask_untimed(system, settings, headers, [job], salt=secrets.token_hex(8))
    if not outputs:
        return {**record, "http_status": None, "state": None, "reason": "refused: the server is gone"}
    output = outputs[0]
    status = output.extra.get("http_status")
    if status is not None and 400 <= status < 500:
        notes.insert(0, _refusal(job, size, status, output.reason or ""))
    return {**record, "http_status": status, "state": output.state, "reason": output.reason}


def _refusal(job: PageJob, size: _Size, status: int, reason: str) -> str:
    measure = f"{size.width_px} x {size.height_px} px" if size.pixels else f"{size.bytes} bytes"
    words = reason.removeprefix(f"http_status: {status}").strip() or "no reason given"
    return (
        f"the server refuses the largest page, {job.page.page_id} ({measure}), with HTTP {status}: {words}. "
        "Pages like it will have no answer: raise the server's limit (context length, image tokens, encoder cache) "
        "or lower the image size"
    )


def _size(job: PageJob) -> _Size:
    """How large an image is: by the pixels in its header, or by its bytes where that cannot be read."""
    try:
        length = Path(job.image).stat().st_size
    except OSError:
        return _Size(0, 0)
    try:
        with Image.open(job.image) as image:
            width_px, height_px = image.size
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return _Size(0, length)
    return _Size(width_px * height_px, length, width_px, height_px)
