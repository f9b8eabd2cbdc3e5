"""The load client beside `vllm bench serve` and guidellm: requests/s, CPU and added latency against a stub at once.

    python -m perf client [--requests 512] [--bs 512] [--image-bytes 1000000]

The stub answers every request at once, so that what is measured is the client. Both others are run where their
environments are named: --vllm (scripts/vllm_cpu/setup.sh makes one) and --guidellm. Every tool sends the same images
to the same stub, one after the other, with as many requests in flight.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from evalkit.types import InferSettings, Load, Page, PageJob, RawOutput, RequestFacts, RunFacts, ServeFacts, System
from runners.loopback_stub import MODEL, stub_server
from runners.openai_client import RUNNER

PROMPT = "document parsing."
FIRST_TOKEN_S = 0.02
DISTINCT_IMAGES = 64
SYSTEM = System(
    name="stub",
    title="Stub",
    runner="openai",
    serve=ServeFacts(model=MODEL),
    request=RequestFacts(prompt=PROMPT, max_tokens=16, sampling={"temperature": 0}),
)


@dataclass(frozen=True)
class Measured:
    """What one tool did. `cpu_ms` is the CPU time of all its processes for one request, preparation included."""

    tool: str
    requests_per_s: float
    cpu_ms: float
    ttft_p50_ms: float | None


def write_images(folder: Path, size_bytes: int) -> list[Path]:
    """Files that pass for PNG images and cannot be compressed."""
    paths = [folder / f"{number}.png" for number in range(DISTINCT_IMAGES)]
    for path in paths:
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + os.urandom(size_bytes - 8))
    return paths


def children_cpu_s() -> float:
    """CPU time of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def drive(images: list[Path], url: str, count: int, load: Load) -> tuple[list[RawOutput], RunFacts]:
    """Our client over `count` requests."""
    jobs = [PageJob(Page(str(n), str(n)), str(images[n % len(images)])) for n in range(count)]
    outputs: list[RawOutput] = []
    facts = RUNNER.run(jobs, InferSettings(SYSTEM, (url,), load, check_client=False), outputs.append)
    return outputs, facts


def ours(images: list[Path], count: int, in_flight: int) -> Measured:
    """Our client in a closed loop."""
    with stub_server() as url:
        before_s = resource.getrusage(resource.RUSAGE_SELF)
        outputs, facts = drive(images, url, count, Load("closed", in_flight))
        after_s = resource.getrusage(resource.RUSAGE_SELF)
    own_s = after_s.ru_utime + after_s.ru_stime - before_s.ru_utime - before_s.ru_stime
    sends_s = [output.send_s or 0.0 for output in outputs]
    ends_s = [output.last_s or 0.0 for output in outputs]
    ttft_s = statistics.median((output.first_s or 0.0) - (output.send_s or 0.0) for output in outputs)
    rate = len(outputs) / (max(ends_s) - min(sends_s))
    return Measured("evalkit", rate, (own_s + facts.client["cpu_s"]) / count * 1000, ttft_s * 1000)


