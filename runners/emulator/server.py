"""Starting and stopping the emulated server, in a thread of its own or in the foreground."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from aiohttp import web

from evalkit.errors import UserError
from runners.emulator.completions import ServiceSettings
from runners.emulator.deployments import deployment
from runners.emulator.faults import parse_rule
from runners.emulator.recorded import AnswerBook, load_answers
from runners.emulator.service import EmulatedService

_START_TIMEOUT_S = 30.0


class EmulatorServer:
    """The emulated server in its own thread: `with EmulatorServer(data) as server: server.url`.

    `options` are those of `settings_for`. After a crash fault the port is closed and `crashed` is true.
    """

    def __init__(
        self,
        data: Path | AnswerBook,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        images: Path | None = None,
        **options: Any,
    ) -> None:
        self._book = data if isinstance(data, AnswerBook) else load_answers(data, images)
        self._settings = settings_for(**options)
        self._host, self._port = host, port
        self._started = threading.Event()
        self._stopped: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._failure: BaseException | None = None
        self._service: EmulatedService | None = None
        self._last_trace: dict[str, Any] = {}
        self._thread = threading.Thread(target=self._run, name="emulated-server", daemon=True)
        self.crashed = False

    @property
    def url(self) -> str:
        """Base URL for an OpenAI client, ending in /v1."""
        return f"{self.root}/v1"

    @property
    def root(self) -> str:
        """URL of the server without a path."""
        return f"http://{self._host}:{self._port}"

    @property
    def speed(self) -> float:
        """Emulated seconds a second."""
        return self._settings.speed

    def start(self) -> EmulatorServer:
        """Start and wait until it listens."""
        self._thread.start()
        if not self._started.wait(_START_TIMEOUT_S):
            raise UserError("the emulated server did not start in time")
        if self._failure is not None:
            raise self._failure
        return self

    def stop(self) -> None:
        """Stop and wait; may be called twice."""
        if self._loop is not None and self._stopped is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    def trace(self) -> dict[str, Any]:
        """The engine's account so far, or the last one after a stop."""
        if self._loop is None or self._service is None or not self._thread.is_alive():
            return self._last_trace
        return asyncio.run_coroutine_threadsafe(_in_loop(self._service.trace), self._loop).result()

    def __enter__(self) -> EmulatorServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except (OSError, UserError) as error:
            self._failure = error
        finally:
            self._started.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        self._service = EmulatedService(self._settings, self._book, self._crash)
        runner = web.AppRunner(
            self._service.application(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await runner.setup()
        self._port = await _listen(runner, self._host, self._port)
        self._started.set()
        await self._stopped.wait()
        self._last_trace = self._service.trace()
        await runner.cleanup()

    def _crash(self) -> None:
        self.crashed = True
        if self._stopped is not None:
            self._stopped.set()


def settings_for(
    *,
    deployment_name: str = "hpd-parsing",
    model: str = "HPD-Parsing",
    speed: float = 1.0,
    seed: int = 0,
    release: str = "0.17.1",
    max_model_len: int = 16384,
    unknown: str = "choose",
    faults: Sequence[str] = (),
    blocks: int | None = None,
) -> ServiceSettings:
    """Settings from plain values. `faults` are rules such as hang@3 or cut:5@every:10."""
    if speed <= 0:
        raise UserError(f"--speed {speed}: must be above 0 (10 means ten emulated seconds a second)")
    return ServiceSettings(
        deployment=deployment(deployment_name),
        model=model,
        speed=speed,
        seed=seed,
        release=release,
        max_model_len=max_model_len,
        unknown=unknown,
        faults=tuple(parse_rule(text) for text in faults),
        blocks=blocks,
    )


def serve_forever(
    data: Path,
    *,
    host: str,
    port: int,
    images: Path | None = None,
    trace_file: Path | None = None,
    announce: Callable[[str], None],
    **options: Any,
) -> None:
    """Serve in the foreground until interrupted; `announce` gets the URL once it listens.

    A crash fault ends the process at once with status 70, as a killed server would.
    """
    book = load_answers(data, images)
    settings = settings_for(**options)

    async def serve() -> None:
        service = EmulatedService(settings, book, lambda: os._exit(70))
        runner = _runner(service)
        await runner.setup()
        try:
            bound = await _listen(runner, host, port)
            announce(f"http://{host}:{bound}/v1")
            await asyncio.Event().wait()
        finally:
            if trace_file is not None:
                trace_file.write_text(json.dumps(service.trace()) + "\n", encoding="utf-8")
            await runner.cleanup()

    try:
        asyncio.run(serve())
    except KeyboardInterrupt:
        return
    except OSError as error:
        raise UserError(f"port {port}: cannot listen ({error.strerror}); choose another with --port") from error


def _runner(service: EmulatedService) -> web.AppRunner:
    """A request whose client is gone is cancelled, so that the engine drops its page."""
    return web.AppRunner(service.application(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1)


async def _listen(runner: web.AppRunner, host: str, port: int) -> int:
    site = web.TCPSite(runner, host, port)
    await site.start()
    address = runner.addresses[0]
    return int(address[1])


async def _in_loop(call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    return call()
