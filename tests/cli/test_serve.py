"""The verb serve with the emulated server, in a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from evalkit.cli.main import main
from tests.runners.emulator.asking import SHORT, STREAMS, body

SERVE = [sys.executable, "-m", "evalkit.cli.main", "serve", "emulator", "--data", str(STREAMS), "--speed", "200"]


def start(*options: str) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen([*SERVE, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def test_it_serves_until_interrupted_and_leaves_its_trace(tmp_path: Path) -> None:
    process, url = start("--trace", str(tmp_path / "trace.json"), "--model", "mine", "--deployment", "hpd-fork")
    reply = httpx.post(f"{url}/chat/completions", json=body(SHORT, model="mine", stream=False), timeout=60)
    assert reply.status_code == 200
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "emulated server: hpd-fork, 200x" in told
    trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    assert (trace["schema"], trace["provenance"]) == ("evalkit.emulated_trace", "emulated")
    assert trace["totals"]["completion_tokens"] == reply.json()["usage"]["completion_tokens"]


def test_a_crash_ends_the_process() -> None:
    process, url = start("--fault", "crash@1")
    with pytest.raises(httpx.HTTPError):
        httpx.post(f"{url}/chat/completions", json=body(), timeout=60)
    assert process.wait(timeout=30) == 70


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["nobody"], "nobody"),
        (["emulator", "--data", "no-such.jsonl"], "no-such.jsonl: no such file"),
        (["emulator", "--data", str(STREAMS), "--fault", "nonsense"], "unknown fault 'nonsense'"),
        (["emulator", "--data", str(STREAMS), "--deployment", "nobody"], "unknown deployment 'nobody'"),
        (["emulator", "--data", str(STREAMS), "--speed", "0"], "must be above 0"),
    ],
)
def test_mistakes_are_explained(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", *options]) == 2
    assert message in capsys.readouterr().err
