"""`evalkit serve SYSTEM` in a process of its own, with a program that passes for the engine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evalkit.cli.main import main
from runners.server_facts import ask
from tests.fakes.engine_program import write_engine
from tests.runners.launchers.test_launchers import wait_until

SYSTEM = """
name = "toy"
title = "Toy"
runner = "openai"

[serve]
launcher = "vllm"
model = "Toy"
version = "0.17.1"

[serve.flags]
max-model-len = 4096
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_interrupted_and_says_what_is_not_as_asked(tmp_path: Path, number: signal.Signals) -> None:
    write_engine(tmp_path)
    (tmp_path / "toy.toml").write_text(SYSTEM)
    words = [sys.executable, "-m", "evalkit.cli.main", "serve", str(tmp_path / "toy.toml"), "--vllm", str(tmp_path)]
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    with subprocess.Popen(
        [*words, "--log", str(tmp_path / "log")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        url = process.stdout.readline().strip()
        assert ask(f"{url}/models").status == 200
        process.send_signal(number)
        told = process.stderr.read()
    assert process.returncode == 0
    assert "starting the server of Toy; its log is" in told
    assert "not as asked: max-model-len is 16384, asked for 4096" in told
    assert told.endswith("stopped\n")
    assert wait_until(lambda: ask(f"{url}/models").status == 0)


def test_the_emulated_launcher_serves_the_emulator_s_data(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "evalkit.cli.main", "serve", "hpd-parsing", "--launcher", "emulated"]
    data = Path(__file__).parents[2] / "datasets/mini/streams.jsonl"
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    with subprocess.Popen(
        [*words, "--data", str(data), "--log", str(tmp_path)], stdout=subprocess.PIPE, text=True, env=env
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert ask(f"{url}/models").status == 200
        process.send_signal(signal.SIGINT)
    assert process.returncode == 0
    assert wait_until(lambda: ask(f"{url}/models").status == 0)


@pytest.mark.parametrize("system", ["tesseract", "gpt-5.2"])
def test_a_system_without_a_server_of_its_own_is_refused(system: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", system, "--dry-run"]) == 2
    assert f"evalkit serve: {system} has no server of its own to start" in capsys.readouterr().err


@pytest.mark.parametrize("system", ["emulator", "hpd-parsing"])
@pytest.mark.parametrize("port", ["-1", "65536"])
def test_a_port_out_of_range_is_refused(system: str, port: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", system, "--launcher", "emulated", "--port", port]) == 2
    assert f"--port must be 0 to 65535, not {port}" in capsys.readouterr().err


def test_an_address_that_is_not_of_this_machine_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["serve", "hpd-parsing", "--launcher", "emulated", "--host", "192.0.2.1", "--log", str(tmp_path)]
    assert main(words) == 2
    assert "of 192.0.2.1: cannot listen" in capsys.readouterr().err