def vllm_bench(environment: Path, images: list[Path], folder: Path, count: int, in_flight: int) -> Measured:
    """`vllm bench serve` with the same images."""
    data = folder / "vllm.jsonl"
    with open(data, "w") as file:
        for number in range(count):
            encoded = base64.b64encode(images[number % len(images)].read_bytes()).decode()
            file.write(json.dumps({"prompt": PROMPT, "image_files": [f"data:image/png;base64,{encoded}"]}) + "\n")
    with stub_server() as url:
        cpu_s = children_cpu_s()
        words = [
            *(str(environment / "bin/vllm"), "bench", "serve", "--backend", "openai-chat", "--base-url", url),
            *("--endpoint", "/v1/chat/completions", "--model", MODEL, "--skip-tokenizer-init", "--temperature", "0"),
            *("--dataset-name", "custom_image", "--dataset-path", str(data), "--custom-output-len", "16"),
            *("--num-prompts", str(count), "--max-concurrency", str(in_flight), "--disable-tqdm"),
            *("--save-result", "--save-detailed", "--result-dir", str(folder), "--result-filename", "vllm.json"),
        ]
        quiet = {**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
        subprocess.run(words, check=True, capture_output=True, env=quiet)
        cpu_s = children_cpu_s() - cpu_s
    data.unlink()
    result = json.loads((folder / "vllm.json").read_text())
    ttfts_s = [value for value in result.get("ttfts", ()) if value]
    ttft_ms = statistics.median(ttfts_s) * 1000 if ttfts_s else None
    return Measured("vllm bench serve", result["request_throughput"], cpu_s / count * 1000, ttft_ms)


def guidellm(environment: Path, images: list[Path], folder: Path, count: int, in_flight: int) -> Measured:
    """guidellm with the same images."""
    data = folder / "guidellm.jsonl"
    with open(data, "w") as file:
        for number in range(count):
            encoded = base64.b64encode(images[number % len(images)].read_bytes()).decode()
            url = f"data:image/png;base64,{encoded}"
            size = {"image_pixels": len(encoded), "image_bytes": len(encoded)}
            image = {"type": "image_base64", "image": url, **size}
            file.write(json.dumps({"prompt": PROMPT, "image": image, "output_tokens_count": 16}) + "\n")
    with stub_server() as url:
        cpu_s = children_cpu_s()
        words = [
            *(str(environment / "bin/guidellm"), "run", "--disable-console-interactive"),
            *("--backend", f"kind=openai_http,target={url},model={MODEL},request_format=/v1/chat/completions"),
            *("--profile", f"kind=concurrent,streams={in_flight}", "--data", f"kind=json_file,path={data}"),
            *("--constraint", f"kind=max_requests,count={count}", "--output", f"kind=json,path={folder}/guidellm.json"),
        ]
        subprocess.run(words, check=True, capture_output=True)
        cpu_s = children_cpu_s() - cpu_s
    report = json.loads((folder / "guidellm.json").read_text())
    metrics = report["benchmarks"][0]["metrics"]
    rate = metrics["requests_per_second"]["successful"]["mean"]
    ttft_ms = metrics["time_to_first_token_ms"]["successful"]["median"]
    return Measured("guidellm", rate, cpu_s / count * 1000, ttft_ms)


def added_latency_ms(images: list[Path], count: int, rate_per_s: float) -> float:
    """What our client adds to the time to first token, in the median, at constant arrivals."""
    with stub_server(FIRST_TOKEN_S) as url:
        outputs, _ = drive(images, url, count, Load("constant", rate_per_s=rate_per_s))
    times_s = [(output.first_s or 0.0) - (output.send_s or 0.0) for output in outputs]
    return (statistics.median(times_s) - FIRST_TOKEN_S) * 1000


def main() -> int:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=512)
    parser.add_argument("--bs", type=int, default=512)
    parser.add_argument("--image-bytes", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=2, help="the fastest of so many runs counts, for every tool")
    parser.add_argument("--vllm", type=Path, default=os.environ.get("EVALKIT_VLLM_CPU"))
    parser.add_argument("--guidellm", type=Path, default=os.environ.get("EVALKIT_GUIDELLM"))
    args, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="evalkit-perf-") as name:
        folder = Path(name)
        images = write_images(folder, args.image_bytes)
        runs = [ours(images, args.requests, args.bs) for _ in range(args.repeats)]
        rows = [max(runs, key=lambda run: run.requests_per_s)]
        for tool, environment in ((vllm_bench, args.vllm), (guidellm, args.guidellm)):
            if environment:
                runs = [tool(Path(environment), images, folder, args.requests, args.bs) for _ in range(args.repeats)]
                rows.append(max(runs, key=lambda run: run.requests_per_s))
        half = rows[0].requests_per_s / 2
        added_ms = added_latency_ms(images, args.requests, half)
    cores = len(os.sched_getaffinity(0))
    print(f"{args.requests} requests of {args.image_bytes / 1e6:g} MB images, {args.bs} in flight, {cores} cores")
    print(f"{'':18}{'requests/s':>12}{'CPU ms/request':>16}{'TTFT p50 ms':>13}{'ours / it':>11}")
    for row in rows:
        ttft = "-" if row.ttft_p50_ms is None else f"{row.ttft_p50_ms:.0f}"
        ratio = rows[0].requests_per_s / row.requests_per_s
        print(f"{row.tool:18}{row.requests_per_s:12.1f}{row.cpu_ms:16.2f}{ttft:>13}{ratio:11.2f}")
    for tool, given in (("vllm bench serve", args.vllm), ("guidellm", args.guidellm)):
        if not given:
            print(f"{tool}: not run, no environment was named")
    print(f"TTFT p50 added at half of that rate ({half:.0f} requests/s): {added_ms:.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
