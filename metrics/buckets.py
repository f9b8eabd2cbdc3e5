"""The same figures by output length and by content, and page by page against the baseline."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from evalkit.types import FinishState, Observation, Provenance, RawOutput
from metrics.decoding_steps import page_steps, path_steps_by_page
from metrics.drive import finished, ok, provenance
from metrics.latency import latency_s
from metrics.phases import PhaseFigures, phase_figures
from metrics.quantiles import mean, mean_interval, quantile, smallest_count

EDGES: Mapping[str, tuple[int, ...]] = {
    "hpd": (0, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000),
    "hunyuan": (0, 256, 512, 1024, 2048),
}
"""Lower edges in output tokens: HPD's thousands and HunyuanOCR's powers; the last bucket is open above."""


@dataclass(frozen=True, slots=True)
class PairedSpeedup:
    """Latency of the baseline / own latency, page by page: geometric mean with its 95 % interval, and quartiles."""

    pages: int
    geometric_mean: float
    interval: tuple[float, float] | None
    median: float
    quartiles: tuple[float, float]


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """Figures of one group of pages.

    `request_throughput` (pages/s) is in_flight x pages / sum of latencies: the rate at which such pages alone would
    come out of the same number of slots. `steps` and `path_steps` (those that follow one another) are means over
    finished pages; `fewer_steps` is the baseline's decoding steps / own path steps, over the pages that both finished.
    `phases` sets the time before the first token against that of decoding.
    """

    name: str
    pages: int
    ok: int
    truncated: int
    output_tokens: float | None
    steps: float | None
    latency_mean_s: float | None
    latency_p50_s: float | None
    request_throughput: float | None
    speedup: PairedSpeedup | None
    provenance: Provenance
    path_steps: float | None = None
    fewer_steps: float | None = None
    phases: PhaseFigures | None = None


def by_length(observation: Observation, edges: Sequence[int], reference: bool) -> list[GroupFigures]:
    """Buckets by output tokens: of the reference system's answer to the page, or of the page's own."""
    source = observation.reference if reference else observation.outputs
    lengths = {output.page_id: output.tokens.output for output in finished(source) if output.tokens.output is not None}
    names = [*(f"{low}-{high}" for low, high in pairwise(edges)), f"{edges[-1]}+"]

    def bucket(output: RawOutput) -> str | None:
        length = lengths.get(output.page_id)
        if length is None:
            return None
        return names[max(0, sum(1 for edge in edges if length >= edge) - 1)]

    return _grouped(observation, names, bucket)


def by_group(observation: Observation) -> dict[str, list[GroupFigures]]:
    """Groups of every attribute that the pages have (content, language, layout, …)."""
    attributes = sorted({name for groups in observation.groups.values() for name in groups})
    tables: dict[str, list[GroupFigures]] = {}
    for attribute in attributes:
        values = {page: groups[attribute] for page, groups in observation.groups.items() if attribute in groups}
        names = sorted(set(values.values()))
        tables[attribute] = _grouped(observation, names, partial(_value_of, values))
    return tables


def _value_of(values: Mapping[str, str], output: RawOutput) -> str | None:
    return values.get(output.page_id)


def _grouped(
    observation: Observation, names: Sequence[str], group_of: Callable[[RawOutput], str | None]
) -> list[GroupFigures]:
    members: dict[str, list[RawOutput]] = {name: [] for name in names}
    for output in observation.outputs:
        group = group_of(output)
        if group is not None:
            members[group].append(output)
    paths, source = path_steps_by_page(observation)
    return [_figures(observation, name, outputs, paths, source) for name, outputs in members.items()]


def _figures(
    observation: Observation,
    name: str,
    outputs: Sequence[RawOutput],
    paths: Mapping[str, float],
    source_of_paths: Provenance,
) -> GroupFigures:
    good = ok(outputs)
    latencies_s = sorted(value for output in good if (value := latency_s(output)) is not None)
    steps = [page_steps(output, observation.system.speculative) for output in finished(outputs)]
    counts = [steps_of for steps_of, _ in steps if steps_of is not None]
    tokens = [count for output in finished(outputs) if (count := output.tokens.output) is not None]
    total_s = math.fsum(latencies_s)
    slots = min(observation.load.in_flight, len(observation.outputs)) if observation.load.shape == "closed" else None
    estimated = Provenance.ESTIMATED in {source_of_paths, *(source for _, source in steps)}
    own = [paths[output.page_id] for output in finished(outputs) if output.page_id in paths]
    return GroupFigures(
        name=name,
        pages=len(outputs),
        ok=len(good),
        truncated=sum(output.state is FinishState.TRUNCATED for output in outputs),
        output_tokens=mean(tokens),
        steps=mean(counts),
        latency_mean_s=mean(latencies_s),
        latency_p50_s=quantile(latencies_s, 0.5) if len(latencies_s) >= smallest_count(0.5) else None,
        request_throughput=slots * len(latencies_s) / total_s if slots and total_s else None,
        speedup=paired_speedup(good, observation.reference),
        provenance=provenance(observation, Provenance.ESTIMATED if estimated else Provenance.MEASURED),
        path_steps=mean(own),
        fewer_steps=fewer_steps(observation.reference, {output.page_id for output in outputs}, paths),
        phases=phase_figures(observation, outputs),
    )


def fewer_steps(reference: Sequence[RawOutput], pages: Collection[str], paths: Mapping[str, float]) -> float | None:
    """The baseline's decoding steps over own steps that follow one another; None without a page that both finished."""
    base = {
        output.page_id: steps
        for output in finished(reference)
        if output.page_id in pages and output.page_id in paths and (steps := page_steps(output, False)[0]) is not None
    }
    total = math.fsum(paths[page] for page in base)
    return sum(base.values()) / total if total else None


def paired_speedup(outputs: Sequence[RawOutput], reference: Sequence[RawOutput]) -> PairedSpeedup | None:
    """Speed-up over a baseline on the pages that ended well in both; None without one."""
    base = {output.page_id: value for output in ok(reference) if (value := latency_s(output)) is not None and value > 0}
    logs = sorted(
        math.log(base[output.page_id] / own)
        for output in ok(outputs)
        if output.page_id in base and (own := latency_s(output)) is not None and own > 0
    )
    centre = mean(logs)
    if centre is None:
        return None
    interval = mean_interval(logs)
    return PairedSpeedup(
        pages=len(logs),
        geometric_mean=math.exp(centre),
        interval=(math.exp(interval[0]), math.exp(interval[1])) if interval else None,
        median=math.exp(quantile(logs, 0.5)),
        quartiles=(math.exp(quantile(logs, 0.25)), math.exp(quantile(logs, 0.75))),
    )
