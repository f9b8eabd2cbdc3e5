"""A summary as a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from evalkit.errors import printable
from evalkit.load_table import told
from evalkit.speedup import speedup_table
from evalkit.types import MetricSummary, Summary

if TYPE_CHECKING:
    from evalkit.stages.bench import BenchResult, SystemResult

TITLES = {
    "text_edit": "TextEdit ↓",
    "formula_edit": "FormulaEdit ↓",
    "formula_cdm": "FormulaCDM ↑",
    "table_teds": "TableTEDS ↑",
    "table_teds_s": "TableTEDS-S ↑",
    "table_edit": "TableEdit ↓",
    "read_order_edit": "ReadOrderEdit ↓",
}


def summary_table(summary: Summary) -> str:
    """Overall, every metric by averaging rule, and the counts that are not 0."""
    overall = "not scored (a part is missing)" if summary.overall is None else f"{summary.overall:.4f}"
    lines = [
        f"Overall  {overall}    {summary.pages} pages, {summary.protocol}",
        "",
        f"{'metric':<16} {'page mean':>10} {'pair mean':>10} {'corpus':>10} {'pages':>6} {'pairs':>6}",
        *(_line(TITLES.get(name, name), found) for name, found in summary.metrics.items()),
    ]
    counts = [f"{name}: {count}" for name, count in summary.counts.items() if count]
    return "\n".join([*lines, "", ", ".join(counts), summary.signature])


def _line(title: str, found: MetricSummary) -> str:
    if found.reason is not None:
        return f"{title:<16} {found.reason}"
    values = (found.page_avg, found.sample_avg, found.whole)
    shown = " ".join(f"{'-' if value is None else format(value, '.6f'):>10}" for value in values)
    return f"{title:<16} {shown} {found.pages:>6} {found.samples:>6}"


BENCH_HEAD = (
    f"{'system':<18} {'overall':>8} {'text ↓':>8} {'CDM':>8} {'TEDS':>8} {'order ↓':>8} "
    f"{'pages/s':>9} {'tokens/s':>9} {'p50 s':>8}"
)


def bench_table(result: BenchResult) -> str:
    """One line a system with its main scores and figures, and where the report is."""
    lines = [BENCH_HEAD, *(_bench_line(system) for system in result.systems)]
    if any(system.emulated for system in result.systems):
        lines += ["", "* emulated: served by a model of the engine; neither speed nor accuracy was measured"]
    for system in result.systems:
        lines += _loads(system)
    if result.speedups:
        lines += ["", speedup_table(result.speedups)]
    lines += ["", f"runs: {result.out}"]
    if result.report is not None:
        lines.append(f"report: {result.report}")
    return "\n".join(lines)


def _loads(result: SystemResult) -> list[str]:
    """What came of the drives beside the main one, and why some were not made."""
    lines: list[str] = []
    shown = told(result.sweep, result.agreement)
    if shown:
        name = result.system + ("*" if result.emulated else "")
        lines += ["", f"{name}, {'drive by drive' if result.agreement else 'by requests in flight'}:", shown]
    if result.load_problem is not None:
        why = printable(result.load_problem.splitlines()[0])
        lines += ["", f"{result.system}: not every load was driven: {why}"]
    return lines


def _bench_line(result: SystemResult) -> str:
    name = result.system + ("*" if result.emulated else "")
    if result.summary is None:
        return f"{name:<18} no result: {printable((result.problem or '-').splitlines()[0])}"
    metrics = result.summary.metrics
    scores = [_page_avg(metrics, metric) for metric in ("text_edit", "formula_cdm", "table_teds", "read_order_edit")]
    speed = [result.speed.get(figure) for figure in ("pps", "tps", "latency_p50_s")]
    shown = [_number(result.summary.overall, 8, 2), *(_number(score, 8, 4) for score in scores)]
    shown += [_number(value, 9 if index < 2 else 8, 3) for index, value in enumerate(speed)]
    marks = [f"{result.missing_pages} pages without an answer (--retry-failed)"] if result.missing_pages else []
    marks += [f"speed is invalid: {', '.join(result.broken_rules)}"] if result.broken_rules else []
    return "  ".join([f"{name:<18} {' '.join(shown)}", *marks])


def _page_avg(metrics: Mapping[str, MetricSummary], name: str) -> float | None:
    return metrics[name].page_avg if name in metrics else None


def _number(value: float | None, width: int, digits: int) -> str:
    return f"{'-' if value is None else format(value, f'.{digits}f'):>{width}}"
