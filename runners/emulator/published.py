"""The simulator beside what was published: every figure that it was fitted to or predicts, with the relative error."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from runners.emulator.deployments import deployment
from runners.emulator.pages import Content, PageTokens
from runners.emulator.simulator import LoadShape, SimulatedLoad, Simulation, simulate
from runners.emulator.workload import draw, page_shape, synthetic_pages

CONCURRENCIES = (16, 32, 64, 128, 256)
TWO_STAGE_CONCURRENCIES = (16, 64)
TOLERANCE = 0.15
SEEDS = (0, 1, 2)
HPD_PAGES, PADOC_PAGES = 1651, 384
_QUANTILES = {"P25": 0.25, "P50": 0.5, "P75": 0.75}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One published figure and the simulated one. `use` is fitted or predicted."""

    name: str
    published: float
    predicted: float
    unit: str
    use: str
    source: str

    @property
    def error(self) -> float:
        """Relative error of the simulated figure."""
        return self.predicted / self.published - 1


def compare(progress: Callable[[str], None] = lambda part: None) -> list[Comparison]:
    """All comparisons, in the order of published.toml."""
    found: dict[str, float] = {}
    for name, part in PARTS.items():
        progress(name)
        found.update(part())
    rows = tomllib.loads(files(__package__).joinpath("published.toml").read_text(encoding="utf-8"))["row"]
    return [
        Comparison(row["name"], row["value"], found[row["name"]], row["unit"], row["use"], row["source"])
        for row in rows
    ]


def broken_orders(rows: Sequence[Comparison]) -> list[str]:
    """Pairs of figures that the simulator puts in another order than the publication, as texts; [] when all agree."""
    by_name = {row.name: row for row in rows}
    pairs = [("hpd_ar_pps", "hpd_pps"), ("hunyuan_dflash_latency", "hunyuan_ar_latency")]
    pairs += [(f"padoc_sequential_pps_C{c}", f"padoc_pps_C{c}") for c in CONCURRENCIES]
    pairs += [(f"padoc_pps_C{c}", f"two_stage_pps_C{c}") for c in TWO_STAGE_CONCURRENCIES]
    pairs += [(f"padoc_p95_C{c}", f"padoc_sequential_p95_C{c}") for c in CONCURRENCIES]
    pairs += [
        ("hunyuan_dflash_gain_short", "hunyuan_dflash_gain_long"),
        ("hunyuan_dflash_gain_C32", "hunyuan_dflash_gain"),
    ]
    pairs += [("hunyuan_dflash_gain_text", "hunyuan_dflash_gain_table")]
    return [f"{lower} >= {higher}" for lower, higher in pairs if by_name[lower].predicted >= by_name[higher].predicted]


def _hpd() -> dict[str, float]:
    pages = synthetic_pages("hpd", HPD_PAGES, 0)
    load = SimulatedLoad(512, LoadShape.BATCHES)
    baseline, hpd = (simulate(deployment(name), pages, load) for name in ("hpd-ar", "hpd-parsing"))
    return {
        "hpd_ar_pps": baseline.pps_all,
        "hpd_ar_tps": baseline.tps,
        "hpd_pps": hpd.pps_all,
        "hpd_tps": hpd.tps,
        "hpd_pps_gain": hpd.pps_all / baseline.pps_all,
        "hpd_tps_gain": hpd.tps / baseline.tps,
    }


def _hpd_longest_bucket() -> dict[str, float]:
    """Pages of 7 to 8 thousand baseline tokens: throughput with all of them in flight, latency one at a time."""
    pages = [page for page in synthetic_pages("hpd", 40_000, 1) if 7000 <= page.sequential_tokens < 8000][:256]
    names = ("hpd-ar", "hpd-parsing")
    crowd_ar, crowd = (simulate(deployment(name), pages, SimulatedLoad(len(pages))) for name in names)
    alone_ar, alone = (simulate(deployment(name), pages[:12], SimulatedLoad(1)) for name in names)
    return {
        "hpd_longest_bucket_steps_gain": crowd_ar.mean_steps() / crowd.mean_steps(),
        "hpd_longest_bucket_throughput_gain": crowd.pps_all / crowd_ar.pps_all,
        "hpd_longest_bucket_latency_gain": alone_ar.window_s / alone.window_s,
    }


