"""Time before a page's first token (image encoding and prefill) against its time of decoding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evalkit.types import Observation, Provenance, RawOutput
from metrics.drive import ok, provenance
from metrics.latency import released_at_once, ttft_s
from metrics.server_figures import told


@dataclass(frozen=True, slots=True)
class PhaseFigures:
    """Mean seconds of both phases over pages that ended well, and the first one's share of their sum.

    Measured where the server tells when it began a page. Else estimated from the client's clock, where the first phase
    holds the wait for a free slot of the server too. None where pages are sent as a whole.
    """

    before_s: float | None
    decode_s: float | None
    share: float | None
    provenance: Provenance


def phase_figures(observation: Observation, outputs: Sequence[RawOutput]) -> PhaseFigures:
    """The phases of some pages of a drive: as told of all of them, else as the client saw them."""
    good = ok(outputs)
    by_server = [phases for output in good if (phases := told(output).phases_s) is not None]
    if good and len(by_server) == len(good):
        return _means(by_server, provenance(observation))
    source = provenance(observation, Provenance.ESTIMATED)
    if released_at_once(good):
        return PhaseFigures(None, None, None, source)
    return _means([phases for output in good if (phases := _by_client(output)) is not None], source)


def _by_client(output: RawOutput) -> tuple[float, float] | None:
    first_s = ttft_s(output)
    if first_s is None or output.first_s is None or output.last_s is None:
        return None
    return first_s, output.last_s - output.first_s


def _means(phases: Sequence[tuple[float, float]], source: Provenance) -> PhaseFigures:
    before_s, decode_s = (math.fsum(part) for part in zip(*phases, strict=True)) if phases else (0.0, 0.0)
    if before_s + decode_s <= 0:
        return PhaseFigures(None, None, None, source)
    count = len(phases)
    return PhaseFigures(before_s / count, decode_s / count, before_s / (before_s + decode_s), source)
