"""The command runner: any program that takes a page image and writes markdown."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from evalkit.errors import ToolchainError, UserError
from evalkit.types import FinishState, InferSettings, Load, RawOutput, System
from runners.command import RUNNER
from runners.launchers.leftovers import start_time
from tests.fakes.chat_server import page_jobs
from tests.runners.launchers.test_launchers import wait_until

SYSTEM = System(name="toy", title="Toy", runner="command")


def run(tmp_path: Path, script: str, pages: int = 2, *words: str, timeout_s: float = 20.0) -> list[RawOutput]:
    command = (sys.executable, "-c", script, *(words or ("{image}",)))
    settings = InferSettings(replace(SYSTEM, command=command), load=Load(in_flight=2), timeout_s=timeout_s)
    outputs: list[RawOutput] = []
    facts = RUNNER.run(page_jobs(tmp_path / "images", pages), settings, outputs.append)
    assert facts.mode == "command"
    return sorted(outputs, key=lambda output: output.page_id)


def test_stdout_is_the_markdown(tmp_path: Path) -> None:
    outputs = run(tmp_path, "import sys; print('# page', sys.argv[1][-8:-4])", 3)
    assert [output.text for output in outputs] == ["# page p000\n", "# page p001\n", "# page p002\n"]
    assert {output.state for output in outputs} == {FinishState.OK}
    for output in outputs:
        assert output.arrival_s is not None
        assert output.send_s is not None
        assert output.last_s is not None
        assert output.arrival_s <= output.send_s <= output.last_s


def test_an_output_file_is_the_markdown(tmp_path: Path) -> None:
    script = "import sys; open(sys.argv[2], 'w').write('from a file'); print('chatter')"
    outputs = run(tmp_path, script, 1, "{image}", "{output}")
    assert outputs[0].text == "from a file"


FAULTS = [
    ("exit", "import sys; sys.exit('no model')", FinishState.ERROR, "command: exit code 1: no model"),
    ("killed", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", FinishState.ERROR, "command: exit code -9"),
    ("empty", "pass", FinishState.INVALID, "empty: "),
    ("hang", "import time; time.sleep(60)", FinishState.TIMEOUT, "timeout: not finished in 1 s"),
]


@pytest.mark.parametrize(("script", "state", "reason"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS])
def test_a_fault_costs_its_page(tmp_path: Path, script: str, state: FinishState, reason: str) -> None:
    (output,) = run(tmp_path, script, 1, timeout_s=1.0 if state is FinishState.TIMEOUT else 20.0)
    assert output.state is state
    assert (output.reason or "").startswith(reason)
    assert not output.text


def test_a_program_that_hangs_goes_with_all_that_it_started(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    script = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(noted)!r}, 'w').write(str(child.pid))\n"
        "child.wait()\n"
    )
    (output,) = run(tmp_path, script, 1, timeout_s=1.5)
    assert output.state is FinishState.TIMEOUT
    assert wait_until(lambda: start_time(int(noted.read_text())) is None)


def test_bytes_that_are_no_text_are_replaced_and_said(tmp_path: Path) -> None:
    (output,) = run(tmp_path, "import sys; sys.stdout.buffer.write(b'caf\\xe9')", 1)
    assert (output.text, output.reason) == ("caf�", "not all of the output is UTF-8")


def test_no_output_file_is_an_error(tmp_path: Path) -> None:
    (output,) = run(tmp_path, "print('only here')", 1, "{image}", "{output}")
    assert (output.state, output.text) == (FinishState.ERROR, None)


def test_a_command_that_cannot_be_run_is_said_before_any_page(tmp_path: Path) -> None:
    jobs = page_jobs(tmp_path, 1)
    for command, error, message in (
        (("nowhere-ocr", "{image}"), ToolchainError, "'nowhere-ocr' is not on PATH"),
        (("cat",), UserError, "must be a list of words with {image}"),
        ((), UserError, "must be a list of words with {image}"),
    ):
        with pytest.raises(error, match=message):
            RUNNER.run(jobs, InferSettings(replace(SYSTEM, command=command)), lambda output: None)
