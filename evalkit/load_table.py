"""Several drives of one system as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalkit.load_sweep import Agreement, Sweep, SweepPoint

SHOWN = ("pps", "pps_full", "full_load_share", "tps", "latency_p50_s", "latency_p95_s", "ttft_p50_s", "steps_per_page")
"""The figures of a point."""
UNITS = "bs: requests in flight; pps, pps_full: pages/s; tps: tokens/s; full_load_share: of the time; latency, ttft: s"


def told(sweep: Sweep | None, agreement: Agreement | None) -> str:
    """What came of several drives, as text for the terminal; "" of one drive."""
    if agreement is not None:
        verdict = "the drives agree" if agreement.agrees else "the drives do not agree: " + "; ".join(agreement.reasons)
        return f"{sweep_table(agreement.points)}\n{verdict}"
    if sweep is None:
        return ""
    if sweep.limit is None:
        return sweep_table(sweep.points)
    found = f"largest within {sweep.limit:g} s ({sweep.figure}): {sweep.largest or 'none'}"
    return f"{sweep_table(sweep.points)}\n{found}"


def sweep_table(points: Sequence[SweepPoint]) -> str:
    """The points as a text table, with a line on its units."""
    head = ["bs", *SHOWN, "valid"]
    rows = [
        [
            str(point.in_flight),
            *("-" if (value := point.figures[name]) is None else f"{value:.4g}" for name in SHOWN),
            "yes" if point.valid else f"no: {', '.join(point.broken_rules)}",
        ]
        for point in points
    ]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in [head, *rows]]
    return "\n".join([*lines, UNITS])
