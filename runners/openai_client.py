"""The runner for OpenAI-compatible chat servers: one timed drive over pages, and what was seen beside it."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from evalkit.errors import UserError
from evalkit.types import BranchTokens, FinishState, InferSettings, Load, PageJob, RawOutput, RunFacts, Sample, System
from runners.branch_tokens import count_branches
from runners.chat_body import BodyStore, store_bodies
from runners.client_pool import ClientPool, ClientReport, lag_quantile_s
from runners.client_process import Client, ClientTask
from runners.http_exchange import Endpoint
from runners.load import Board, arrival_times_s, check_load, ordered, process_count
from runners.loopback_stub import stub_server
from runners.server_facts import ServerFacts, read_facts, reset_caches, wait_idle
from runners.server_metrics import MetricsReader, MetricsSampler
from runners.telemetry import TelemetrySampler

CACHE_MODES = ("auto", "reset", "salt", "keep")
HEADROOM_PAGES = 64
RETOKENISED_PAGES = 64
OnResult = Callable[[RawOutput], None]


class OpenAiRunner:
    """Drives an OpenAI-compatible chat server: image as base64, streaming or not, no retry."""

    def run(self, pages: Sequence[PageJob], settings: InferSettings, on_result: OnResult) -> RunFacts:
        """Send every page once and hand on each output as it comes. Raises UserError before the first request."""
        check_load(settings.load)
        endpoints = _endpoints(settings.endpoints)
        headers = auth_headers(settings.system)
        facts = [read_facts(endpoint, headers) for endpoint in endpoints]
        system = _with_model(settings.system, facts[0])
        reader = MetricsReader(endpoints, headers)
        notes: list[str] = []
        warmup = _warm_up(system, settings, headers, notes)
        if not wait_idle(reader.outstanding):
            notes.append("other requests were running on the server when the drive began")
        cache = _prepare_caches(settings, endpoints, headers, facts[0], notes)
        answers: dict[str, str] = {}

        def on_output(output: RawOutput) -> None:
            if output.state in {FinishState.OK, FinishState.TRUNCATED} and output.text:
                answers[output.page_id] = output.text
            on_result(output)

        drive = _Drive(system, settings, headers, endpoints, reader)
        seen = drive.run(ordered(pages, settings.order, settings.seed), cache["salt"], on_output)
        branches = _branches(system, answers, endpoints[0], headers)
        if any(report.gone for report in seen.reports):
            notes.append(f"stopped: the server at {endpoints[0].url} refuses connections; run again to go on")
        notes.extend(
            f"client process {number} died with exit code {report.exit_code}; its pages are left for a resumed run"
            for number, report in enumerate(seen.reports)
            if report.exit_code is not None
        )
        return RunFacts(
            mode="server",
            anchor_unix_s=seen.anchor_unix_s,
            emulated=seen.emulated or any(fact.emulated for fact in facts),
            server={
                "endpoints": [endpoint.url for endpoint in endpoints],
                "facts": [asdict(fact) for fact in facts],
                "model": system.serve.model,
                "cache": cache,
                "warmup": warmup,
                "telemetry": seen.telemetry,
                "launch": settings.launch,
                "differences": settings.launch.get("differences"),
            },
            client={**_client_facts(seen.reports), "stub_pps": seen.stub_pps},
            samples=seen.samples,
            notes=tuple(notes),
            branches=branches,
        )


@dataclass(frozen=True, slots=True)
class _Seen:
    anchor_unix_s: float
    emulated: bool
    reports: list[ClientReport]
    samples: tuple[Sample, ...]
    telemetry: Mapping[str, Any]
    stub_pps: float | None = None


class _Drive:
    """The timed part: bodies are encoded and processes ready before its clock starts."""

    def __init__(
        self,
        system: System,
        settings: InferSettings,
        headers: Mapping[str, str],
        endpoints: Sequence[Endpoint],
        reader: MetricsReader,
    ) -> None:
        self._system = system
        self._settings = settings
        self._headers = headers
        self._endpoints = endpoints
        self._reader = reader

    def run(self, pages: Sequence[PageJob], salt: str | None, on_result: OnResult) -> _Seen:
        settings = self._settings
        bodies, slots = store_bodies(self._system, pages, stream=settings.stream, salt=salt)
        try:
            task = ClientTask(
                process=0,
                processes=1,
                endpoints=tuple(endpoint.url for endpoint in self._endpoints),
                slots=slots,
                concurrency=settings.load.in_flight,
                timeout_s=settings.timeout_s,
                arrivals_s=arrival_times_s(settings.load, len(slots), settings.seed),
                stream=settings.stream,
                marker=self._system.output.marker,
                headers=self._headers,
            )
            processes = process_count(settings.load, settings.processes)
            seen = self._sampled(task, processes, bodies, on_result)
            if settings.check_client:
                seen = replace(seen, stub_pps=headroom_pps(task, settings.load, processes, bodies))
            return seen
        finally:
            bodies.close()

    def _sampled(self, task: ClientTask, processes: int, bodies: BodyStore, on_result: OnResult) -> _Seen:
        metrics = MetricsSampler(self._reader, self._settings.sample_every_s)
        telemetry = TelemetrySampler()
        pool = ClientPool(task, self._settings.load, processes, bodies)
        anchor_unix_s = 0.0
        emulated = False

        def on_start(start_s: float) -> None:
            nonlocal anchor_unix_s
            anchor_unix_s = time.time() + (start_s - time.monotonic())
            metrics.start(start_s, first)
            telemetry.start(start_s)

        def on_output(output: RawOutput) -> None:
            nonlocal emulated
            emulated = emulated or bool(output.extra.get("emulated"))
            on_result(output)

        first = self._reader.read()
        try:
            reports = pool.run(on_output, on_start)
            wait_idle(self._reader.outstanding, within_s=5.0)
        finally:
            samples = metrics.stop() + telemetry.stop()
            pool.close()
        return _Seen(anchor_unix_s, emulated, reports, samples, telemetry.describe())


def _endpoints(urls: Sequence[str]) -> list[Endpoint]:
    if not urls:
        raise UserError("no server address: give --endpoint http://HOST:PORT")
    try:
        return [Endpoint.parse(url) for url in urls]
    except ValueError as error:
        raise UserError(f"endpoint {error}") from error


def auth_headers(system: System) -> dict[str, str]:
    """The header with the API key, read from the environment variable that the system names."""
    name = system.request.api_key_env
    if name is None:
        return {}
    key = os.environ.get(name)
    if not key:
        raise UserError(f"{system.name} needs a key in the environment variable {name}, which is not set")
    return {"Authorization": f"Bearer {key}"}


def _with_model(system: System, facts: ServerFacts) -> System:
    """The system with the model name that the server serves, where the system leaves it open."""
    wanted = system.serve.model
    if wanted and (wanted in facts.models or not facts.models):
        return system
    if not wanted and len(facts.models) == 1:
        return replace(system, serve=replace(system.serve, model=facts.models[0]))
    served = ", ".join(facts.models) or "none"
    raise UserError(f"{system.name} asks for the model {wanted!r}, but the server serves: {served}")


def _warm_up(system: System, settings: InferSettings, headers: Mapping[str, str], notes: list[str]) -> dict[str, Any]:
    """Send the warm-up pages; their outcome, which is no part of the run."""
    if not settings.warmup:
        notes.append("no warm-up: no page outside the timed ones was given")
        return {"pages": [], "ok": 0}
    outputs: list[RawOutput] = []
    bodies, slots = store_bodies(system, settings.warmup, stream=settings.stream)
    board = Board.create(len(settings.endpoints))
    task = ClientTask(
        process=0,
        processes=1,
        endpoints=tuple(settings.endpoints),
        slots=slots,
        concurrency=len(slots),
        timeout_s=settings.timeout_s,
        stream=settings.stream,
        headers=headers,
    )
    try:
        asyncio.run(Client(task, bodies, board, time.monotonic(), outputs.append).drive())
    finally:
        bodies.close()
        board.close()
    good = sum(output.state in {FinishState.OK, FinishState.TRUNCATED} for output in outputs)
    if good < len(slots):
        reasons = sorted({output.reason or "" for output in outputs if output.reason})
        notes.append(f"{len(slots) - good} of {len(slots)} warm-up pages failed: {'; '.join(reasons)[:300]}")
    return {"pages": [job.page.page_id for job in settings.warmup], "ok": good}


def _prepare_caches(
    settings: InferSettings,
    endpoints: Sequence[Endpoint],
    headers: Mapping[str, str],
    facts: ServerFacts,
    notes: list[str],
) -> dict[str, Any]:
    """Empty the caches or choose a salt; what was done, for the run's record."""
    if settings.cache not in CACHE_MODES:
        raise UserError(f"cache must be one of {', '.join(CACHE_MODES)}, not {settings.cache!r}")
    resets = reset_caches(endpoints, headers) if settings.cache in {"auto", "reset"} else {}
    emptied = resets.get("/reset_prefix_cache", False)
    if settings.cache == "reset" and not emptied:
        notes.append("the server's caches could not be reset (vLLM: start it with VLLM_SERVER_DEV_MODE=1)")
    salted = settings.cache == "salt" or (settings.cache == "auto" and not emptied and facts.version is not None)
    return {"mode": settings.cache, "resets": resets, "salt": secrets.token_hex(8) if salted else None}


