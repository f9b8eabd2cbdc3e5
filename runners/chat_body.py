"""Request bodies of chat completions with a page image, encoded before the clock starts."""

from __future__ import annotations

import binascii
import json
import mmap
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.errors import UserError
from evalkit.types import PageJob, System

IMAGE_MARK = "@@image@@"
SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
)


class UnreadableImageError(Exception):
    """A page image cannot be sent; the text says why."""


def media_type(data: bytes) -> str:
    """The type of an image by its first bytes. Raises UnreadableImageError for anything else."""
    for signature, name in SIGNATURES:
        if data.startswith(signature):
            return name
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    raise UnreadableImageError("image: the file is empty" if not data else "image: not an image file")


def chat_body(
    system: System, image: bytes, *, stream: bool, chunk_usage: bool = False, salt: str | None = None
) -> bytes:
    """The JSON body that asks a system for one page.

    The base64 text is spliced into the encoded JSON, since encoding it again as a JSON string costs five times
    the base64 itself. `salt` keeps the server's prefix cache apart for this request (vLLM's cache_salt).
    `chunk_usage` asks for the usage so far in every chunk of a stream (vLLM's continuous_usage_stats).
    """
    prefix, suffix = _template(system, stream, chunk_usage, salt)
    url = b"data:" + media_type(image).encode() + b";base64," + binascii.b2a_base64(image, newline=False)
    return prefix + url + suffix


def _template(system: System, stream: bool, chunk_usage: bool, salt: str | None) -> tuple[bytes, bytes]:
    request = system.request
    picture = {"type": "image_url", "image_url": {"url": IMAGE_MARK}}
    prompt = {"type": "text", "text": request.prompt}
    content = [picture, prompt] if request.image_first else [prompt, picture]
    parts = [[part] for part in content] if request.split_messages else [content]
    messages: list[dict[str, Any]] = [{"role": "user", "content": part} for part in parts if request.prompt]
    messages = messages or [{"role": "user", "content": [picture]}]
    if request.system_prompt is not None:
        messages.insert(0, {"role": "system", "content": request.system_prompt})
    body: dict[str, Any] = {"model": system.serve.model, "messages": messages, **request.sampling}
    if request.max_tokens is not None:
        body["max_tokens"] = request.max_tokens
    if salt is not None:
        body["cache_salt"] = salt
    if stream:
        each = {"continuous_usage_stats": True} if chunk_usage else {}
        body |= {"stream": True, "stream_options": {"include_usage": True, **each}}
    prefix, _, suffix = json.dumps(body, ensure_ascii=False).partition(IMAGE_MARK)
    return prefix.encode("utf-8"), suffix.encode("utf-8")


@dataclass(frozen=True, slots=True)
class BodySlot:
    """Where one page's body lies in the store; `problem` says why there is none."""

    page_id: str
    start: int
    length: int
    problem: str | None = None


class BodyStore:
    """All bodies of a run in one unlinked temporary file, mapped into memory by every client process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._size = os.fstat(descriptor).st_size
        self._map = mmap.mmap(descriptor, self._size, prot=mmap.PROT_READ) if self._size else None

    @property
    def descriptor(self) -> int:
        """The file descriptor, to be inherited by client processes."""
        return self._descriptor

    def body(self, slot: BodySlot) -> memoryview:
        """The bytes of one body, not copied."""
        if self._map is None:
            return memoryview(b"")
        return memoryview(self._map)[slot.start : slot.start + slot.length]

    def close(self) -> None:
        """Release the file; its room on disk is freed."""
        os.close(self._descriptor)


def store_bodies(
    system: System, pages: Sequence[PageJob], *, stream: bool, chunk_usage: bool = False, salt: str | None = None
) -> tuple[BodyStore, list[BodySlot]]:
    """Encode the bodies of all pages, in order. A page whose image is unreadable gets a slot with a problem."""
    slots: list[BodySlot] = []

    def encode(number: int, image: bytes) -> bytes:
        page_salt = None if salt is None else f"{salt}-{number}"
        return chat_body(system, image, stream=stream, chunk_usage=chunk_usage, salt=page_salt)

    return BodyStore(_spool(pages, slots, encode)), slots


def _spool(pages: Sequence[PageJob], slots: list[BodySlot], encode: Callable[[int, bytes], bytes]) -> int:
    handle, name = tempfile.mkstemp(prefix="evalkit-bodies-")
    os.unlink(name)
    position = 0
    try:
        with os.fdopen(os.dup(handle), "wb") as file:
            for number, job in enumerate(pages):
                try:
                    body = encode(number, Path(job.image).read_bytes())
                except (OSError, UnreadableImageError) as error:
                    slots.append(BodySlot(job.page.page_id, position, 0, _problem(error)))
                    continue
                file.write(body)
                slots.append(BodySlot(job.page.page_id, position, len(body)))
                position += len(body)
    except OSError as error:
        os.close(handle)
        folder = tempfile.gettempdir()
        raise UserError(
            f"{folder}: no room for the request bodies of {len(pages)} pages ({error.strerror}). "
            "Free space there or set TMPDIR to a folder with more room"
        ) from error
    return handle


def _problem(error: Exception) -> str:
    return f"image: {error.strerror or error}" if isinstance(error, OSError) else str(error)
