"""Chat completion requests read and checked, and the chunks and bodies that answer them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MAGIC = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\x00", b"MM\x00*", b"RIFF")
_ERROR_TYPES = {400: "BadRequestError", 404: "NotFoundError", 500: "InternalServerError"}


class ChatError(Exception):
    """A request that is refused: HTTP status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    def body(self) -> dict[str, Any]:
        """The error object as vLLM words it."""
        return error_body(self.status, str(self))


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What the emulated server needs of a chat completion request."""

    model: str
    prompt: str
    image_sha256: str
    has_image: bool
    stream: bool
    include_usage: bool
    continuous_usage: bool
    max_tokens: int | None
    samples: int
    salt: str
    fault: str | None


def error_body(status: int, message: str) -> dict[str, Any]:
    """vLLM's error object."""
    kind = _ERROR_TYPES.get(status, "InternalServerError" if status >= 500 else "BadRequestError")
    return {"error": {"message": message, "type": kind, "param": None, "code": status}}


def read_request(body: bytes, fault_field: str) -> ChatRequest:
    """The request in a body. Raises ChatError as vLLM would refuse it."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ChatError(400, "the body is not valid JSON") from error
    if not isinstance(data, dict) or not isinstance(data.get("messages"), list) or not data["messages"]:
        raise ChatError(400, "messages: a list with at least one message is required")
    texts, images = _parts(data["messages"])
    if len(images) > 1:
        raise ChatError(400, "At most 1 image(s) may be provided in one prompt.")
    prompt = "\n".join(texts)
    options = data.get("stream_options") or {}
    limit = data.get("max_completion_tokens") or data.get("max_tokens")
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise ChatError(400, f"max_tokens must be at least 1, got {limit}.")
    return ChatRequest(
        model=str(data.get("model") or ""),
        prompt=prompt,
        image_sha256=hashlib.sha256(_image(images[0]) if images else prompt.encode("utf-8", "replace")).hexdigest(),
        has_image=bool(images),
        stream=bool(data.get("stream")),
        include_usage=bool(options.get("include_usage")),
        continuous_usage=bool(options.get("continuous_usage_stats")),
        max_tokens=limit,
        samples=data["n"] if isinstance(data.get("n"), int) else 1,
        salt=str(data.get("cache_salt") or ""),
        fault=data.get(fault_field),
    )


def _parts(messages: list[Any]) -> tuple[list[str], list[str]]:
    texts: list[str] = []
    images: list[str] = []
    for message in messages:
        if not isinstance(message, dict) or message.get("role") == "system":
            continue
        content = message.get("content")
        for part in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            if not isinstance(part, dict):
                raise ChatError(400, "content: every part must be an object")
            if part.get("type") == "image_url":
                url = part.get("image_url")
                images.append(str(url.get("url") if isinstance(url, dict) else url))
            elif isinstance(part.get("text"), str):
                texts.append(part["text"])
    return texts, images


def _image(url: str) -> bytes:
    head, _, payload = url.partition(",")
    if not head.startswith("data:") or "base64" not in head:
        raise ChatError(400, "image_url: only base64 data URLs are served here")
    try:
        data = base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ChatError(400, "cannot identify image file: not valid base64") from error
    if not data.startswith(_MAGIC):
        raise ChatError(400, "cannot identify image file")
    return data


class Envelope:
    """Wraps pieces of one answer in chunk and completion objects."""

    def __init__(self, request_id: str, model: str, created: int) -> None:
        self._head = {"id": request_id, "created": created, "model": model}

    def chunk(
        self, delta: Mapping[str, Any], finish: str | None = None, usage: Mapping[str, Any] | None = None
    ) -> bytes:
        """One server-sent event with a delta."""
        choice = {"index": 0, "delta": dict(delta), "logprobs": None, "finish_reason": finish}
        event: dict[str, Any] = {**self._head, "object": "chat.completion.chunk", "choices": [choice]}
        if usage is not None:
            event["usage"] = usage
        return _event(event)

    def usage_chunk(self, usage: Mapping[str, Any], metrics: Mapping[str, Any]) -> bytes:
        """The closing event that has usage and no choices."""
        return _event(
            {**self._head, "object": "chat.completion.chunk", "choices": [], "usage": usage, "metrics": metrics}
        )

    def completion(
        self, text: str, finish: str, usage: Mapping[str, Any], metrics: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The whole answer as one object."""
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text},
            "logprobs": None,
            "finish_reason": finish,
        }
        return {**self._head, "object": "chat.completion", "choices": [choice], "usage": usage, "metrics": metrics}


def _event(value: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n\n"
