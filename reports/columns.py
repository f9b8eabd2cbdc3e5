"""The columns of the leaderboard: what each figure is called, what it means, and how it is written."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from reports.layout_scores import HEADLINE_MODE
from reports.run_files import Run


class Source(StrEnum):
    """Where a column's value is read: the scores, the figures of speed, or the run itself."""

    SCORE = "score"
    SPEED = "speed"
    RUN = "run"


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `scale` turns the stored value into the shown one; `better` is high, low or none."""

    name: str
    title: str
    unit: str
    definition: str
    source: Source
    better: str = "none"
    digits: int = 2
    scale: float = 1.0
    shown: bool = True


SCORES = (
    Column(
        "overall", "Overall", "0-100",
        "((1 - TextEdit) x 100 + TableTEDS + FormulaCDM) / 3, of the means over pages; absent when a part is absent.",
        Source.SCORE, "high", 2,
    ),
    Column(
        "text_edit", "TextEdit", "0-1",
        "Edit distance of matched text / length of the longer text, mean over pages. 0 is perfect.",
        Source.SCORE, "low", 4,
    ),
    Column(
        "formula_cdm", "FormulaCDM", "%",
        "Character detection matching: displayed formulas of both sides are typeset and their symbols matched by "
        "place and shape; F1, mean over pages with formulas.",
        Source.SCORE, "high", 2, 100.0,
    ),
    Column(
        "table_teds", "TableTEDS", "%",
        "Tree edit distance similarity of tables with their content, mean over pages with tables.",
        Source.SCORE, "high", 2, 100.0,
    ),
    Column(
        "table_teds_s", "TEDS-S", "%",
        "Tree edit distance similarity of the structure of tables, without their content.",
        Source.SCORE, "high", 2, 100.0,
    ),
    Column(
        "read_order_edit", "ReadOrderEdit", "0-1",
        "Edit distance of the order of text blocks / number of blocks, mean over pages. 0 is perfect.",
        Source.SCORE, "low", 4,
    ),
    Column(
        "formula_edit", "FormulaEdit", "0-1",
        "Edit distance of displayed formulas as LaTeX / length of the longer, mean over pages with formulas.",
        Source.SCORE, "low", 4, shown=False,
    ),
    Column(
        "table_edit",
        "TableEdit",
        "0-1",
        "Edit distance of tables as HTML / length of the longer, mean over pages with tables. 0 is perfect.",
        Source.SCORE,
        "low",
        4,
        shown=False,
    ),
    Column(
        "page_iou", "PageIoU", "%",
        "Area on which predicted and annotated layout agree / area of either, by class, mean over pages; mean of text, "
        "image, table and formula (overlaps count each, accepted regions may be predicted or not).",
        Source.SCORE, "high", 2, 100.0, shown=False,
    ),
)  # fmt: skip

SPEEDS = (
    Column("pps", "Pages/s", "pages/s", "Pages that ended well / wall time; failed pages' time counts.", Source.SPEED,
           "high", 3),
    Column("tps", "Tokens/s", "tokens/s", "Output tokens by the server's usage / wall time. Depends on the tokenizer.",
           Source.SPEED, "high", 0),
    Column("latency_p50_s", "Latency p50, s", "s",
           "Median of last chunk - first request byte, pages that ended well.", Source.SPEED, "low", 2),
    Column("latency_p95_s", "Latency p95, s", "s", "95th percentile of the same; given from 72 pages up.",
           Source.SPEED, "low", 2),
    Column("path_steps_per_page", "Steps/page", "steps/page", "Decoding steps of a page that follow one another, mean.",
           Source.SPEED, "low", 1),
    Column("accepted_length", "Tokens/step", "tokens/step", "Tokens that one decoding step brings, over all steps.",
           Source.SPEED, "high", 2),
    Column("chars_per_s", "Characters/s", "characters/s",
           "Characters of markdown without white space / wall time; comparable across tokenizers.", Source.SPEED,
           "high", 0, shown=False),
    Column("ttft_p50_s", "TTFT p50, s", "s", "Median of first chunk - first request byte.", Source.SPEED, "low", 2,
           shown=False),
    Column("step_reduction", "Step cut, %", "%", "1 - critical path / sequential length, in tokens.", Source.SPEED,
           "high", 1, 100.0, False),
    Column("energy_per_page_j", "Energy, J/page", "J/page", "GPU energy over the run / pages.", Source.SPEED, "low", 0,
           shown=False),
)  # fmt: skip

FACTS = (
    Column("coverage", "Coverage, %", "%", "Pages whose answer came to an end / pages asked for.", Source.RUN,
           "high", 1, 100.0),
    Column("truncation", "Truncated, %", "%", "Pages cut at the limit of tokens / pages asked for.", Source.RUN,
           "low", 1, 100.0),
    Column("in_flight", "In flight", "requests", "Requests in flight at a time (batch size, concurrency).", Source.RUN,
           "none", 0),
    Column("hardware", "Hardware", "", "What the system ran on, as the run recorded it.", Source.RUN),
    Column("date", "Date", "", "Day on which the run was begun (UTC).", Source.RUN),
)  # fmt: skip

PAGE_IOU = "page_iou"
COLUMNS = (*SCORES, *SPEEDS, *FACTS)
BY_NAME = {column.name: column for column in COLUMNS}


def value_of(run: Run, column: Column) -> float | None:
    """The number behind a cell as it is stored; None where it is absent or the column holds a text."""
    if column.source is Source.SPEED:
        figure = run.figure(column.name)
        if figure is None and column.name == "path_steps_per_page":
            figure = run.figure("steps_per_page")
        return figure.value if figure is not None else None
    if column.source is Source.SCORE:
        return _score(run, column.name)
    return _fact(run, column.name)


def _score(run: Run, name: str) -> float | None:
    if name == PAGE_IOU:
        layout = run.layout.average(HEADLINE_MODE, "overall") if run.layout is not None else None
        return layout.iou if layout is not None else None
    if run.summary is None:
        return None
    if name == "overall":
        return run.summary.overall
    metric = run.summary.metrics.get(name)
    return metric.page_avg if metric is not None else None


def _fact(run: Run, name: str) -> float | None:
    if run.speed is None:
        return None
    states, pages = run.speed.states, run.speed.pages
    if name == "in_flight":
        found = run.speed.load.get("in_flight")
        return float(found) if isinstance(found, int | float) else None
    if name == "coverage" and pages:
        return sum(states.get(state, 0) for state in ("ok", "truncated", "invalid")) / pages
    if name == "truncation" and pages:
        return states.get("truncated", 0) / pages
    return None


def text_of(run: Run, column: Column) -> str:
    """The text of a cell of a text column; "" where it is not known."""
    if column.name == "date":
        return run.record.created_utc[:10]
    if column.name == "hardware":
        return hardware(run)
    return ""


def hardware(run: Run) -> str:
    """What a run's system ran on."""
    if run.emulated:
        rows = run.speed.server.get("facts") if run.speed is not None else None
        first = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], dict) else {}
        named = first.get("hardware")
        return f"emulated {named}" if isinstance(named, str) else "emulated"
    host = run.record.host
    for key in ("gpus", "gpu"):
        if host.get(key):
            found = host[key]
            return ", ".join(map(str, found)) if isinstance(found, list) else str(found)
    cpu, cores = host.get("cpu"), host.get("cores")
    return f"{cpu}, {cores} cores" if cpu and cores else str(cpu or "")


def reason_of(run: Run, column: Column) -> str:
    """Why a cell is empty, as the stage recorded it."""
    if column.source is Source.SPEED:
        if run.speed is None:
            return "speed was not measured"
        figure = run.figure(column.name)
        return (figure.reason if figure is not None else None) or "not recorded"
    if column.name == PAGE_IOU:
        return "a class of it is on no page" if run.layout is not None else "no boxes were scored"
    if column.source is Source.SCORE:
        if run.summary is None:
            return "not evaluated"
        if column.name == "overall":
            return "a part of it was not scored"
        metric = run.summary.metrics.get(column.name)
        return (metric.reason if metric is not None else "not scored") or "no page has any"
    return "not recorded"


def written(column: Column, value: float | None) -> str:
    """A stored value as it is shown; an en dash where there is none."""
    if value is None:
        return "–"
    shown = value * column.scale
    if column.name == "pps" and shown < 0.1:
        return f"{shown:.3g}"
    return f"{shown:,.{column.digits}f}"
