"""The runner for any program that takes a page image and writes markdown, to stdout or to a file.

The system's `command` is a list of words in which {image} is the page's file, {output} a file to write, {folder} a
folder to write markdown into, and {url} the server that the program talks to; without {output} or {folder} the
program's stdout is taken.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from evalkit.errors import ToolchainError, UserError
from evalkit.types import FinishState, InferSettings, PageJob, RawOutput, RunFacts, System
from runners.environments.install import program_of
from runners.load import ordered, require_closed

MAX_OUTPUT_BYTES = 64 * 1024 * 1024
MAX_REASON = 300


class CommandRunner:
    """Runs a program once a page, so many at a time as the load has in flight."""

    def run(
        self, pages: Sequence[PageJob], settings: InferSettings, on_result: Callable[[RawOutput], None]
    ) -> RunFacts:
        """Run the program for every page. Raises UserError or ToolchainError when it cannot be run at all."""
        words = _checked(settings.system)
        if any("{url}" in word for word in words) and not settings.endpoints:
            raise UserError(f"system {settings.system.name} talks to a server: give --endpoint URL")
        require_closed(settings.load, settings.system)
        anchor_unix_s, start_s = time.time(), time.monotonic()
        drive = _Drive(words, settings, start_s, ordered(pages, settings.order, settings.seed))
        try:
            drive.run(on_result)
        finally:
            drive.stop()
        return RunFacts(mode="command", anchor_unix_s=anchor_unix_s, client={"command": list(words)})


def _checked(system: System) -> Sequence[str]:
    words = system.command
    if not words or not any("{image}" in word for word in words):
        raise UserError(
            f'system {system.name}: `command` must be a list of words with {{image}}, such as ["my-ocr", "{{image}}"]'
        )
    program = program_of(system)
    if shutil.which(program) is None:
        cure = "install it or give its full path"
        if system.environment is not None:
            cure = f"evalkit systems install {system.name}"
        raise ToolchainError(f"system {system.name}: the program {program!r} is not on PATH; {cure}")
    return [program, *words[1:]]


class _Drive:
    """The pages of one run, taken by a thread for each slot."""

    def __init__(self, words: Sequence[str], settings: InferSettings, start_s: float, pages: Sequence[PageJob]) -> None:
        self._words = words
        self._settings = settings
        self._start_s = start_s
        self._jobs: queue.SimpleQueue[PageJob] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[RawOutput] = queue.SimpleQueue()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False
        self._count = len(pages)
        for page in pages:
            self._jobs.put(page)

    def run(self, on_result: Callable[[RawOutput], None]) -> None:
        for _ in range(min(self._settings.load.in_flight, self._count)):
            threading.Thread(target=self._serve, daemon=True).start()
        for _ in range(self._count):
            on_result(self._results.get())

    def stop(self) -> None:
        """End the programs that still run, with all that they started."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                kill_group(process)

    def _serve(self) -> None:
        arrival_s = self._clock()
        while not self._stopped:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            try:
                output = self._page(job, arrival_s)
            except Exception as error:  # the door of one page: a bug here costs this page, with its reason
                reason = f"internal: {type(error).__name__}: {error}"
                output = RawOutput(job.page.page_id, None, FinishState.ERROR, reason)
            arrival_s = self._clock()
            self._results.put(output)

    def _clock(self) -> float:
        return round(time.monotonic() - self._start_s, 6)

    def _page(self, job: PageJob, arrival_s: float) -> RawOutput:
        if not Path(job.image).is_file():
            return RawOutput(job.page.page_id, None, FinishState.ERROR, "image: No such file or directory")
        with tempfile.TemporaryDirectory(prefix="evalkit-command-") as folder:
            places = self._places(job, Path(folder))
            words = [_filled(word, places) for word in self._words]
            send_s = self._clock()
            state, reason, text = self._program(words, Path(folder), places)
            return RawOutput(
                page_id=job.page.page_id,
                text=text,
                state=state,
                reason=reason,
                finish_reason="stop" if state is FinishState.OK else None,
                arrival_s=arrival_s,
                send_s=send_s,
                last_s=self._clock(),
            )

    def _places(self, job: PageJob, folder: Path) -> dict[str, str]:
        """What stands for each placeholder; the folder for markdown is made."""
        markdown = folder / "markdown"
        markdown.mkdir()
        endpoint = self._settings.endpoints[0] if self._settings.endpoints else ""
        return {"image": job.image, "output": str(folder / "output.md"), "folder": str(markdown), "url": endpoint}

    def _program(
        self, words: list[str], folder: Path, places: Mapping[str, str]
    ) -> tuple[FinishState, str | None, str | None]:
        stdout, stderr = folder / "stdout", folder / "stderr"
        try:
            with open(stdout, "wb") as out, open(stderr, "wb") as err:
                code = self._wait(words, out.fileno(), err.fileno())
        except OSError as error:
            return FinishState.ERROR, f"command: cannot start {words[0]} ({error.strerror})", None
        if code is None:
            return FinishState.TIMEOUT, f"timeout: not finished in {self._settings.timeout_s:g} s", None
        if code != 0:
            return FinishState.ERROR, f"command: exit code {code}: {_tail(stderr)}", None
        return _read(self._answer_file(places, stdout))

    def _answer_file(self, places: Mapping[str, str], stdout: Path) -> Path:
        if any("{output}" in word for word in self._words):
            return Path(places["output"])
        if any("{folder}" in word for word in self._words):
            return _markdown_in(Path(places["folder"]))
        return stdout

    def _wait(self, words: list[str], out: int, err: int) -> int | None:
        with self._lock:
            if self._stopped:
                return -signal.SIGKILL
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
            self._running.add(process)
        try:
            return process.wait(self._settings.timeout_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with self._lock:
                self._running.discard(process)
            kill_group(process)


def _filled(word: str, places: Mapping[str, str]) -> str:
    for name, value in places.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def _markdown_in(folder: Path) -> Path:
    """The largest markdown file under a folder, where tools write their images and layouts too."""
    found = sorted(path for path in folder.rglob("*.md") if path.is_file())
    return max(found, key=lambda path: path.stat().st_size, default=folder / "output.md")


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads its own session, and everything it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _read(path: Path) -> tuple[FinishState, str | None, str | None]:
    try:
        if path.stat().st_size > MAX_OUTPUT_BYTES:
            return FinishState.INVALID, "malformed: output over 64 MiB", None
        data = path.read_bytes()
    except OSError as error:
        return FinishState.ERROR, f"command: no output file ({error.strerror})", None
    text = data.decode("utf-8", "replace")
    if not text.strip():
        return FinishState.INVALID, "empty: the answer has no text", text
    reason = None if "�" not in text or b"\xef\xbf\xbd" in data else "not all of the output is UTF-8"
    return FinishState.OK, reason, text


def _tail(path: Path) -> str:
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - MAX_REASON))
        return " ".join(file.read().decode("utf-8", "replace").split()) or "no message"


RUNNER = CommandRunner()
