"""How long pages take: latency, queue-aware latency, time to first token, time per output token."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evalkit.types import Figure, Observation, Provenance, RawOutput
from metrics.drive import labelled, ok
from metrics.quantiles import mean, mean_interval, quantile, quantile_interval, smallest_count

QUANTILES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}
RELEASED_LATE = 0.95
LATENCY = "last chunk - first request byte, pages that ended well"
LATENCY_ALL = "last chunk - first request byte, all pages, failed ones as infinitely long"
QUEUED = "last chunk - arrival (slot became free, or scheduled time), pages that ended well"
TTFT = "first non-empty chunk - first request byte"
TPOT = "(last chunk - first chunk) / (output tokens - tokens of the first chunk)"


def figures(observation: Observation) -> list[Figure]:
    """Mean and quantiles of latency, latency_all (failures as infinite), queued_latency, ttft and tpot."""
    good = ok(observation.outputs)
    not_streamed = None if observation.stream else "answers were not streamed"
    streamed = good if observation.stream else []
    if observation.facts is not None and observation.facts.mode == "offline":
        return _batches(observation)
    return labelled(
        observation,
        [
            *_distribution("latency", LATENCY, [value for output in good if (value := latency_s(output)) is not None]),
            *_with_failures(observation.outputs),
            *_distribution("queued_latency", QUEUED, [v for output in good if (v := queued_s(output)) is not None]),
            *_distribution("ttft", TTFT, [v for output in streamed if (v := ttft_s(output)) is not None], not_streamed),
            *_per_token(streamed, observation.system.speculative, not_streamed),
        ],
    )


def _batches(observation: Observation) -> list[Figure]:
    reason = "the offline mode times whole batches, not pages"
    names = {"latency": LATENCY, "queued_latency": QUEUED, "ttft": TTFT, "tpot": TPOT}
    found = [figure for name, text in names.items() for figure in _distribution(name, text, (), reason)]
    return labelled(observation, found)


def latency_s(output: RawOutput) -> float | None:
    """e - s."""
    return None if output.send_s is None or output.last_s is None else output.last_s - output.send_s


def queued_s(output: RawOutput) -> float | None:
    """e - a."""
    return None if output.arrival_s is None or output.last_s is None else output.last_s - output.arrival_s


def ttft_s(output: RawOutput) -> float | None:
    """f - s."""
    return None if output.send_s is None or output.first_s is None else output.first_s - output.send_s


def tpot_s(output: RawOutput) -> float | None:
    """(e - f) / (n - k1), where k1, the tokens of the first chunk, is 1 when the server does not tell."""
    count = output.tokens.output
    if output.first_s is None or output.last_s is None or count is None:
        return None
    told = output.extra.get("chunk_tokens")
    first = told[0] if told else 1
    return (output.last_s - output.first_s) / (count - first) if count > first else None


def released_at_once(outputs: Sequence[RawOutput]) -> bool:
    """Whether most pages came as a whole: their first chunk in the last twentieth of their latency."""
    shares = [
        first_s / whole_s
        for output in outputs
        if (first_s := ttft_s(output)) is not None and (whole_s := latency_s(output))
    ]
    return sum(share > RELEASED_LATE for share in shares) > len(shares) / 2


def _distribution(name: str, definition: str, values: Sequence[float], reason: str | None = None) -> list[Figure]:
    if not values:
        why = reason or "no page ended well"
        names = [f"{name}_mean_s", *(f"{name}_{label}_s" for label in QUANTILES)]
        return [Figure(label, None, "s", definition, Provenance.MEASURED, why) for label in names]
    average = Figure(
        name=f"{name}_mean_s",
        value=mean(values),
        unit="s",
        definition=definition,
        provenance=Provenance.MEASURED,
        interval=mean_interval(values),
        count=len(values),
    )
    ordered = sorted(values)
    return [average, *(_quantile(name, label, definition, ordered) for label in QUANTILES)]


def _quantile(name: str, label: str, definition: str, ordered: Sequence[float]) -> Figure:
    share, full_name = QUANTILES[label], f"{name}_{label}_s"
    needed = smallest_count(share)
    if len(ordered) < needed:
        reason = f"{label} needs {needed} pages, there are {len(ordered)}"
        return Figure(full_name, None, "s", definition, Provenance.MEASURED, reason, count=len(ordered))
    value = quantile(ordered, share)
    if math.isinf(value):
        reason = f"more than {1 - share:.0%} of the pages failed"
        return Figure(full_name, None, "s", definition, Provenance.MEASURED, reason, count=len(ordered))
    interval = quantile_interval(ordered, share)
    finite = interval if interval is not None and not math.isinf(interval[1]) else None
    return Figure(full_name, value, "s", definition, Provenance.MEASURED, interval=finite, count=len(ordered))


def _with_failures(outputs: Sequence[RawOutput]) -> list[Figure]:
    good = {output.page_id for output in ok(outputs)}
    values = sorted(
        value if output.page_id in good and (value := latency_s(output)) is not None else math.inf for output in outputs
    )
    return [_quantile("latency_all", label, LATENCY_ALL, values) for label in QUANTILES]


def _per_token(good: Sequence[RawOutput], speculative: bool, reason: str | None) -> list[Figure]:
    values = [value for output in good if (value := tpot_s(output)) is not None]
    if reason is None and released_at_once(good):
        reason, values = "the server sends a page when it is complete, not as it is decoded", []
    found = _distribution("tpot", TPOT, values, reason or "no usage, or one token only")
    told = all("chunk_tokens" in output.extra for output in good)
    if told or not speculative:
        return found
    return [_estimated(figure) for figure in found]


def _estimated(figure: Figure) -> Figure:
    return Figure(
        name=figure.name,
        value=figure.value,
        unit=figure.unit,
        definition=figure.definition + ", where the first chunk is taken to hold 1 token",
        provenance=Provenance.ESTIMATED,
        reason=figure.reason,
        interval=figure.interval,
        count=figure.count,
    )
