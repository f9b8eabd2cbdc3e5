"""Fit the emulator's constants to published baseline rows, and write runners/emulator/{workload,calibration}.toml.

Only baselines are used: PaDoc's Table 11a for how pages are built, its Sequential SFT column and HPD-Parsing's
autoregressive row for the engine, HunyuanOCR-1.5's two autoregressive rows for its host. Takes some minutes.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from runners.emulator.cost import Constants
from runners.emulator.deployments import Deployment, deployment
from runners.emulator.simulator import LoadShape, SimulatedLoad, simulate
from runners.emulator.workload import PageShape, draw, page_shape, synthetic_pages

FOLDER = Path(__file__).parent.parent / "runners" / "emulator"
# PaDoc Table 11a: P25, median, P75, mean of 376 pages
TABLE_11A = {
    "sequential": (376.5, 725.0, 1270.5, 923.2),
    "path": (182.5, 297.5, 441.0, 325.3),
    "reduction": (0.477, 0.584, 0.682, 0.563),
}
FITTED_SHAPE = (
    "blocks_log_mean",
    "blocks_log_sd",
    "content_log_mean",
    "content_log_sd",
    "page_log_sd",
    "layout_tokens",
    "table_share",
    "table_factor",
)
# PaDoc Tables 3, 11b and 13, Sequential SFT: valid pages a second, P95 and P50 latency, peak output tokens a second
SEQUENTIAL_SFT = {
    16: (0.751, 42.610, 13.546, 1539.5),
    32: (0.814, 83.176, 27.483, 1986.6),
    64: (0.879, 141.042, 49.160, 2253.1),
    128: (0.904, 263.247, 96.596, 2899.3),
    256: (1.015, 319.337, 198.999, 3542.4),
}
HPD_AR_PPS = 1.02
HPD_AR_WEIGHT = 5.0  # one row against five concurrencies
HUNYUAN_TOKENS = 1415.6  # 3.032 s x 466.9 tokens/s
HUNYUAN_VLLM_S = 3.032
HUNYUAN_TRANSFORMERS_S = 34.85
SEEDS = (0, 1)


def main(arguments: Sequence[str]) -> int:
    """Fit what is asked for and write the TOML files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["shape", "engine", "hunyuan"], help="shape, engine, hunyuan")
    parser.add_argument("--iterations", type=int, default=120, help="of the engine fit")
    options = parser.parse_args(arguments)
    if "shape" in options.what:
        write_workload(shape=fit_shape())
    constants = read_constants()
    if "engine" in options.what:
        fitted, prompt = fit_engine(constants["vllm-a800"], options.iterations)
        constants["vllm-a800"] = fitted
        write_workload(padoc_prompt=prompt)
    if "hunyuan" in options.what:
        constants["vllm-a800"], constants["vllm-hunyuan"] = fit_hunyuan(constants["vllm-a800"])
    write_constants(constants)
    return 0


def fit_shape() -> PageShape:
    """The page shape whose quantiles are closest to Table 11a."""
    start = page_shape()

    def shape(values: np.ndarray) -> PageShape:
        return replace(start, **dict(zip(FITTED_SHAPE, np.abs(values).tolist(), strict=True)))

    def loss(values: np.ndarray) -> float:
        drawn = draw(shape(values), 6000, seed=0)
        layout = abs(values[FITTED_SHAPE.index("layout_tokens")])
        sequential, path = drawn.sequential(layout), drawn.critical_path(layout)
        found = {"sequential": sequential, "path": path, "reduction": 1 - path / sequential}
        return sum(log_error(quartiles(found[name]), wanted) for name, wanted in TABLE_11A.items())

    first = np.array([getattr(start, name) for name in FITTED_SHAPE])
    best = minimize(loss, first, method="Nelder-Mead", options={"maxiter": 1500, "xatol": 1e-3, "fatol": 1e-5})
    print(f"shape: loss {best.fun:.4f}", file=sys.stderr)
    return shape(best.x)


def quartiles(values: np.ndarray) -> tuple[float, ...]:
    """P25, median, P75 and mean."""
    return (*np.quantile(values, [0.25, 0.5, 0.75]).tolist(), float(values.mean()))


def log_error(found: Sequence[float], wanted: Sequence[float]) -> float:
    """Sum of squared log ratios."""
    return float(np.sum(np.log(np.array(found) / np.array(wanted)) ** 2))


@dataclass(frozen=True)
class EnginePoint:
    """One point of the engine fit, its logarithms searched."""

    constants: Constants
    prompt: float


