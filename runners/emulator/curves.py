"""A chart of simulated figures: pages a second over the pages in flight, one curve a combination."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from runners.emulator.grid import GridRow


def draw_curves(rows: Sequence[GridRow], path: Path, about: str) -> None:
    """Write the chart as SVG, PNG or PDF, by the file's suffix."""
    from matplotlib.figure import Figure

    curves: dict[str, list[GridRow]] = defaultdict(list)
    for row in rows:
        curves[_label(row)].append(row)
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    throughput, latency = figure.subplots(1, 2)
    for label, points in curves.items():
        points.sort(key=lambda row: row.in_flight)
        in_flight = [row.in_flight for row in points]
        throughput.plot(in_flight, [row.pps for row in points], marker="o", label=label)
        latency.plot(in_flight, [row.latency_p95_s for row in points], marker="o", label=label)
    for axis, name in ((throughput, "pages a second, simulated"), (latency, "latency P95 in s, simulated")):
        axis.set(xscale="log", xlabel="pages in flight", ylabel=name)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    throughput.legend(fontsize="small")
    figure.suptitle(f"Simulated, not measured: {about}", fontsize="medium")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _label(row: GridRow) -> str:
    parts = [row.deployment, row.hardware]
    if row.window:
        parts.append(f"K={row.window}")
    if row.acceptance is not None:
        parts.append(f"accepts {row.acceptance:g}")
    return ", ".join([*parts, f"N_max={row.max_streams}", f"tau={row.occupancy:g}"])
