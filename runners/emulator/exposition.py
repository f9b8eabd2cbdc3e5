"""The emulated server's /metrics: the series of a real vLLM release, fed by the engine's own counts."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    Summary,
    generate_latest,
)

from runners.emulator.streams import Page

RELEASES = ("0.17.1", "0.32.0")
_VLLM = "vllm:"
_Series = Counter | Gauge | Histogram | Summary


class Exposition:
    """Series of one vLLM release. Names come without the `vllm:` prefix; engine and model are filled in."""

    def __init__(self, release: str, model: str, window: int, cache_config: Mapping[str, str]) -> None:
        catalogue = tomllib.loads(files(__package__).joinpath("metric_names.toml").read_text(encoding="utf-8"))
        self._registry = CollectorRegistry()
        self._series: dict[str, _Series] = {}
        self._fixed = {"engine": "0", "model_name": model}
        self._totals: dict[tuple[str, str], float] = {}
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        for row in catalogue["series"]:
            if row.get("only", release) == release and (window or not row.get("speculative")):
                self._add(row, catalogue["buckets"], window)
        self.gauge("cache_config_info", 1.0, **cache_config)
        self.gauge("engine_sleep_state", 1.0, sleep_state="awake")

    def _add(self, row: Mapping[str, Any], buckets: Mapping[str, list[float]], window: int) -> None:
        name, labels = row["name"], row["labels"]
        documentation = f"Emulated by evalkit: {name.removeprefix(_VLLM).replace('_', ' ')}."
        kind = row["type"]
        series: _Series
        if kind == "histogram":
            edges = buckets[row["buckets"]]
            series = Histogram(name, documentation, labels, buckets=edges, registry=self._registry)
        else:
            build = {"counter": Counter, "gauge": Gauge, "summary": Summary}[kind]
            series = build(name, documentation, labels, registry=self._registry)
        self._series[name] = series
        if not name.startswith(_VLLM) or name.endswith("cache_config_info"):
            return
        values = dict(row.get("values", {}))
        if "position" in labels:
            values["position"] = [str(position) for position in range(window)]
        # a series that exists from the start reads 0, as in the real server
        if not values:
            self._labelled(name, {})
        for label, options in values.items():
            for option in options:
                self._labelled(name, {label: option})

    def _labelled(self, name: str, labels: Mapping[str, str]) -> Any:
        series = self._series[name]
        names = series._labelnames
        wanted = {label: labels.get(label, self._fixed.get(label, "")) for label in names}
        return series.labels(**wanted) if names else series

    def total(self, name: str, value: float, **labels: str) -> None:
        """Bring a counter up to a total that the engine keeps."""
        full = f"{_VLLM}{name}_total"
        if full not in self._series:
            return
        key = (full, str(sorted(labels.items())))
        self._labelled(full, labels).inc(max(value - self._totals.get(key, 0.0), 0.0))
        self._totals[key] = max(value, self._totals.get(key, 0.0))

    def add(self, name: str, amount: float = 1.0, **labels: str) -> None:
        """Add to a counter."""
        if f"{_VLLM}{name}_total" in self._series:
            self._labelled(f"{_VLLM}{name}_total", labels).inc(amount)

    def gauge(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge."""
        if _VLLM + name in self._series:
            self._labelled(_VLLM + name, labels).set(value)

    def observe(self, name: str, value: float) -> None:
        """Add an observation to a histogram."""
        if _VLLM + name in self._series:
            self._labelled(_VLLM + name, {}).observe(value)

    def http(self, handler: str, method: str, status: int, seconds: float, sent: int, received: int) -> None:
        """Count one HTTP exchange."""
        self._labelled(
            "http_requests_total", {"handler": handler, "method": method, "status": f"{status // 100}xx"}
        ).inc()
        self._labelled("http_request_size_bytes", {"handler": handler}).observe(received)
        self._labelled("http_response_size_bytes", {"handler": handler}).observe(sent)
        self._labelled("http_request_duration_highr_seconds", {}).observe(seconds)
        self._labelled("http_request_duration_seconds", {"handler": handler, "method": method}).observe(seconds)

    def observe_page(self, page: Page, speed: float, samples: int, max_tokens: int | None, finish: str) -> None:
        """Histograms of a page that ended; seconds are those of the wall clock, as a client sees them."""
        started_s, first_s, ended_s = page.started_s or 0.0, page.first_token_s or 0.0, page.ended_s or 0.0
        tokens = page.plan.tokens
        self.add("request_success", finished_reason=finish)
        seconds = {
            "e2e_request_latency_seconds": ended_s - page.arrival_s,
            "time_to_first_token_seconds": first_s - page.arrival_s,
            "request_queue_time_seconds": started_s - page.arrival_s,
            "request_prefill_time_seconds": first_s - started_s,
            "request_decode_time_seconds": ended_s - first_s,
            "request_inference_time_seconds": ended_s - started_s,
        }
        if tokens > 1:
            per_token_s = (ended_s - first_s) / (tokens - 1)
            seconds |= {
                "request_time_per_output_token_seconds": per_token_s,
                "inter_token_latency_seconds": per_token_s,
            }
        for name, value in seconds.items():
            self.observe(name, value / speed)
        self.observe("request_prompt_tokens", page.plan.prompt_tokens)
        self.observe("request_generation_tokens", tokens)
        self.observe("request_max_num_generation_tokens", tokens)
        self.observe("request_params_n", samples)
        self.observe("request_params_max_tokens", max_tokens or tokens)
        self.observe("request_prefill_kv_computed_tokens", page.computed_tokens)
        self.observe("request_num_preemptions", page.preemptions)

    def text(self) -> bytes:
        """The Prometheus text."""
        return generate_latest(self._registry)