def _padoc_paths() -> dict[str, float]:
    found: dict[str, float] = {}
    shape = page_shape()
    drawn = draw(shape, 20_000, seed=3)
    sequential, path = drawn.sequential(shape.layout_tokens), drawn.critical_path(shape.layout_tokens)
    series = {
        "padoc_sequential_steps": sequential,
        "padoc_path_steps": path,
        "padoc_step_reduction": 1 - path / sequential,
    }
    for name, values in series.items():
        found |= {f"{name}_{label}": float(np.quantile(values, share)) for label, share in _QUANTILES.items()}
        found[f"{name}_mean"] = float(values.mean())
    return found


def _padoc() -> dict[str, float]:
    found: dict[str, float] = {}
    for concurrency in CONCURRENCIES:
        runs = [_padoc_pair(concurrency, seed) for seed in SEEDS]
        means = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
        means["padoc_pps_gain"] = means["padoc_pps"] / means["padoc_sequential_pps"]
        found |= {f"{name}_C{concurrency}": value for name, value in means.items()}
    return found


def _padoc_pair(concurrency: int, seed: int) -> dict[str, float]:
    found: dict[str, float] = {}
    latencies = []
    for name in ("padoc-sequential", "padoc"):
        run = simulate(deployment(name), synthetic_pages(name, PADOC_PAGES, seed), SimulatedLoad(concurrency), seed)
        prefix = name.replace("-", "_")
        found |= {
            f"{prefix}_pps": run.pps,
            f"{prefix}_tps": run.tps,
            f"{prefix}_p50": run.latency_s(0.5),
            f"{prefix}_p95": run.latency_s(0.95),
            f"{prefix}_peak": run.tps_peak(),
        }
        latencies.append(np.array([(page.ended_s or 0.0) - page.arrival_s for page in run.pages]))
    found["padoc_paired_speedup_P50"] = float(np.median(latencies[0] / latencies[1]))
    return found


def _two_stage() -> dict[str, float]:
    found = {}
    for concurrency in TWO_STAGE_CONCURRENCIES:
        pages = [synthetic_pages("two-stage", PADOC_PAGES, seed) for seed in SEEDS]
        runs = [simulate(deployment("two-stage"), drawn, SimulatedLoad(concurrency)) for drawn in pages]
        found[f"two_stage_pps_C{concurrency}"] = float(np.mean([run.pps for run in runs]))
    return found


def _hunyuan() -> dict[str, float]:
    pages = synthetic_pages("hunyuan", 96, 0)
    many = synthetic_pages("hunyuan", 2000, 1)
    found: dict[str, float] = {}
    baseline, drafted = _hunyuan_pair(pages, 1)
    found["hunyuan_ar_latency"] = baseline.window_s / len(pages)
    found["hunyuan_dflash_latency"] = drafted.window_s / len(pages)
    groups = {
        "": pages,
        "_short": [page for page in many if page.sequential_tokens <= 256][:24],
        "_long": [page for page in many if page.sequential_tokens > 2048][:24],
        "_table": [page for page in many if page.main_content is Content.TABLE][:24],
        "_text": [page for page in many if page.main_content is Content.TEXT][:48],
    }
    for name, group in groups.items():
        slow, fast = _hunyuan_pair(group, 1)
        found[f"hunyuan_dflash_gain{name}"] = slow.window_s / fast.window_s
    slow, fast = _hunyuan_pair(many[:384], 32)
    found["hunyuan_dflash_gain_C32"] = slow.window_s / fast.window_s
    return found


def _hunyuan_pair(pages: Sequence[PageTokens], in_flight: int) -> tuple[Simulation, Simulation]:
    load = SimulatedLoad(in_flight)
    return simulate(deployment("hunyuan-ar"), pages, load), simulate(deployment("hunyuan-dflash"), pages, load)


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "HPD-Parsing": _hpd,
    "HPD-Parsing, longest bucket": _hpd_longest_bucket,
    "PaDoc, paths": _padoc_paths,
    "PaDoc": _padoc,
    "HunyuanOCR-1.5": _hunyuan,
    "two stages": _two_stage,
}
