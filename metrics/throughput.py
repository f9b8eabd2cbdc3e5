"""Pages, tokens and characters per second over one drive."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.types import Figure, Observation, Provenance, RawOutput, Sample
from metrics.drive import INTERRUPTED, finished, interrupted, labelled, no_window, ok, samples_of, window_length_s

FULL_LOAD_SHARE_MIN = 0.20
"""Under this share of the window at full load the rate at full load is left out: it rests on too little."""

PEAK_WINDOW_S = 10.0
MEASURED = Provenance.MEASURED


def figures(observation: Observation) -> list[Figure]:
    """pps, pps_all, pps_full, full_load_share, tps, tps_peak and chars_per_s."""
    length_s = window_length_s(observation)
    return labelled(
        observation,
        [
            _rate(observation, length_s, "pps", "pages/s", len(ok(observation.outputs)), PPS),
            _rate(observation, length_s, "pps_all", "pages/s", len(finished(observation.outputs)), PPS_ALL),
            *_full_load(observation, length_s),
            _tokens(observation, length_s),
            _peak(observation),
            _chars(observation, length_s),
        ],
    )


PPS = "pages that ended well / window; the time of failed and truncated pages counts, the pages do not"
PPS_ALL = "pages whose answer came to an end, also truncated and unusable ones / window"
PPS_FULL = "pages that ended well while all slots were busy / that time"
SHARE = "share of the window in which all slots were busy"
TPS = "output tokens of finished requests by the server's usage / window"
TPS_PEAK = "greatest rise of the server's counter of generated tokens in any 10 s / that time"
CHARS = "characters of the markdown without white space, of finished requests / window"


def _rate(
    observation: Observation, length_s: float | None, name: str, unit: str, total: float, definition: str
) -> Figure:
    if length_s is None:
        return Figure(name, None, unit, definition, MEASURED, no_window(observation))
    return Figure(name, total / length_s, unit, definition, MEASURED, count=len(observation.outputs))


def full_load_s(outputs: Sequence[RawOutput], in_flight: int) -> tuple[float, float] | None:
    """When all slots of a closed loop were busy: from the send that filled the last one to the first end after the
    last send. None when there were never so many requests at once."""
    timed = [
        (output.send_s, output.last_s) for output in outputs if output.send_s is not None and output.last_s is not None
    ]
    if len(timed) < in_flight:
        return None
    sends_s = sorted(send_s for send_s, _ in timed)
    start_s = sends_s[in_flight - 1]
    end_s = min((last_s for _, last_s in timed if last_s > sends_s[-1]), default=start_s)
    return (start_s, end_s) if end_s > start_s else None


def _full_load(observation: Observation, length_s: float | None) -> list[Figure]:
    offline = observation.facts is not None and observation.facts.mode == "offline"
    if observation.load.shape != "closed" or offline:
        reason = "batches have no slots" if offline else "only a closed loop has slots"
        return [
            Figure("pps_full", None, "pages/s", PPS_FULL, MEASURED, reason),
            Figure("full_load_share", None, "1", SHARE, MEASURED, reason),
        ]
    if length_s is None:
        reason = no_window(observation)
        return [
            Figure("pps_full", None, "pages/s", PPS_FULL, MEASURED, reason),
            Figure("full_load_share", None, "1", SHARE, MEASURED, reason),
        ]
    full = full_load_s(observation.outputs, observation.load.in_flight)
    share = (full[1] - full[0]) / length_s if full else 0.0
    shown = Figure("full_load_share", share, "1", SHARE, MEASURED)
    if full is None or share < FULL_LOAD_SHARE_MIN:
        reason = f"all slots were busy in {share:.0%} of the window, under {FULL_LOAD_SHARE_MIN:.0%}"
        return [Figure("pps_full", None, "pages/s", PPS_FULL, MEASURED, reason), shown]
    start_s, end_s = full
    done = sum(1 for output in ok(observation.outputs) if start_s < (output.last_s or 0.0) <= end_s)
    return [Figure("pps_full", done / (end_s - start_s), "pages/s", PPS_FULL, MEASURED, count=done), shown]


def _tokens(observation: Observation, length_s: float | None) -> Figure:
    counts = [output.tokens.output for output in finished(observation.outputs)]
    known = [count for count in counts if count is not None]
    if not known:
        return Figure("tps", None, "tokens/s", TPS, MEASURED, "the server reports no usage")
    if len(known) < len(counts):
        reason = f"{len(counts) - len(known)} of {len(counts)} answers have no usage"
        return Figure("tps", None, "tokens/s", TPS, MEASURED, reason)
    return _rate(observation, length_s, "tps", "tokens/s", sum(known), TPS)


def _peak(observation: Observation) -> Figure:
    samples = [sample for sample in samples_of(observation, "server") if "generation_tokens" in sample.values]
    if interrupted(observation):
        return Figure("tps_peak", None, "tokens/s", TPS_PEAK, MEASURED, INTERRUPTED)
    if not samples:
        return Figure("tps_peak", None, "tokens/s", TPS_PEAK, MEASURED, "the server has no such counter")
    peak = greatest_rise_per_s(samples, "generation_tokens", PEAK_WINDOW_S)
    if peak is None:
        return Figure("tps_peak", None, "tokens/s", TPS_PEAK, MEASURED, "the drive was shorter than 10 s")
    return Figure("tps_peak", peak, "tokens/s", TPS_PEAK, MEASURED, count=len(samples))


def greatest_rise_per_s(samples: Sequence[Sample], name: str, width_s: float) -> float | None:
    """Greatest rise of a counter in any window of at least `width_s`, per second; None when there is none so long."""
    best: float | None = None
    right = 0
    for left in samples:
        while right < len(samples) and samples[right].time_s - left.time_s < width_s:
            right += 1
        if right == len(samples):
            break
        rise = samples[right].values[name] - left.values[name]
        rate = rise / (samples[right].time_s - left.time_s)
        best = rate if best is None else max(best, rate)
    return best


def _chars(observation: Observation, length_s: float | None) -> Figure:
    if not observation.chars:
        return Figure("chars_per_s", None, "characters/s", CHARS, MEASURED, "the answers are not converted yet")
    total = sum(observation.chars.get(output.page_id, 0) for output in finished(observation.outputs))
    return _rate(observation, length_s, "chars_per_s", "characters/s", total, CHARS)
