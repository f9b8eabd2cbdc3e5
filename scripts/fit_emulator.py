"""Fit the emulator's constants to published baseline rows, and write runners/emulator/{workload,calibration}.toml.

Only baselines are used: PaDoc's Table 11a for how pages are built; HPD-Parsing's autoregressive row and its profile of
decoder against encoder time, and the throughputs of PaDoc's Sequential SFT column, for the engine; HunyuanOCR-1.5's two
autoregressive rows for its host. Baselines alone do not tell bandwidth from compute, so weak priors hold the constants
near what such kernels usually reach. Takes some minutes.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from runners.emulator.cost import Constants
from runners.emulator.deployments import Deployment, deployment
from runners.emulator.pages import PageTokens
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
# PaDoc Tables 3 and 13, Sequential SFT: valid pages a second, mean and peak output tokens a second. Its latencies are
# not used: they hold work of the client and of the server's front end, which the model leaves out.
SEQUENTIAL_SFT = {
    16: (0.751, 997.1, 1539.5),
    32: (0.814, 1066.3, 1986.6),
    64: (0.879, 1222.2, 2253.1),
    128: (0.904, 1171.9, 2899.3),
    256: (1.015, 1141.3, 3542.4),
}
HPD_AR_PPS = 1.02
# HPD-Parsing, Figure 2: at BS=16 decoding the longest outputs takes almost 500 times the vision encoder's time
HPD_DECODE_TO_ENCODE = 500.0
# expected value and standard deviation of the logarithm: shares of peak that decode attention and small dense models
# usually reach on an A100, and host times of an iteration
PRIORS = {
    "bandwidth_efficiency": (0.65, 0.2),
    "hpd_compute": (0.35, 0.35),
    "padoc_compute": (0.35, 0.35),
    "host_step_s": (2e-3, 0.7),
    "host_stream_s": (1e-5, 1.0),
}
# how well a row can be matched: standard deviation of the logarithm
SEQUENTIAL_NOISE, HPD_NOISE, RATIO_NOISE = 0.1, 0.03, 0.2
HUNYUAN_TOKENS = 1415.6  # 3.032 s x 466.9 tokens/s
HUNYUAN_VLLM_S = 3.032
HUNYUAN_TRANSFORMERS_S = 34.85
SEEDS = (0, 1)


def main(arguments: Sequence[str]) -> int:
    """Fit what is asked for and write the TOML files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["shape", "engine", "hunyuan"], help="shape, engine, hunyuan")
    parser.add_argument("--iterations", type=int, default=80, help="of the engine fit")
    options = parser.parse_args(arguments)
    if "shape" in options.what:
        write_shape(fit_shape())
    constants = read_constants()
    if "engine" in options.what:
        constants |= fit_engine(constants, options.iterations)
    if "hunyuan" in options.what:
        constants["hunyuan"] = fit_hunyuan(constants["padoc-a800"])
        constants = {
            name: replace(row, eager_layer_s=constants["hunyuan"].eager_layer_s) for name, row in constants.items()
        }
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


Fitted = dict[str, Constants]


def fit_engine(start: Fitted, iterations: int) -> Fitted:
    """Constants of both A800 deployments; they share bandwidth and host, and differ in compute efficiency."""
    pages = synthetic_pages("hpd", 1651, 0)
    longest = [page for page in synthetic_pages("hpd", 6000, 1) if 7000 <= page.sequential_tokens < 8000][:16]
    first = [start["hpd-a800"].bandwidth_efficiency, start["hpd-a800"].compute_efficiency]
    first += [start["padoc-a800"].compute_efficiency, start["hpd-a800"].host_step_s, start["hpd-a800"].host_stream_s]

    def point(values: np.ndarray) -> Fitted:
        bandwidth, hpd_compute, padoc_compute, step_s, stream_s = np.exp(values).tolist()
        shared = Constants(bandwidth, hpd_compute, step_s, stream_s, start["hpd-a800"].eager_layer_s)
        return {"hpd-a800": shared, "padoc-a800": replace(shared, compute_efficiency=padoc_compute)}

    def loss(values: np.ndarray) -> float:
        at = point(values)
        expected = np.array(list(PRIORS.values()))
        total = float(np.sum(((values - np.log(expected[:, 0])) / expected[:, 1]) ** 2))
        for concurrency, wanted in SEQUENTIAL_SFT.items():
            found = sequential_figures(at["padoc-a800"], concurrency)
            total += log_error(found, wanted) / len(wanted) / SEQUENTIAL_NOISE**2
        run = simulate(using("hpd-ar", at["hpd-a800"]), pages, SimulatedLoad(512, LoadShape.BATCHES))
        ratio = decode_to_encode(at["hpd-a800"], longest)
        total += log_error([run.pps_all], [HPD_AR_PPS]) / HPD_NOISE**2
        total += log_error([ratio], [HPD_DECODE_TO_ENCODE]) / RATIO_NOISE**2
        print(f"{total:.2f} {np.exp(values).round(6).tolist()} AR {run.pps_all:.3f} {ratio:.0f}x", file=sys.stderr)
        return total

    simplex = np.log(first) + np.vstack([np.zeros(5), 0.2 * np.eye(5)])
    options = {"maxfev": iterations, "xatol": 0.01, "fatol": 0.02, "initial_simplex": simplex}
    best = minimize(loss, simplex[0], method="Nelder-Mead", options=options)
    return point(best.x)


def decode_to_encode(constants: Constants, pages: Sequence[PageTokens]) -> float:
    """Mean time from first to last token over mean encoder time, 16 pages in flight."""
    how = using("hpd-ar", constants)
    run = simulate(how, pages, SimulatedLoad(16))
    decode_s = np.mean([(page.ended_s or 0.0) - (page.first_token_s or 0.0) for page in run.pages])
    return float(decode_s / np.mean([how.cost.encode_s(page.image_patches) for page in pages]))


def sequential_figures(constants: Constants, concurrency: int) -> tuple[float, float, float]:
    """PPS, mean and peak tokens a second of the sequential baseline, means over seeds."""
    rows = []
    for seed in SEEDS:
        pages = synthetic_pages("padoc-sequential", 384, seed)
        run = simulate(using("padoc-sequential", constants), pages, SimulatedLoad(concurrency), seed)
        rows.append((run.pps, run.tps, run.tps_peak()))
    pps, tps, peak = np.mean(rows, axis=0).tolist()
    return pps, tps, peak


def fit_hunyuan(shared: Constants) -> Constants:
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
    return replace(shared, eager_layer_s=eager_layer_s, host_step_s=host_step_s)


def using(name: str, constants: Constants) -> Deployment:
    """A deployment with other constants."""
    base = deployment(name)
    return replace(base, cost=replace(base.cost, constants=constants))


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


def write_shape(shape: PageShape) -> None:
    """Put a fitted shape in the workload file, its text otherwise as it was."""
    path = FOLDER / "workload.toml"
    values = asdict(shape)
    section, lines = "", []
    for line in path.read_text(encoding="utf-8").splitlines():
        section = line.strip("[]") if line.startswith("[") else section
        key, found, _ = line.partition(" = ")
        lines.append(f"{key} = {values[key]:.4g}" if section == "shape" and found and key in FITTED_SHAPE else line)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
