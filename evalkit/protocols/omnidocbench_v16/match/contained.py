"""Annotated lines that stand inside a longer predicted piece."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalkit.protocols.omnidocbench_v16.match.edits import Counts, lengths
from evalkit.protocols.omnidocbench_v16.match.run import Span
from evalkit.protocols.omnidocbench_v16.match.stretches import Stretches, largest_count
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.rules import rule


@rule(stage="match", order=44, example="unmatched blocks 'one' and 'two', piece 'one and two' -> both join the piece")
def join_contained(
    groups: dict[Span, list[int]],
    unmatched: Sequence[int],
    gts: Sequence[str],
    preds: Sequence[str],
    counts: Counts,
) -> dict[Span, list[int]]:
    """Matched groups (run of pieces -> lines) with the unmatched lines added to the first piece that contains them.

    Source: match_quick.py fuzzy_match_unmatched_items and merge_matches.
    Quirk: a piece inside a matched run makes a group of its own, so its text counts twice. A later piece that also
    contains the line gets a group without lines, and with it disappears from the result.
    """
    joined = {span: list(lines) for span, lines in groups.items()}
    possible = _possible_lines(unmatched, gts, preds, counts)
    taken: set[int] = set()
    for piece in np.flatnonzero(possible.any(axis=0)).tolist():
        candidates = [unmatched[row] for row in np.flatnonzero(possible[:, piece]).tolist()]
        stretches = Stretches(preds[piece], (gts[line] for line in candidates))
        lines = _contained_lines(stretches, candidates, gts, taken)
        if lines is not None:
            joined.setdefault((piece, piece), []).extend(lines)
            taken.update(lines)
    return joined


def _contained_lines(
    stretches: Stretches, candidates: Iterable[int], gts: Sequence[str], taken: set[int]
) -> list[int] | None:
    """Contained lines that no earlier piece took; None when not even a taken one is contained."""
    lines: list[int] | None = None
    for line in candidates:
        if line in taken and lines is not None:
            continue
        if stretches.has_close(gts[line], _limit(gts[line])):
            lines = lines or []
            if line not in taken:
                lines.append(line)
    return lines


def _possible_lines(
    unmatched: Sequence[int], gts: Sequence[str], preds: Sequence[str], counts: Counts
) -> NDArray[np.bool_]:
    """Where an unmatched line may be contained in a piece: as in runs, what the piece is longer is no evidence."""
    rows: NDArray[Any] = np.array(unmatched, dtype=np.intp)
    limits = np.array([_limit(gts[line]) for line in unmatched], dtype=np.int64)
    longer = lengths(preds)[None, :] - lengths([gts[line] for line in unmatched])[:, None]
    possible: NDArray[np.bool_] = (longer >= 0) & (counts[rows] - longer <= limits[:, None])
    return possible


def _limit(text: str) -> int:
    return largest_count(len(text), POLICY.match.block_in_piece_edit, inclusive=False)