def fit_engine(start: Constants, iterations: int) -> tuple[Constants, float]:
    """Constants and PaDoc's mean prompt length that fit both autoregressive baselines."""
    names = ("bandwidth_efficiency", "compute_efficiency", "host_step_s", "host_stream_s")
    hpd_pages = synthetic_pages("hpd", 1651, 0)

    def point(values: np.ndarray) -> EnginePoint:
        fitted = dict(zip(names, np.exp(values[:4]).tolist(), strict=True))
        return EnginePoint(replace(start, **fitted), float(np.exp(values[4])))

    def loss(values: np.ndarray) -> float:
        at = point(values)
        if at.constants.bandwidth_efficiency > 0.95 or at.constants.compute_efficiency > 0.95 or at.prompt > 6000:
            return 100.0
        total = 0.0
        for concurrency, wanted in SEQUENTIAL_SFT.items():
            total += log_error(sequential_figures(at, concurrency), wanted) / len(wanted)
        run = simulate(using("hpd-ar", at.constants), hpd_pages, SimulatedLoad(512, LoadShape.BATCHES))
        total += HPD_AR_WEIGHT * log_error([run.pps_all], [HPD_AR_PPS])
        print(f"{total:.4f} {np.exp(values).round(6).tolist()} AR {run.pps_all:.3f}", file=sys.stderr)
        return total

    first = np.log([getattr(start, name) for name in names] + [padoc_prompt()])
    best = minimize(loss, first, method="Nelder-Mead", options={"maxfev": iterations, "xatol": 0.01, "fatol": 1e-4})
    found = point(best.x)
    return found.constants, found.prompt


def sequential_figures(at: EnginePoint, concurrency: int) -> tuple[float, float, float, float]:
    """PPS, P95, P50 and peak tokens a second of the sequential baseline, means over seeds."""
    rows = []
    for seed in SEEDS:
        pages = synthetic_pages("padoc-sequential", 384, seed, input_tokens=at.prompt)
        run = simulate(using("padoc-sequential", at.constants), pages, SimulatedLoad(concurrency), seed)
        rows.append((run.pps, run.latency_s(0.95), run.latency_s(0.5), run.tps_peak()))
    pps, p95, p50, peak = np.mean(rows, axis=0).tolist()
    return pps, p95, p50, peak


def fit_hunyuan(shared: Constants) -> tuple[Constants, Constants]:
    """Launch time of an eager layer from the Transformers row; the fixed host time from the vLLM row at BS=1."""
    pages = synthetic_pages("hunyuan", 48, 0)
    base = deployment("hunyuan-ar")
    decoder = base.cost.model.decoder

    def latency_s(constants: Constants) -> float:
        run = simulate(replace(base, cost=replace(base.cost, constants=constants)), pages, SimulatedLoad(1))
        return run.window_s / len(pages)

    no_host_s = latency_s(replace(shared, host_step_s=0.0))
    tokens = float(np.mean([page.sequential_tokens for page in pages]))
    host_step_s = max((HUNYUAN_VLLM_S - no_host_s) / tokens, 0.0)
    eager_layer_s = (HUNYUAN_TRANSFORMERS_S - no_host_s) / tokens / decoder.layers
    print(f"hunyuan: {tokens:.0f} tokens, {no_host_s:.3f} s without host", file=sys.stderr)
    return (
        replace(shared, eager_layer_s=eager_layer_s),
        replace(shared, eager_layer_s=eager_layer_s, host_step_s=host_step_s),
    )


def using(name: str, constants: Constants) -> Deployment:
    """A deployment with other constants."""
    base = deployment(name)
    return replace(base, cost=replace(base.cost, constants=constants))


def padoc_prompt() -> float:
    """The prompt length now in the workload file."""
    rows = tomllib.loads((FOLDER / "workload.toml").read_text(encoding="utf-8"))
    return float(rows["workloads"]["padoc"]["input_tokens"])


def read_constants() -> dict[str, Constants]:
    """All constants now in the calibration file."""
    rows = tomllib.loads((FOLDER / "calibration.toml").read_text(encoding="utf-8"))
    return {name: Constants(**row) for name, row in rows.items()}


def write_constants(constants: Mapping[str, Constants]) -> None:
    """Replace the calibration file."""
    lines = ["# Written by scripts/fit_emulator.py from baseline rows alone; meanings in cost.py."]
    for name, row in constants.items():
        lines += ["", f"[{name}]", *(f"{key} = {value:.4g}" for key, value in asdict(row).items())]
    (FOLDER / "calibration.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_workload(shape: PageShape | None = None, padoc_prompt: float | None = None) -> None:
    """Put fitted values in the workload file, its text otherwise as it was."""
    path = FOLDER / "workload.toml"
    values: dict[str, Any] = asdict(shape) if shape else {}

    def changed(section: str, line: str) -> str:
        key = line.partition(" = ")[0]
        if section == "shape" and key in values and " = " in line:
            return f"{key} = {values[key]:.4g}"
        if section.startswith("workloads.padoc") and key == "input_tokens" and padoc_prompt is not None:
            return f"{key} = {padoc_prompt:.0f}"
        return line

    section, lines = "", []
    for line in path.read_text(encoding="utf-8").splitlines():
        section = line.strip("[]") if line.startswith("[") else section
        lines.append(changed(section, line))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
