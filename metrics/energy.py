"""Energy of the GPUs over one drive, for each page and each thousand tokens, and the share of prefill time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from evalkit.types import Figure, Observation, Provenance, Sample
from metrics.drive import counter_delta, finished, labelled, ok, samples_of, window_length_s, window_s

MEASURED = Provenance.MEASURED
PER_PAGE = "energy of all GPUs over the window / pages that ended well"
PER_TOKENS = "energy of all GPUs over the window / thousand output tokens of finished requests"
PREFILL_SHARE = (
    "time requests spent in prefill, image encoding included / prefill and decoding, by the server's counters"
)


def figures(observation: Observation) -> list[Figure]:
    """energy_per_page, energy_per_1k_tokens and prefill_share."""
    return labelled(observation, [*_energy(observation), _prefill_share(observation)])


def _energy(observation: Observation) -> list[Figure]:
    joules, source = gpu_energy_j(observation)
    pages = len(ok(observation.outputs))
    tokens = sum(output.tokens.output or 0 for output in finished(observation.outputs))
    return [
        _share("energy_per_page_j", "J/page", PER_PAGE, joules, pages, source),
        _share("energy_per_1k_tokens_j", "J/1k tokens", PER_TOKENS, joules, tokens / 1000, source),
    ]


def _share(name: str, unit: str, definition: str, joules: float | None, count: float, source: str) -> Figure:
    if joules is None or not count:
        return Figure(name, None, unit, definition, MEASURED, source if joules is None else "nothing was produced")
    return Figure(name, joules / count, unit, definition, MEASURED, details={"source": source, "total_j": joules})


def gpu_energy_j(observation: Observation) -> tuple[float | None, str]:
    """Energy of all GPUs over the window and its source: the GPU's counter, else the mean power. None without GPU."""
    facts = observation.facts
    window = window_s(observation.outputs)
    names = sorted({s.source for s in facts.samples if s.source.startswith("gpu")}) if facts is not None else []
    if not names:
        return None, "no GPU was seen"
    if window is None or window_length_s(observation) is None:
        return None, "the window is not known"
    series = [samples_of(observation, name) for name in names]
    for reading, source in (("energy_j", "energy counter"), ("power_w", "mean power")):
        parts = [_over(samples, reading, window) for samples in series]
        known = [part for part in parts if part is not None]
        if len(known) == len(parts):
            return sum(known), source
    return None, "the GPUs tell neither energy nor power"


def _over(samples: Sequence[Sample], reading: str, window: tuple[float, float]) -> float | None:
    points = [(sample.time_s, sample.values[reading]) for sample in samples if reading in sample.values]
    if len(points) < 2:
        return None
    if reading == "energy_j":
        return _at(points, window[1]) - _at(points, window[0])
    inside = [value for time_s, value in points if window[0] <= time_s <= window[1]] or [points[0][1]]
    return sum(inside) / len(inside) * (window[1] - window[0])


def _at(points: Sequence[tuple[float, float]], time_s: float) -> float:
    """A counter's value at a time, between readings by a straight line."""
    if time_s <= points[0][0]:
        return points[0][1]
    for (left_s, left), (right_s, right) in pairwise(points):
        if time_s <= right_s:
            return left + (right - left) * (time_s - left_s) / (right_s - left_s) if right_s > left_s else right
    return points[-1][1]


def _prefill_share(observation: Observation) -> Figure:
    prefill = counter_delta(observation, "request_prefill_time_seconds_sum")
    decode = counter_delta(observation, "request_decode_time_seconds_sum")
    if prefill is None or decode is None or prefill + decode <= 0:
        reason = "the server does not tell"
        return Figure("prefill_share", None, "1", PREFILL_SHARE, MEASURED, reason)
    return Figure("prefill_share", prefill / (prefill + decode), "1", PREFILL_SHARE, MEASURED)
