"""Speed-ups over the baseline of a benchmark, taken apart into forking and speculation where both were run alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.bench_summary import read_bench_summary
from evalkit.store import write_json

FILE = "speedup.json"
VERSION = 1


@dataclass(frozen=True, slots=True)
class SpeedupRow:
    """One system against its baseline. Ratios are own / baseline, None where a figure is missing.

    `latency` is baseline / own, page by page: geometric mean with its 95 % interval. `steps` is how many tokens one
    of the steps that follow one another brings. `valid` when both runs are. `accepted_length` is the system's own;
    `text_equality` says how far its answers are the baseline's (`evalkit.text_equality.TextEquality`).
    """

    system: str
    baseline: str
    forks: bool
    speculates: bool
    valid: bool
    provenance: str
    pps: float | None
    tps: float | None
    latency: float | None
    latency_interval: tuple[float, float] | None
    steps: float | None
    accepted_length: float | None = None
    text_equality: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Parts:
    """The pages/s of forking alone, speculation alone and both, each over the same baseline.

    `product` is what both would give if they helped independently; `interaction` is both / product.
    """

    baseline: str
    forking: float
    speculation: float
    both: float
    product: float
    interaction: float


def write_speedups(out: Path, runs: Sequence[Path]) -> list[SpeedupRow]:
    """Compare every run with the run of its baseline, and write `out`/speedup.json when there is one."""
    summaries = [summary for run in runs if (summary := read_bench_summary(run)) is not None]
    rows = speedups(summaries)
    if rows:
        write_json(out / FILE, {"version": VERSION, "rows": rows, "parts": parts(rows)})
    return rows


def speedups(summaries: Sequence[Mapping[str, Any]]) -> list[SpeedupRow]:
    """A row for every system whose baseline is among the summaries and was made in the same mode and load."""
    by_name = {summary["system"]: summary for summary in summaries}
    rows: list[SpeedupRow] = []
    for summary in summaries:
        base = by_name.get(summary["baseline"] or "")
        if base is not None and (base["mode"], base["load"]) == (summary["mode"], summary["load"]):
            rows.append(_row(summary, base))
    return rows


def _row(summary: Mapping[str, Any], base: Mapping[str, Any]) -> SpeedupRow:
    paired = summary["speedup"] or {}
    interval = paired.get("interval")
    return SpeedupRow(
        system=summary["system"],
        baseline=base["system"],
        forks=summary["paradigm"] != "autoregressive",
        speculates=summary["speculative"],
        valid=summary["valid"] and base["valid"],
        provenance=summary["provenance"],
        pps=_ratio(summary, base, "pps"),
        tps=_ratio(summary, base, "tps"),
        latency=paired.get("geometric_mean"),
        latency_interval=(interval[0], interval[1]) if interval else None,
        steps=summary["figures"]["step_speedup"]["value"],
        accepted_length=summary["figures"].get("accepted_length", {}).get("value"),
        text_equality=summary.get("text_equality"),
    )


def _ratio(summary: Mapping[str, Any], base: Mapping[str, Any], name: str) -> float | None:
    own, other = summary["figures"][name]["value"], base["figures"][name]["value"]
    return own / other if own is not None and other else None


def parts(rows: Sequence[SpeedupRow]) -> Parts | None:
    """The speed-up in its two dimensions; None unless forking, speculation and both were run on one baseline."""
    found = {(row.forks, row.speculates): row for row in rows}
    both, forking, speculation = found.get((True, True)), found.get((True, False)), found.get((False, True))
    if both is None or forking is None or speculation is None:
        return None
    if len({both.baseline, forking.baseline, speculation.baseline}) > 1:
        return None
    if both.pps is None or not forking.pps or not speculation.pps:
        return None
    product = forking.pps * speculation.pps
    return Parts(both.baseline, forking.pps, speculation.pps, both.pps, product, both.pps / product)


def speedup_table(rows: Sequence[SpeedupRow]) -> str:
    """The rows as a text table, with a line on the two dimensions where both were run alone."""
    head = ["speed-up", "over", "pages/s", "tokens/s", "latency", "steps", "valid"]
    lines = [head]
    for row in rows:
        cells = ["-" if value is None else f"{value:.2f}x" for value in (row.pps, row.tps, row.latency, row.steps)]
        mark = "*" if row.provenance == "emulated" else ""
        lines.append([row.system + mark, row.baseline, *cells, "yes" if row.valid else "no"])
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    split = parts(rows)
    if split is not None:
        text.append(
            f"forking {split.forking:.2f}x, speculation {split.speculation:.2f}x, both {split.both:.2f}x pages/s: "
            f"{split.interaction:.2f} of the product {split.product:.2f}x"
        )
    return "\n".join(text)
