"""What every figure of speed asks of a drive: which pages ended how, and over what time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evalkit.types import Figure, FinishState, Observation, Provenance, RawOutput, Sample

FINISHED = frozenset({FinishState.OK, FinishState.TRUNCATED, FinishState.INVALID})
"""States of a page whose answer came to an end."""

INTERRUPTED = "the run was interrupted and resumed"


def ok(outputs: Sequence[RawOutput]) -> list[RawOutput]:
    """Pages that ended well."""
    return [output for output in outputs if output.state is FinishState.OK]


def finished(outputs: Sequence[RawOutput]) -> list[RawOutput]:
    """Pages whose answer came to an end, whatever it is worth."""
    return [output for output in outputs if output.state in FINISHED]


def window_s(outputs: Sequence[RawOutput]) -> tuple[float, float] | None:
    """W: from the first request's send to the last one's end, failed ones too; None when nothing was sent."""
    timed = [
        (output.send_s, output.last_s) for output in outputs if output.send_s is not None and output.last_s is not None
    ]
    if not timed:
        return None
    return min(send_s for send_s, _ in timed), max(last_s for _, last_s in timed)


def interrupted(observation: Observation) -> bool:
    """Whether the pages come from several drives: clocks and counters are then of the last one only."""
    return observation.sessions > 1


def window_length_s(observation: Observation) -> float | None:
    """Length of W; None when nothing was sent, it has no length, or the run was interrupted."""
    window = window_s(observation.outputs)
    if window is None or window[1] <= window[0] or interrupted(observation):
        return None
    return window[1] - window[0]


def no_window(observation: Observation) -> str:
    """Why there is no W."""
    return INTERRUPTED if interrupted(observation) else "no request was sent"


def provenance(observation: Observation, otherwise: Provenance = Provenance.MEASURED) -> Provenance:
    """Emulated for every figure of an emulated server, else as given."""
    emulated = observation.facts is not None and observation.facts.emulated
    return Provenance.EMULATED if emulated else otherwise


def labelled(observation: Observation, figures: Sequence[Figure]) -> list[Figure]:
    """The figures with the provenance of the drive they come from."""
    return [replace(figure, provenance=provenance(observation, figure.provenance)) for figure in figures]


def samples_of(observation: Observation, source: str) -> list[Sample]:
    """Readings of one source, by time."""
    facts = observation.facts
    found = [sample for sample in facts.samples if sample.source == source] if facts is not None else []
    return sorted(found, key=lambda sample: sample.time_s)


def counter_delta(observation: Observation, name: str) -> float | None:
    """By how much a server counter rose over the drive; None when the server does not tell.

    A counter that was not read after the last page, since a server was gone by then, does not tell.
    """
    samples = [sample for sample in samples_of(observation, "server") if name in sample.values]
    window = window_s(observation.outputs)
    if len(samples) < 2 or (window is not None and samples[-1].time_s < window[1] and not interrupted(observation)):
        return None
    return samples[-1].values[name] - samples[0].values[name]
