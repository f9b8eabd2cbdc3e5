"""The runner for OpenAI-compatible chat servers: one timed drive over pages, and what was seen beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from evalkit.errors import DriveInterruptedError
from evalkit.types import BranchTokens, FinishState, InferSettings, PageJob, RawOutput, RunFacts, Sample, System
from runners.afterwards import LEFT_OUT, Afterwards
from runners.asked_alone import asked_alone
from runners.branch_tokens import count_branches
from runners.chat_body import BodyStore, store_bodies
from runners.client_pool import ClientPool, ClientReport, lag_quantile_s
from runners.client_process import ClientTask
from runners.drive_setup import auth_headers, endpoints_of, prepare_caches, warm_up, with_served_model
from runners.headroom import headroom_pps
from runners.http_exchange import Endpoint
from runners.load import arrival_times_s, check_load, ordered, process_count
from runners.preflight import preflight
from runners.server_facts import read_facts, wait_idle
from runners.server_metrics import MetricsReader, MetricsSampler
from runners.telemetry import TelemetrySampler

RETOKENISED_PAGES = 64
OnResult = Callable[[RawOutput], None]


class OpenAiRunner:
    """Drives an OpenAI-compatible chat server: image as base64, streaming or not, no retry."""

    def run(self, pages: Sequence[PageJob], settings: InferSettings, on_result: OnResult) -> RunFacts:
        """Send every page once and hand on each output as it comes. Raises UserError before the first request.

        Raises DriveInterruptedError, with what is known, when Ctrl-C comes after the last page.
        """
        check_load(settings.load)
        endpoints = endpoints_of(settings.endpoints)
        headers = auth_headers(settings.system)
        facts = [read_facts(endpoint, headers) for endpoint in endpoints]
        system = with_served_model(settings.system, facts[0])
        reader = MetricsReader(endpoints, headers)
        notes: list[str] = []
        warmup = warm_up(system, settings, headers, notes)
        largest = preflight(system, settings, headers, pages, facts[0], notes)
        if not wait_idle(reader.outstanding):
            notes.append("other requests were running on the server when the drive began")
        cache = prepare_caches(settings, endpoints, headers, facts[0], notes)
        answers: dict[str, str] = {}
        good: set[str] = set()

        def on_output(output: RawOutput) -> None:
            if output.state is FinishState.OK:
                good.add(output.page_id)
            if output.state in {FinishState.OK, FinishState.TRUNCATED} and output.text:
                answers[output.page_id] = output.text
            on_result(output)

        after = Afterwards()
        drive = _Drive(system, settings, headers, endpoints, reader, after)
        seen = drive.run(ordered(pages, settings.order, settings.seed), cache["salt"], on_output)
        branches = after.do(lambda: _branches(system, answers, endpoints[0], headers))
        unfinished = _unfinished(seen.reports, endpoints)
        notes += [f"{endpoints[index].url} refused connections: it got no more pages" for index in seen.refusing]
        alone = None
        if not unfinished:
            texts = {page_id: text for page_id, text in answers.items() if page_id in good}
            salted = cache["salt"] is not None
            alone = after.do(lambda: asked_alone(system, settings, headers, pages, texts, salted=salted))
        found = RunFacts(
            mode="server",
            anchor_unix_s=seen.anchor_unix_s,
            emulated=seen.emulated or any(fact.emulated for fact in facts),
            server={
                "endpoints": [endpoint.url for endpoint in endpoints],
                "facts": [asdict(fact) for fact in facts],
                "model": system.serve.model,
                "cache": cache,
                "warmup": warmup,
                "preflight": largest,
                "telemetry": seen.telemetry,
                "launch": settings.launch,
                "differences": settings.launch.get("differences"),
            },
            client={**_client_facts(seen.reports), "stub_pps": seen.stub_pps, "alone": alone},
            samples=seen.samples,
            notes=(*notes, *unfinished, *([LEFT_OUT] if after.interrupted else [])),
            branches=branches or (),
        )
        if after.interrupted:
            raise DriveInterruptedError(found)
        return found


@dataclass(frozen=True, slots=True)
class _Seen:
    anchor_unix_s: float
    emulated: bool
    reports: list[ClientReport]
    samples: tuple[Sample, ...]
    telemetry: Mapping[str, Any]
    refusing: Sequence[int]
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
        after: Afterwards,
    ) -> None:
        self._system = system
        self._settings = settings
        self._headers = headers
        self._endpoints = endpoints
        self._reader = reader
        self._after = after

    def run(self, pages: Sequence[PageJob], salt: str | None, on_result: OnResult) -> _Seen:
        settings = self._settings
        bodies, slots = store_bodies(
            self._system, pages, stream=settings.stream, chunk_usage=settings.chunk_usage, salt=salt
        )
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
                stub_pps = self._after.do(lambda: headroom_pps(task, settings.load, processes, bodies))
                seen = replace(seen, stub_pps=stub_pps)
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
            self._after.do(lambda: wait_idle(self._reader.outstanding, within_s=5.0))
        finally:
            samples = metrics.stop() + telemetry.stop()
            refusing = pool.refusing()
            pool.close()
        return _Seen(anchor_unix_s, emulated, reports, samples, telemetry.describe(), refusing)


def _branches(
    system: System, answers: Mapping[str, str], endpoint: Endpoint, headers: Mapping[str, str]
) -> tuple[BranchTokens, ...]:
    """Token lengths of the answers: of all where they have branches, else of some, to check the usage."""
    forked = system.output.stream is not None and system.paradigm != "autoregressive"
    chosen = answers if forked else dict(list(answers.items())[:RETOKENISED_PAGES])
    return count_branches(chosen, system.output.stream, endpoint, system.serve.model, headers)


def _unfinished(reports: Sequence[ClientReport], endpoints: Sequence[Endpoint]) -> list[str]:
    """Why pages are left for a resumed run; [] when none are."""
    gone = any(report.gone for report in reports)
    where = " and ".join(endpoint.url for endpoint in endpoints)
    lines = [f"stopped: connections to {where} are refused; run again to go on"] if gone else []
    return lines + [
        f"client process {number} died with exit code {report.exit_code}; its pages are left for a resumed run"
        for number, report in enumerate(reports)
        if report.exit_code is not None
    ]


def _client_facts(reports: Sequence[ClientReport]) -> dict[str, Any]:
    return {
        "processes": len(reports),
        "cpu_s": round(sum(report.cpu_s for report in reports), 4),
        "lag_p50_s": lag_quantile_s(reports, 0.50),
        "lag_p99_s": lag_quantile_s(reports, 0.99),
        "lag_max_s": lag_quantile_s(reports, 1.0),
    }


RUNNER = OpenAiRunner()
