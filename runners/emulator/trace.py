"""The emulated engine's own account of every request: the truth against which a client's figures are tested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runners.emulator.engine import Engine
from runners.emulator.streams import Page, Stream

TRACE_SCHEMA = "evalkit.emulated_trace"
TRACE_VERSION = 1


def request_figures(page: Page, window: int) -> dict[str, Any]:
    """What decoding one page took; times in emulated seconds on the engine's clock.

    `decoding_steps` sums over branches; `critical_path_*` follow the longest one from the first token on.
    """
    plan = page.plan
    steps = plan.decoding_steps
    accepted = np.concatenate([stream.steps for stream in plan.streams]) if window else np.zeros(0, dtype=np.int64)
    return {
        "provenance": "emulated",
        "arrival_s": page.arrival_s,
        "started_s": page.started_s,
        "first_token_s": page.first_token_s,
        "ended_s": page.ended_s,
        "prompt_tokens": plan.prompt_tokens,
        "cached_tokens": page.cached_tokens,
        "completion_tokens": plan.tokens,
        "decoding_steps": steps,
        "critical_path_steps": plan.critical_path_steps(),
        "critical_path_tokens": plan.critical_path_tokens(),
        "drafts": steps if window else 0,
        "draft_tokens": steps * window,
        "accepted_tokens": plan.tokens - steps if window else 0,
        "accepted_per_position": [int(np.count_nonzero(accepted > position + 1)) for position in range(window)],
        "preemptions": page.preemptions,
        "branches": [_branch(stream) for stream in page.streams],
    }


def _branch(stream: Stream) -> dict[str, Any]:
    return {
        "index": stream.plan.index,
        "fork_after_tokens": stream.plan.fork_after,
        "tokens": stream.plan.tokens,
        "steps": len(stream.plan.steps),
        "born_s": stream.born_s,
        "started_s": stream.started_s,
        "ended_s": stream.ended_s,
    }


def totals(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Figures over the requests that ended well, in emulated seconds; None where there are none."""
    finished = [row for row in rows if row["state"] == "ok"]
    states = Counter(str(row["state"]) for row in rows)
    if not finished:
        return {"provenance": "emulated", "requests": len(rows), "states": dict(states), "pps": None, "tps": None}
    window_s = max(row["ended_s"] for row in rows if row["ended_s"] is not None) - min(
        row["arrival_s"] for row in rows if row["arrival_s"] is not None
    )
    tokens = sum(row["completion_tokens"] for row in finished)
    steps = sum(row["decoding_steps"] for row in finished)
    return {
        "provenance": "emulated",
        "requests": len(rows),
        "states": dict(states),
        "window_s": window_s,
        "pps": len(finished) / window_s if window_s else None,
        "tps": tokens / window_s if window_s else None,
        "completion_tokens": tokens,
        "decoding_steps": steps,
        "critical_path_steps": sum(row["critical_path_steps"] for row in finished),
        "accepted_length": tokens / steps,
    }


def engine_facts(engine: Engine) -> dict[str, Any]:
    """The engine's configuration and counters."""
    counters = engine.counters
    limits = engine.limits
    return {
        "variant": engine.variant.name,
        "forking": str(engine.variant.forking),
        "draft_window": engine.variant.window,
        "hardware": engine.cost.hardware.name,
        "model": engine.cost.model.name,
        "max_streams": limits.max_streams,
        "token_budget": limits.token_budget,
        "occupancy": limits.occupancy,
        "kv_blocks": engine.pool.total,
        "iterations": counters.iterations,
        "generated_tokens": counters.generated,
        "drafts": counters.drafts,
        "draft_tokens": counters.drafted,
        "accepted_tokens": counters.accepted,
        "accepted_per_position": list(counters.accepted_at),
        "prompt_tokens": counters.prompt_tokens,
        "cached_tokens": counters.cached_tokens,
        "computed_prompt_tokens": counters.computed_tokens,
        "preemptions": counters.preemptions,
        "forks": counters.forks,
        "now_s": engine.now_s,
    }
