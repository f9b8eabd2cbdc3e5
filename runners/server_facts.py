"""Short questions to a running server before and after a drive: health, version, models, cache resets."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalkit.errors import UserError
from runners.http_exchange import Endpoint

TIMEOUT_S = 10.0
CACHE_RESETS = ("/reset_prefix_cache", "/reset_mm_cache", "/reset_encoder_cache")
"""vLLM's reset addresses; a server has them when it was started with VLLM_SERVER_DEV_MODE=1."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Status and body of a short request; status 0 means that there was no answer, and body says why."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    def json(self) -> Any:
        """The body as JSON; None when it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


def ask(url: str, *, post: Any = None, headers: Mapping[str, str] | None = None, timeout_s: float = TIMEOUT_S) -> Reply:
    """One short request; `post` is sent as JSON, b"" as an empty POST. Never raises for a server's fault."""
    data = None if post is None else post if isinstance(post, bytes) else json.dumps(post).encode()
    request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json", **(headers or {})})
    try:
        with _OPENER.open(request, timeout=timeout_s) as answer:
            return Reply(answer.status, answer.read(), {k.lower(): v for k, v in answer.headers.items()})
    except urllib.error.HTTPError as error:
        with error:
            return Reply(error.code, error.read(), {k.lower(): v for k, v in error.headers.items()})
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        return Reply(0, (str(reason) or type(reason).__name__).encode(), {})


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a server says about itself.

    `emulated` when it says that it is no real engine; `speed` is then how many emulated seconds pass in one.
    """

    version: str | None
    models: tuple[str, ...]
    max_model_len: int | None
    emulated: bool
    speed: float = 1.0


def read_facts(endpoint: Endpoint, headers: Mapping[str, str]) -> ServerFacts:
    """Version and models of a running server. Raises UserError when there is no server at the address."""
    models = ask(f"{endpoint.root}/v1/models", headers=headers)
    if models.status == 0:
        cause = models.body.decode("utf-8", "replace")
        raise UserError(
            f"no server answers at {endpoint.url} ({cause}).\n"
            "Start one (evalkit serve SYSTEM) or give the address of a running one (bench --url, infer --endpoint)"
        )
    if models.status in {401, 403}:
        raise UserError(
            f"the server at {endpoint.url} refuses the key (HTTP {models.status}): set its environment variable"
        )
    version = ask(f"{endpoint.root}/version", headers=headers)
    told = version.json() if version.status == 200 else None
    told = told if isinstance(told, dict) else {}
    listed = models.json()
    entries = listed.get("data") if isinstance(listed, dict) else None
    rows = [row for row in entries if isinstance(row, dict)] if isinstance(entries, list) else []
    lengths = [row["max_model_len"] for row in rows if isinstance(row.get("max_model_len"), int)]
    emulated = bool(told.get("emulated")) or "x-evalkit-emulated" in {**version.headers, **models.headers}
    return ServerFacts(
        version=told["version"] if isinstance(told.get("version"), str) else None,
        models=tuple(str(row["id"]) for row in rows if "id" in row),
        max_model_len=lengths[0] if lengths else None,
        emulated=emulated,
        speed=_emulated_speed(endpoint) if emulated else 1.0,
    )


def _emulated_speed(endpoint: Endpoint) -> float:
    trace = ask(f"{endpoint.root}/trace").json()
    speed = trace.get("speed") if isinstance(trace, dict) else None
    return float(speed) if isinstance(speed, (int, float)) and speed > 0 else 1.0


def reset_caches(endpoints: Sequence[Endpoint], headers: Mapping[str, str]) -> dict[str, bool]:
    """Empty the servers' caches; for each address whether every server did."""
    return {
        path: all(ask(f"{endpoint.root}{path}", post=b"", headers=headers).status == 200 for endpoint in endpoints)
        for path in CACHE_RESETS
    }


def wait_idle(outstanding: Callable[[], float | None], within_s: float = 30.0, every_s: float = 0.1) -> bool:
    """Wait until no request runs or waits (None: the server does not tell). False when some still do."""
    deadline_s = time.monotonic() + within_s
    while time.monotonic() < deadline_s:
        if not outstanding():
            return True
        time.sleep(every_s)
    return False
