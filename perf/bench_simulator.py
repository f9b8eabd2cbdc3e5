"""The simulator's speed on one core, and what the emulated server adds to an answer.

    python -m perf simulator

Claims: 1,651 pages at BS=512 in 10 s of one core or less, the same figures each time; the emulated server keeps its
clock, so that a client sees an answer when the engine says that it ends.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import statistics
import time
from pathlib import Path
from typing import Any

import httpx

from runners.emulator.deployments import deployment
from runners.emulator.server import EmulatorServer
from runners.emulator.simulator import LoadShape, SimulatedLoad, Simulation, simulate
from runners.emulator.workload import synthetic_pages

MINI = Path(__file__).parent.parent / "datasets" / "mini"
PAGES, IN_FLIGHT, LIMIT_S = 1651, 512, 10.0


def main() -> int:
    """Print both measurements; 1 when a claim does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speed", type=float, default=10.0, help="of the emulated server")
    args, _ = parser.parse_known_args()
    simulated = [measure_simulation(name) for name in ("hpd-ar", "hpd-fork", "hpd-pmtp", "hpd-parsing", "padoc")]
    return int(not all(simulated) or not measure_server(args.speed))


def measure_simulation(name: str) -> bool:
    """CPU seconds of 1,651 pages, twice, and whether both gave the same."""
    pages = synthetic_pages("hpd", PAGES, 0)
    seconds: list[float] = []
    ends: list[list[float | None]] = []
    for _ in range(2):
        started_s = time.process_time()
        run = simulate(deployment(name), pages, SimulatedLoad(IN_FLIGHT, LoadShape.BATCHES))
        seconds.append(time.process_time() - started_s)
        ends.append([page.ended_s for page in run.pages])
    same = ends[0] == ends[1]
    print(f"{name:<12} {min(seconds):6.2f} s CPU for {PAGES} pages at BS={IN_FLIGHT}, {facts(run)}, repeated: {same}")
    return same and min(seconds) <= LIMIT_S


def facts(run: Simulation) -> str:
    """How much was simulated."""
    steps = sum(page.plan.decoding_steps for page in run.pages)
    return f"{len(run.log)} iterations, {steps} stream steps, {run.window_s:.0f} simulated s"


def measure_server(speed: float) -> bool:
    """Lateness of answers against the engine's own end times, one at a time."""
    rows = [json.loads(line) for line in (MINI / "streams.jsonl").read_text(encoding="utf-8").split("\n")[1:] if line]
    bodies = [request(row["page_id"]) for row in rows]
    with EmulatorServer(MINI / "streams.jsonl", speed=speed) as server:
        late_s = asyncio.run(ask_all(server, bodies))
        lag_s = server.trace()["lag_s"]
    late_s.sort()
    p50_ms, worst_ms = statistics.median(late_s) * 1e3, late_s[-1] * 1e3
    print(
        f"server       {p50_ms:6.2f} ms late at the median, {worst_ms:.2f} at most, {lag_s * 1e3:.2f} behind its clock"
    )
    return p50_ms < 20


async def ask_all(server: EmulatorServer, bodies: list[dict[str, Any]]) -> list[float]:
    """For every answer: seconds from request to last byte, less the emulated latency at this speed."""
    late_s = []
    async with httpx.AsyncClient(timeout=120) as client:
        for body in bodies:
            started_s = time.perf_counter()
            reply = await client.post(f"{server.url}/chat/completions", json=body)
            seconds = time.perf_counter() - started_s
            figures = reply.json()["usage"]["evalkit_emulated"]
            late_s.append(seconds - (figures["ended_s"] - figures["arrival_s"]) / server.speed)
    return late_s


def request(page_id: str) -> dict[str, Any]:
    """A chat request for a page of mini."""
    image = base64.b64encode((MINI / "images" / page_id).read_bytes()).decode()
    parts = [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}},
        {"type": "text", "text": "document parsing with fork."},
    ]
    return {"model": "HPD-Parsing", "messages": [{"role": "user", "content": parts}], "max_tokens": 8000}


if __name__ == "__main__":
    raise SystemExit(main())
