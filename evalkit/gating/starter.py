"""A first gates.toml for a run: margins from the run's own variance, and the smallest regression they can detect."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalkit.columns import aligned
from evalkit.errors import UserError
from evalkit.gating.config import StatisticsSettings
from evalkit.gating.page_table import PageTable, Selection
from evalkit.gating.speed import DETERMINISTIC
from evalkit.snapshot import OVERALL, Snapshot, SpeedFigure
from evalkit.statistics import detectable_change

ASSUMED_CORRELATION = 0.9
"""Correlation of page scores between two versions of a system, assumed where no second run shows it."""

MARGIN_ERRORS = 3.0
"""Margin in standard errors: an unchanged candidate then passes about five times in six."""

LEAST_MARGIN = {OVERALL: 0.5}
OTHER_LEAST_MARGIN = 0.005
METRICS = (OVERALL, "text_edit", "table_teds", "formula_cdm", "read_order_edit")
FIGURES = ("pps", "chars_per_s", "latency_p50_s", "steps_per_page", "accepted_length")
COUNTED_FIGURES = ("steps_per_page", "accepted_length")
SPEED_MARGIN = 0.05
COUNTED_MARGIN = 0.01
STRATUM_ATTRIBUTES = ("subset", "data_source")
MOST_TRUNCATED = 0.02


@dataclass(frozen=True, slots=True)
class AccuracyProposal:
    """A margin for one metric; `error` is the standard error of a difference, `detectable` the loss found with 80 %."""

    metric: str
    value: float
    error: float
    margin: float
    detectable: float


@dataclass(frozen=True, slots=True)
class SpeedProposal:
    """A relative margin for one figure; `noise` is the relative standard deviation of a run, None if not measured."""

    figure: str
    value: float
    noise: float | None
    margin: float
    deterministic: bool
    detectable: float | None


@dataclass(frozen=True, slots=True)
class Starter:
    """What `gate init` proposes. `paired` says whether errors come from a second run's paired differences."""

    accuracy: tuple[AccuracyProposal, ...]
    speed: tuple[SpeedProposal, ...]
    stratify: str | None
    paired: bool


def propose(run: Snapshot, second: Snapshot | None = None) -> Starter:
    """Rules for what a run holds. A second run of the same system shows how page scores differ between runs."""
    attributes = {name for page in run.pages for name in page.groups}
    stratify = next((name for name in STRATUM_ATTRIBUTES if name in attributes), None)
    starter = Starter(
        accuracy=tuple(_accuracy(run, second, stratify)) if run.pages else (),
        speed=tuple(_speed(run)),
        stratify=stratify,
        paired=second is not None,
    )
    if not starter.accuracy and not starter.speed:
        raise UserError(f"{run.origin}: holds no scored page and no figure to make a rule of")
    return starter


def _accuracy(run: Snapshot, second: Snapshot | None, stratify: str | None) -> list[AccuracyProposal]:
    table = PageTable(run, second or run, StatisticsSettings(stratify=stratify))
    selections = [Selection(name) for name in METRICS if run.metrics.get(name) is not None]
    if not selections:
        return []
    found = []
    for selection, means in table.bootstrap(selections).items():
        before, after = means.replicates
        if second is None:
            error = float(np.nanstd(before)) * math.sqrt(2 * (1 - ASSUMED_CORRELATION))
        else:
            error = float(np.nanstd(after - before))
        least = LEAST_MARGIN.get(selection.metric, OTHER_LEAST_MARGIN)
        margin = max(least, _rounded_up(MARGIN_ERRORS * error))
        found.append(
            AccuracyProposal(selection.metric, means.estimate[0], error, margin, detectable_change(error, margin))
        )
    return found


