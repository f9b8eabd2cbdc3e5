"""What comes before the clock starts: addresses, key, served model, warm-up pages and cold caches."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalkit.errors import UserError
from evalkit.types import FinishState, InferSettings, PageJob, RawOutput, System
from runners.chat_body import store_bodies
from runners.client_process import Client, ClientTask
from runners.http_exchange import Endpoint
from runners.load import Board
from runners.server_facts import ServerFacts, reset_caches

CACHE_MODES = ("auto", "reset", "salt", "keep")


def endpoints_of(urls: Sequence[str]) -> list[Endpoint]:
    """The addresses taken apart. Raises UserError without one, or for one that is none."""
    if not urls:
        raise UserError("no server address: give --endpoint http://HOST:PORT")
    try:
        return [Endpoint.parse(url) for url in urls]
    except ValueError as error:
        raise UserError(f"endpoint {error}") from error


def auth_headers(system: System) -> dict[str, str]:
    """The header with the API key, read from the environment variable that the system names."""
    name = system.request.api_key_env
    if name is None:
        return {}
    key = os.environ.get(name)
    if not key:
        raise UserError(f"{system.name} needs a key in the environment variable {name}, which is not set")
    return {"Authorization": f"Bearer {key}"}


def with_served_model(system: System, facts: ServerFacts) -> System:
    """The system with the model name that the server serves, where the system leaves it open."""
    wanted = system.serve.model
    if wanted and (wanted in facts.models or not facts.models):
        return system
    if not wanted and len(facts.models) == 1:
        return replace(system, serve=replace(system.serve, model=facts.models[0]))
    served = ", ".join(facts.models) or "none"
    raise UserError(f"{system.name} asks for the model {wanted!r}, but the server serves: {served}")


def warm_up(system: System, settings: InferSettings, headers: Mapping[str, str], notes: list[str]) -> dict[str, Any]:
    """Send the warm-up pages; their outcome, which is no part of the run."""
    if not settings.warmup:
        notes.append("no warm-up: no page outside the timed ones was given")
        return {"pages": [], "ok": 0}
    count = len(settings.warmup)
    outputs = ask_untimed(system, settings, headers, settings.warmup, concurrency=count)
    good = sum(output.state in {FinishState.OK, FinishState.TRUNCATED} for output in outputs)
    if good < count:
        reasons = sorted({output.reason or "" for output in outputs if output.reason})
        notes.append(f"{count - good} of {count} warm-up pages failed: {'; '.join(reasons)[:300]}")
    return {"pages": [job.page.page_id for job in settings.warmup], "ok": good}


def ask_untimed(
    system: System,
    settings: InferSettings,
    headers: Mapping[str, str],
    pages: Sequence[PageJob],
    *,
    concurrency: int = 1,
    salt: str | None = None,
) -> list[RawOutput]:
    """The answers to pages outside the timed drive; a server that is gone leaves some out."""
    outputs: list[RawOutput] = []
    bodies, slots = store_bodies(system, pages, stream=settings.stream, chunk_usage=settings.chunk_usage, salt=salt)
    board = Board.create(len(settings.endpoints))
    task = ClientTask(
        process=0,
        processes=1,
        endpoints=tuple(settings.endpoints),
        slots=slots,
        concurrency=concurrency,
        timeout_s=settings.timeout_s,
        stream=settings.stream,
        headers=headers,
    )
    try:
        asyncio.run(Client(task, bodies, board, time.monotonic(), outputs.append).drive())
    finally:
        bodies.close()
        board.close()
    return outputs


def prepare_caches(
    settings: InferSettings,
    endpoints: Sequence[Endpoint],
    headers: Mapping[str, str],
    facts: ServerFacts,
    notes: list[str],
) -> dict[str, Any]:
    """Empty the caches or choose a salt; what was done, for the run's record."""
    if settings.cache not in CACHE_MODES:
        raise UserError(f"cache must be one of {', '.join(CACHE_MODES)}, not {settings.cache!r}")
    resets = reset_caches(endpoints, headers) if settings.cache in {"auto", "reset"} else {}
    emptied = resets.get("/reset_prefix_cache", False)
    if settings.cache == "reset" and not emptied:
        notes.append("the server's caches could not be reset (vLLM: start it with VLLM_SERVER_DEV_MODE=1)")
    salted = settings.cache == "salt" or (settings.cache == "auto" and not emptied and facts.version is not None)
    return {"mode": settings.cache, "resets": resets, "salt": secrets.token_hex(8) if salted else None}
