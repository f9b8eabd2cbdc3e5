"""Times of single requests: what came before the first token and after it, and the branches of one request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evalkit.errors import EvalkitError
from evalkit.store import read_jsonl
from reports.run_files import Run
from reports.truth import number

MOST_ROWS = 5_000


@dataclass(frozen=True, slots=True)
class PhaseTimes:
    """One request: its output tokens, seconds before the first token and seconds of decoding.

    `by_server` says that the server told when it began; else the first part holds the wait for a free slot too.
    """

    output_tokens: int
    before_s: float
    decode_s: float
    by_server: bool


def request_rows(run: Run) -> Iterator[dict[str, Any]]:
    """Rows of the run's log of requests, the first of them when they are many; none when it cannot be read."""
    path = run.folder / "infer" / "requests.jsonl"
    if not path.exists():
        return
    try:
        for place, row in enumerate(read_jsonl(path, "evalkit.requests", 1)):
            if place >= MOST_ROWS:
                return
            yield row
    except EvalkitError:
        return


def phase_times(row: Mapping[str, Any]) -> PhaseTimes | None:
    """The phases of a finished request; None when it was not told when its first token came."""
    tokens = number((row.get("tokens") or {}).get("output"))
    if row.get("state") != "ok" or not tokens:
        return None
    reported = (row.get("extra") or {}).get("server_metrics")
    for facts in reported.values() if isinstance(reported, dict) else ():
        if not isinstance(facts, dict):
            continue
        times = [number(facts.get(name)) for name in ("started_s", "first_token_s", "ended_s")]
        if None not in times:
            started, first, ended = (value or 0.0 for value in times)
            return PhaseTimes(int(tokens), first - started, ended - first, True)
    send, first_s, last = (number(row.get(name)) for name in ("send_s", "first_s", "last_s"))
    if send is None or first_s is None or last is None or last - first_s <= 0.02 * (last - send):
        return None
    return PhaseTimes(int(tokens), first_s - send, last - first_s, False)
