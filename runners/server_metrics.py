"""A vLLM server's /metrics: the counters that figures need, read at both ends of a drive and sampled in between.

Names are those of vLLM 0.17 to 0.32; `_total` of counters is dropped, and series are summed over engines.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping, Sequence

from evalkit.types import Sample
from runners.http_exchange import Endpoint
from runners.server_facts import ask

COUNTERS = (
    "generation_tokens",
    "prompt_tokens",
    "prefix_cache_queries",
    "prefix_cache_hits",
    "mm_cache_queries",
    "mm_cache_hits",
    "num_preemptions",
    "spec_decode_num_drafts",
    "spec_decode_num_draft_tokens",
    "spec_decode_num_accepted_tokens",
    "iteration_tokens_count",
    "iteration_tokens_sum",
    "request_success",
    "request_queue_time_seconds_sum",
    "request_prefill_time_seconds_sum",
    "request_decode_time_seconds_sum",
    "request_inference_time_seconds_sum",
    "request_decode_time_seconds_count",
)
GAUGES = ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc")
POSITION = "spec_decode_num_accepted_tokens_per_pos"
_LINE = re.compile(r"^(?:vllm:)([a-z_]+?)(?:_total)?(_count|_sum)?(?:\{([^}]*)\})?\s+([^\s]+)")
_LABEL = re.compile(r'position="(\d+)"')
_FINISHED = re.compile(r'finished_reason="(\w+)"')


def parse_metrics(text: str) -> dict[str, float]:
    """The wanted series of a Prometheus text: {name: value}, with `.N` for positions and `.reason` for finishes.

    Lines of other series, or that are not readable, are passed over; no wanted line at all gives {}.
    """
    values: dict[str, float] = {}
    for line in text.splitlines():
        if not line.startswith("vllm:"):
            continue
        found = _LINE.match(line)
        if found is None:
            continue
        base, suffix, labels, number = found.groups()
        name = base + (suffix or "")
        value = _number(number)
        if value is None:
            continue
        for key in _keys(name, labels or ""):
            values[key] = values.get(key, 0.0) + value
    return values


def _keys(name: str, labels: str) -> list[str]:
    if name == POSITION:
        position = _LABEL.search(labels)
        return [f"{name}.{position.group(1)}"] if position else []
    if name == "request_success":
        reason = _FINISHED.search(labels)
        return [name, f"{name}.{reason.group(1)}"] if reason else [name]
    return [name] if name in COUNTERS or name in GAUGES else []


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value == value and abs(value) != float("inf") else None


class MetricsReader:
    """Reads /metrics of all endpoints of a run, summed; a server without the page gives None."""

    def __init__(self, endpoints: Sequence[Endpoint], headers: Mapping[str, str]) -> None:
        self._endpoints = endpoints
        self._headers = headers

    def read(self) -> dict[str, float] | None:
        """One reading, summed over the endpoints (the KV cache use: their mean)."""
        total: dict[str, float] = {}
        for endpoint in self._endpoints:
            reply = ask(f"{endpoint.root}/metrics", headers=self._headers, timeout_s=5.0)
            values = parse_metrics(reply.body.decode("utf-8", "replace")) if reply.status == 200 else {}
            if not values:
                return None
            for name, value in values.items():
                total[name] = total.get(name, 0.0) + value
        if "kv_cache_usage_perc" in total:
            total["kv_cache_usage_perc"] /= len(self._endpoints)
        return total

    def outstanding(self) -> float | None:
        """Requests running or waiting on the servers; None when they do not say."""
        values = self.read()
        if values is None or "num_requests_running" not in values:
            return None
        return values["num_requests_running"] + values.get("num_requests_waiting", 0.0)


class MetricsSampler:
    """Samples /metrics in a thread of its own from `start` to `stop`."""

    def __init__(self, reader: MetricsReader, every_s: float) -> None:
        self._reader = reader
        self._every_s = every_s
        self._samples: list[Sample] = []
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._start_s = 0.0

    def start(self, start_s: float, first: Mapping[str, float] | None) -> None:
        """Begin; `first` is the reading before the first request, put at time 0. Without it nothing is sampled."""
        self._start_s = start_s
        if first is None:
            return
        self._samples.append(Sample(0.0, "server", first))
        self._thread = threading.Thread(target=self._sample, name="metrics-sampler", daemon=True)
        self._thread.start()

    def _sample(self) -> None:
        tick = 1
        while not self._stopped.wait(max(0.0, self._start_s + tick * self._every_s - time.monotonic())):
            self._read()
            tick = max(tick + 1, int((time.monotonic() - self._start_s) / self._every_s) + 1)

    def _read(self) -> None:
        asked_s = time.monotonic()
        values = self._reader.read()
        if values is not None:
            middle_s = (asked_s + time.monotonic()) / 2
            self._samples.append(Sample(round(middle_s - self._start_s, 4), "server", values))

    def stop(self) -> tuple[Sample, ...]:
        """End with one last reading; all samples."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._read()
        return tuple(self._samples)
