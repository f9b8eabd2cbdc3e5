"""What a chat completion answered: events taken apart as they arrive, then one verdict on the whole.

The verdict's reason begins with a code: refused, cut, timeout, http_status, not_json, malformed, server_error,
stopped, length, repetition, empty, no_marker, image.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalkit.types import FinishState, TokenCounts

MAX_REASON = 300
MAX_EVENT_BYTES = 4 * 1024 * 1024
MAX_METRICS_CHARS = 1024 * 1024
MAX_TOKENS = 10**9
"""A usage above this is no count of one answer's tokens."""
EMULATED_HEADER = "x-evalkit-emulated"
TRUNCATING = {"length": "length: max_tokens reached", "repetition": "repetition: stopped in a loop by the server"}


@dataclass(slots=True)
class ChatAnswer:
    """Collects one answer. `emulated` is set when the server says that it is no real engine."""

    status: int = 0
    content_type: str = ""
    emulated: bool = False
    chunk_times_s: list[float] = field(default_factory=list)
    chunk_chars: list[int] = field(default_factory=list)
    chunk_tokens: list[int] = field(default_factory=list)
    usage: Mapping[str, Any] | None = None
    metrics: Mapping[str, Any] | None = None
    finish_reason: str | None = None
    done: bool = False
    _texts: list[str] = field(default_factory=list)
    _pending: bytes = b""
    _plain: bytearray = field(default_factory=bytearray)
    _fault: str | None = None
    _events: int = 0

    def on_head(self, status: int, headers: Mapping[str, str]) -> None:
        """The status line and all headers, names in lower case."""
        self.status = status
        self.content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        self.emulated = EMULATED_HEADER in headers

    def on_body(self, data: bytes, time_s: float) -> None:
        """A piece of the body, framing removed."""
        if self.status != 200 or self.content_type != "text/event-stream":
            self._plain += data
            return
        lines = (self._pending + data).split(b"\n")
        self._pending = lines.pop()
        if len(self._pending) > MAX_EVENT_BYTES:
            self._note_fault("malformed: an event of over 4 MiB")
            self._pending = b""
        for line in lines:
            if line.startswith(b"data:"):
                self._on_event(line[5:].strip(), time_s)

    def _on_event(self, payload: bytes, time_s: float) -> None:
        self._events += 1
        if payload == b"[DONE]":
            self.done = True
            return
        try:
            event = json.loads(payload)
        except (ValueError, RecursionError):
            self._note_fault(f"malformed: event {self._events} is not valid JSON: {_shown(payload)}")
            return
        if not isinstance(event, dict):
            self._note_fault(f"malformed: event {self._events} is not an object: {_shown(payload)}")
            return
        self._on_object(event, time_s, "delta")

    def _note_fault(self, fault: str) -> None:
        self._fault = self._fault or fault[:MAX_REASON]

    def _on_object(self, event: Mapping[str, Any], time_s: float, part: str) -> None:
        if event.get("error"):
            self._note_fault(f"server_error: {_error_text(event)}")
            return
        if isinstance(event.get("usage"), dict):
            self.usage = event["usage"]
        if isinstance(event.get("metrics"), dict):
            self.metrics = _storable(event["metrics"])
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return
        if isinstance(choice.get("finish_reason"), str):
            self.finish_reason = choice["finish_reason"]
        message = choice.get(part)
        text = message.get("content") if isinstance(message, dict) else None
        if isinstance(text, str) and text:
            self._texts.append(text)
            self.chunk_times_s.append(time_s)
            self.chunk_chars.append(len(text))
            if part == "delta" and isinstance(event.get("usage"), dict):
                self.chunk_tokens.append(_count(event["usage"].get("completion_tokens")) or 0)

    @property
    def text(self) -> str:
        """All content so far."""
        return "".join(self._texts)

    def tokens(self) -> TokenCounts:
        """Token counts by the server's usage; what is no whole number of tokens is absent."""
        usage = self.usage or {}
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        return TokenCounts(_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")), _count(cached))

    def finish(self, time_s: float) -> None:
        """Take a body that was no event stream, once it is whole."""
        if not self._plain:
            return
        body = bytes(self._plain)
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            answer = None
        if self.status != 200:
            detail = _error_text(answer) if isinstance(answer, dict) else _shown(body)
            self._note_fault(f"http_status: {self.status} {detail}")
        elif not isinstance(answer, dict):
            self._note_fault(f"not_json: {self.content_type or 'no content type'}: {_shown(body)}")
        else:
            self.done = True
            self._on_object(answer, time_s, "message")

    def verdict(self, marker: str | None) -> tuple[FinishState, str | None]:
        """State and reason of an answer that came to its end. `marker` is a text that it must hold."""
        if self._fault is not None:
            return FinishState.ERROR, self._fault
        if self.status != 200:
            return FinishState.ERROR, f"http_status: {self.status}"
        if self.finish_reason is None:
            what = "the answer has no finish_reason" if self.done else "the stream ended early"
            return FinishState.ERROR, f"cut: {what}"
        if self.finish_reason in TRUNCATING:
            return FinishState.TRUNCATED, TRUNCATING[self.finish_reason]
        if self.finish_reason != "stop":
            return FinishState.ERROR, f"stopped: finish_reason {self.finish_reason[:40]}"
        if not self.text.strip():
            return FinishState.INVALID, "empty: the answer has no text"
        if marker is not None and marker not in self.text:
            return FinishState.INVALID, f"no_marker: the answer has no {marker}"
        return FinishState.OK, None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS else None


def _storable(metrics: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A server's own figures, unless they hold what JSON cannot (NaN, infinity) or are absurdly long."""
    try:
        text = json.dumps(metrics, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    return metrics if len(text) <= MAX_METRICS_CHARS else None


def _shown(data: bytes) -> str:
    return data[:120].decode("utf-8", "replace")


def _error_text(answer: Mapping[str, Any]) -> str:
    error = answer.get("error", answer)
    message = error.get("message") if isinstance(error, dict) else error
    if message is None:
        message = answer.get("detail") or answer.get("message") or json.dumps(answer)
    return " ".join(str(message).split())[: MAX_REASON - 40]
