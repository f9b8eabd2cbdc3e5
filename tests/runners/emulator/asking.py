"""Asking the emulated server for a page of `mini`, as a client would."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from runners.emulator.server import EmulatorServer

MINI = Path(__file__).parents[3] / "datasets" / "mini"
STREAMS = MINI / "streams.jsonl"
FORK, PLAIN = "document parsing with fork.", "document parsing."
ROWS = [json.loads(line) for line in STREAMS.read_text(encoding="utf-8").splitlines()[1:]]
BY_PAGE = {row["page_id"]: row for row in ROWS}
SHORT = "en_slide_depots.png"


@dataclass(frozen=True)
class Told:
    """A streamed answer taken apart."""

    text: str
    pieces: list[str]
    finish: str | None
    usage: dict[str, Any]
    metrics: dict[str, Any]
    done: bool


def body(page: str = SHORT, prompt: str = FORK, **options: Any) -> dict[str, Any]:
    """A chat request for a page."""
    image = base64.b64encode((MINI / "images" / page).read_bytes()).decode()
    parts = [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}},
        {"type": "text", "text": prompt},
    ]
    streaming = {"stream": True, "stream_options": {"include_usage": True}}
    message = {"role": "user", "content": parts}
    return {"model": "HPD-Parsing", "messages": [message], "max_tokens": 8000, **streaming, **options}


def ask(server: EmulatorServer, page: str = SHORT, prompt: str = FORK, **options: Any) -> Told:
    """The streamed answer for a page."""
    reply = httpx.post(f"{server.url}/chat/completions", json=body(page, prompt, **options), timeout=60)
    assert reply.status_code == 200, reply.text
    return take_apart(reply.text)


def take_apart(stream: str) -> Told:
    """Events of a server-sent stream."""
    lines = [line.removeprefix("data: ") for line in stream.splitlines() if line.startswith("data: ")]
    events = [json.loads(line) for line in lines if line != "[DONE]"]
    choices = [event["choices"][0] for event in events if event["choices"]]
    pieces = [choice["delta"]["content"] for choice in choices if choice["delta"].get("content")]
    return Told(
        text="".join(pieces),
        pieces=pieces,
        finish=next((choice["finish_reason"] for choice in choices if choice["finish_reason"]), None),
        usage=next((event["usage"] for event in reversed(events) if event.get("usage")), {}),
        metrics=next((event["metrics"] for event in events if event.get("metrics")), {}),
        done="[DONE]" in lines,
    )
