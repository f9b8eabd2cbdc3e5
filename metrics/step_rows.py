"""The answer of each page as it grew: one row for every piece of the stream, with its time, characters and tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from evalkit.types import Observation, Provenance, RawOutput
from metrics.drive import provenance
from metrics.server_figures import told


@dataclass(frozen=True, slots=True)
class PageSteps:
    """The pieces of one page in their order, as columns of one length.

    `steps`: the decoding step with which a piece ended. `times_s`: since the request was sent. `chars`: new characters.
    `tokens`: new output tokens, None where the server does not tell them by piece.

    Steps are measured where each is known to be one token (nothing is speculated, and the server tells tokens), or
    where the pieces are as many as the steps that the server tells; else a piece is taken for a step, an estimate,
    since pieces merge under load.
    """

    page_id: str
    steps: Sequence[int]
    times_s: Sequence[float]
    chars: Sequence[int]
    tokens: Sequence[int] | None
    provenance: Provenance


def step_rows(observation: Observation) -> Iterator[PageSteps]:
    """The pieces of every page that was streamed, in the order in which the pages ended."""
    for output in observation.outputs:
        times_s = output.extra.get("chunk_times_s") or ()
        chars = output.extra.get("chunk_chars") or ()
        if output.send_s is None or output.first_s is None or not times_s or len(times_s) != len(chars):
            continue
        tokens = _new_tokens(output, len(times_s))
        steps, source = _steps(observation, output, tokens, len(times_s))
        since_s = [round(time_s - output.send_s, 6) for time_s in times_s]
        yield PageSteps(output.page_id, steps, since_s, chars, tokens, provenance(observation, source))


def _new_tokens(output: RawOutput, pieces: int) -> list[int] | None:
    """Tokens of each piece, from the running count that the server told with every one of them."""
    counts = output.extra.get("chunk_tokens") or ()
    if len(counts) != pieces:
        return None
    new = [after - before for before, after in pairwise((0, *counts))]
    return new if min(new) >= 0 else None


def _steps(
    observation: Observation, output: RawOutput, tokens: Sequence[int] | None, pieces: int
) -> tuple[Sequence[int], Provenance]:
    one_trajectory = not observation.system.speculative and observation.system.paradigm == "autoregressive"
    if one_trajectory and tokens is not None:
        return list(accumulate(tokens)), Provenance.MEASURED
    known = told(output).steps == pieces
    return range(1, pieces + 1), Provenance.MEASURED if known else Provenance.ESTIMATED
