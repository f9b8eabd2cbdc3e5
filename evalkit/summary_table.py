"""A summary as a table for the terminal."""

from __future__ import annotations

from evalkit.types import MetricSummary, Summary

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