def _speed(run: Snapshot) -> list[SpeedProposal]:
    found = []
    for name in FIGURES:
        figures = [figure for one in run.speed if (figure := one.figures.get(name)) is not None]
        values = [figure.value for figure in figures if figure.value is not None and figure.value > 0]
        if not values or len(values) < len(figures):
            continue
        noise = float(np.std(np.log(values), ddof=1)) if len(values) > 1 else None
        margin = COUNTED_MARGIN if name in COUNTED_FIGURES else SPEED_MARGIN
        margin = max(margin, _rounded_up(MARGIN_ERRORS * (noise or 0.0)))
        found.append(_speed_proposal(name, figures, values, noise, margin))
    return found


def _speed_proposal(
    name: str, figures: Sequence[SpeedFigure], values: Sequence[float], noise: float | None, margin: float
) -> SpeedProposal:
    deterministic = all(figure.provenance in DETERMINISTIC for figure in figures)
    detectable = margin if deterministic else None
    if noise is not None:
        detectable = detectable_change(noise * math.sqrt(2 / len(values)), margin)
    return SpeedProposal(name, float(np.mean(values)), noise, margin, deterministic, detectable)


def _rounded_up(value: float) -> float:
    """To two significant digits, upwards."""
    if value <= 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / step - 1e-9) * step:.6g}")


def config_text(starter: Starter, run: Snapshot) -> str:
    """The gates.toml of a proposal, with comments."""
    has_requests = bool(run.finished_states)
    source = "a second run" if starter.paired else f"page scores, taken to correlate by {ASSUMED_CORRELATION:g}"
    lines = [
        f"# Rules of `evalkit gate`, proposed from {run.run_id}. Margins are {MARGIN_ERRORS:g} standard errors of a",
        f"# difference ({source}), or more.",
        "version = 1",
        "",
        "[validity]",
        "least_coverage = 1.0            # share of pages with a prediction",
        f"{'' if has_requests else '# '}greatest_truncation_rate = {MOST_TRUNCATED}",
        'required_checks = []            # such as "cold_prefix_cache"; see the checks of a bench run',
        'allow_differences = ["evalkit"] # parts of the signature that may differ: here evalkit\'s version',
        "",
        "[statistics]",
        "level = 0.95",
        "resamples = 10000",
        "seed = 0",
        'interval = "bca"                # or "percentile"',
    ]
    if starter.stratify:
        lines.append(f"stratify = {json.dumps(starter.stratify)}")
    for accuracy in starter.accuracy:
        lines += [
            "",
            "[[accuracy]]",
            f"metric = {json.dumps(accuracy.metric)}",
            f"margin = {accuracy.margin:g}   # finds a loss of {accuracy.detectable:.3g} four times in five",
        ]
    for speed in starter.speed:
        lines += ["", "[[speed]]", f"figure = {json.dumps(speed.figure)}", f"relative_margin = {speed.margin:g}"]
        if speed.noise:
            lines.append(f"noise = {speed.noise:.4g}   # relative standard deviation of a run, from the repeats")
        elif not speed.deterministic:
            lines.append("# noise = 0.02   # of a run; measure it with repeats, or give --candidate several runs")
    return "\n".join(lines) + "\n"


def power_table(starter: Starter) -> str:
    """What the proposed rules can and cannot see."""
    head = ("rule", "value", "standard error", "margin", "smallest loss found with 80 %")
    rows = [
        (one.metric, f"{one.value:.5g}", f"{one.error:.3g}", f"{one.margin:g}", f"{one.detectable:.3g}")
        for one in starter.accuracy
    ] + [
        (
            one.figure,
            f"{one.value:.5g}",
            "values compared" if one.deterministic else "-" if one.noise is None else f"{one.noise:.2%} a run",
            f"{one.margin:.2%}",
            "unknown: repeat the run" if one.detectable is None else f"{one.detectable:.2%}",
        )
        for one in starter.speed
    ]
    lines = aligned([head, *rows])
    if not starter.paired and starter.accuracy:
        lines += [
            "",
            f"Errors assume that page scores of two versions correlate by {ASSUMED_CORRELATION:g}; "
            "give a second run of the same system to measure it.",
        ]
    return "\n".join(lines)