def _branches(
    system: System, answers: Mapping[str, str], endpoint: Endpoint, headers: Mapping[str, str]
) -> tuple[BranchTokens, ...]:
    """Token lengths of the answers: of all where they have branches, else of some, to check the usage."""
    forked = system.output.stream is not None and system.paradigm != "autoregressive"
    chosen = answers if forked else dict(list(answers.items())[:RETOKENISED_PAGES])
    return count_branches(chosen, system.output.stream, endpoint, system.serve.model, headers)


def headroom_pps(task: ClientTask, load: Load, processes: int, bodies: BodyStore) -> float | None:
    """Pages/s of the same client, load and bodies against a stub that answers at once; None without a body."""
    usable = [slot for slot in task.slots if slot.problem is None][: max(HEADROOM_PAGES, 2 * load.in_flight)]
    if not usable:
        return None
    outputs: list[RawOutput] = []
    with stub_server() as url:
        stub_task = replace(
            task, endpoints=(url,), slots=usable, arrivals_s=None, concurrency=load.in_flight, marker=None, headers={}
        )
        pool = ClientPool(stub_task, replace(load, shape="closed"), processes, bodies)
        try:
            pool.run(outputs.append, lambda start_s: None)
        finally:
            pool.close()
    times = [(output.send_s, output.last_s) for output in outputs if output.send_s is not None]
    if not times:
        return None
    length_s = max(last_s or 0.0 for _, last_s in times) - min(send_s or 0.0 for send_s, _ in times)
    return len(times) / length_s if length_s > 0 else None


def _client_facts(reports: Sequence[ClientReport]) -> dict[str, Any]:
    return {
        "processes": len(reports),
        "cpu_s": round(sum(report.cpu_s for report in reports), 4),
        "lag_p50_s": lag_quantile_s(reports, 0.50),
        "lag_p99_s": lag_quantile_s(reports, 0.99),
        "lag_max_s": lag_quantile_s(reports, 1.0),
    }


RUNNER = OpenAiRunner()
