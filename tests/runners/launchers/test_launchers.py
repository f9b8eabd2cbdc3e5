"""Launchers against programs that pass for engines: started, checked, explained, and stopped for sure."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from evalkit.errors import ToolchainError, UserError
from evalkit.types import ServeFacts, System
from runners.launchers import leftovers, weights, wheel
from runners.launchers.container import LAUNCHER as CONTAINER
from runners.launchers.flags import command_words, differences, logged_flags
from runners.launchers.preflight import require_cuda
from runners.launchers.url import LAUNCHER as URL
from runners.launchers.vllm import LAUNCHER as VLLM
from runners.launchers.vllm import find_vllm
from runners.launchers.wheel import LAUNCHER as WHEEL
from runners.server_facts import ask
from runners.systems import load_system
from tests.fakes.chat_server import FakeChatServer, serving
from tests.fakes.engine_program import write_engine, write_program

SYSTEM = System(
    name="toy",
    title="Toy",
    runner="openai",
    serve=ServeFacts(
        launcher="vllm",
        model="Toy",
        version="0.17.1",
        flags={"max-model-len": 16384, "enable-prefix-caching": True, "attention-backend": "FLASHINFER"},
        env={"TOY": "1"},
        details={"weights": "/models/toy"},
    ),
)


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("EVALKIT_CACHE", str(tmp_path / "cache"))


def gone(pid: int) -> bool:
    return leftovers.start_time(pid) is None


def wait_until(condition: Callable[[], bool], within_s: float = 20.0) -> bool:
    deadline_s = time.monotonic() + within_s
    while time.monotonic() < deadline_s:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def test_a_server_is_started_read_back_and_stopped(tmp_path: Path) -> None:
    engine = write_engine(tmp_path)
    with VLLM.serve(SYSTEM, tmp_path / "server", {"vllm": str(engine)}) as served:
        (url,) = served.endpoints
        assert ask(url.removesuffix("/v1") + "/health").status == 200
        assert served.facts["version"] == "0.17.1+hpdparsing"
        assert served.facts["flags"]["max-model-len"] == 16384
        assert served.facts["differences"] == []
        (note,) = leftovers.leftovers()
        assert (note.system, note.log) == ("toy", str(tmp_path / "server/server.log"))
    assert gone(note.pid)
    assert ask(url.removesuffix("/v1") + "/health").status == 0
    assert leftovers.leftovers() == []


def test_what_differs_from_what_was_asked_is_said(tmp_path: Path) -> None:
    engine = write_engine(tmp_path, version="0.32.0", max_model_len=4096)
    with VLLM.serve(SYSTEM, tmp_path / "server", {"vllm": str(engine.parent.parent)}) as served:
        assert served.facts["differences"] == [
            "version 0.32.0, asked for 0.17.1",
            "max-model-len is 4096, asked for 16384",
        ]


@pytest.mark.parametrize(
    ("mode", "sentence"),
    [
        ("oom", "The GPU has too little free memory."),
        ("unknown_flag", "does not know one of the flags"),
        ("killed", "most likely by the system for lack of main memory"),
    ],
)
def test_a_server_that_dies_is_explained_with_the_end_of_its_log(tmp_path: Path, mode: str, sentence: str) -> None:
    options = {"vllm": str(write_engine(tmp_path, mode))}
    with pytest.raises(ToolchainError) as caught, VLLM.serve(SYSTEM, tmp_path / "server", options):
        pass
    assert sentence in str(caught.value)
    assert "ended before it answered" in str(caught.value)
    assert f"last lines of {tmp_path}/server/server.log:\n" in str(caught.value)


def test_a_server_is_stopped_when_its_starter_was_killed_before_it_heard_of_it(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    task = {"command": ["sh", "-c", f"echo $$ > {note}.part; mv {note}.part {note}; exec sleep 600"]}
    cleaned = tmp_path / "cleaned"
    task |= {"env": {}, "log": str(tmp_path / "log"), "stop_timeout_s": 5.0, "cleanup": ["touch", str(cleaned)]}
    words = [sys.executable, "-m", "runners.launchers.supervisor", json.dumps(task)]
    unheard, told = os.pipe()
    os.close(unheard)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=told, stderr=subprocess.PIPE) as supervisor:
        os.close(told)
        assert wait_until(note.exists)
        _, said = supervisor.communicate()
    assert wait_until(lambda: gone(int(note.read_text())))
    assert cleaned.exists()
    assert said == b""


def test_a_port_that_another_server_holds_is_refused_before_its_answers_pass_for_ours(tmp_path: Path) -> None:
    options = {"vllm": str(write_engine(tmp_path))}
    with serving(FakeChatServer()) as other:
        port = int(other.url.rpartition(":")[2])
        with (
            pytest.raises(UserError, match=rf"port {port} of 127\.0\.0\.1: cannot listen"),
            VLLM.serve(SYSTEM, tmp_path / "server", options | {"port": port}),
        ):
            pass
    assert not (tmp_path / "server").exists()


def test_a_server_runs_where_no_note_of_it_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with VLLM.serve(SYSTEM, tmp_path / "server", {"vllm": str(write_engine(tmp_path))}) as served:
        assert served.facts["differences"] == []
    assert "cannot write (Not a directory); should the server be left over" in capsys.readouterr().err


def test_a_cache_that_cannot_be_made_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    system = load_system("hpd-parsing")
    with pytest.raises(ToolchainError, match=r"cannot be made .* Choose another place"):
        weights.ensure_weights("/nowhere/python", system, tmp_path / "file" / "weights")
    with pytest.raises(ToolchainError, match="Choose another place with --cache"):
        wheel.ensure_engine(system, tmp_path / "file" / "engines" / "one")


def test_a_server_that_never_answers_is_stopped(tmp_path: Path) -> None:
    options = {"vllm": str(write_engine(tmp_path, "silent")), "start_timeout_s": 0.5}
    with (
        pytest.raises(ToolchainError, match=r"did not answer /health within 0\.5 s"),
        VLLM.serve(SYSTEM, tmp_path / "server", options),
    ):
        pass
    assert leftovers.leftovers() == []


def test_a_program_that_cannot_be_started_is_explained(tmp_path: Path) -> None:
    broken = write_program(tmp_path / "vllm", "#!/nowhere/python\n")
    with (
        pytest.raises(ToolchainError, match="The engine's program was not found"),
        VLLM.serve(SYSTEM, tmp_path / "server", {"vllm": str(broken)}),
    ):
        pass


SERVE_FOREVER = """
import signal, sys, time
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background has it ignored
from runners.launchers.process import LaunchPlan, running
from runners.launchers.vllm import vllm_plan
from tests.runners.launchers.test_launchers import SYSTEM
plan = vllm_plan(SYSTEM, sys.argv[1], "/models/toy", {})
with running(plan, "toy", Path(sys.argv[2]), stop_timeout_s=0.5):
    print("up", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_a_stubborn_server_and_its_children_go_with_their_parent(tmp_path: Path, number: signal.Signals) -> None:
    engine = write_engine(tmp_path, "stubborn")
    words = [sys.executable, "-c", SERVE_FOREVER, str(engine), str(tmp_path / "server")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"up\n"
        parent.send_signal(number)
    pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
    assert wait_until(lambda: all(map(gone, pids)))


def test_a_left_over_server_is_found_and_named(tmp_path: Path) -> None:
    orphan = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    try:
        leftovers.write_note(orphan.pid, "hpd-parsing", 8118, tmp_path / "old.log")
        options = {"vllm": str(write_engine(tmp_path))}
        named = f"(?s)hpd-parsing on port 8118: process {orphan.pid}.*kill -- -{orphan.pid}"
        with pytest.raises(UserError, match=named), VLLM.serve(SYSTEM, tmp_path / "server", options):
            pass
    finally:
        orphan.kill()
        orphan.wait()
    assert leftovers.leftovers() == []


def test_a_process_id_given_again_is_no_left_over() -> None:
    path = leftovers.write_note(os.getpid(), "hpd-parsing", 8118, Path("old.log"))
    path.write_text(path.read_text().replace(f'"started": "{leftovers.start_time(os.getpid())}"', '"started": "1"'))
    (path.parent / "odd.json").write_text("not json")
    assert leftovers.leftovers() == []
    assert list(path.parent.iterdir()) == []


def test_no_vllm_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match="no vllm on PATH"):
        find_vllm(None)
    with pytest.raises(ToolchainError, match="no vllm program there"):
        find_vllm(str(tmp_path))


def test_a_dry_run_shows_environment_and_command(tmp_path: Path) -> None:
    options = {"vllm": str(write_engine(tmp_path)), "port": 8118, "model": "/weights/hpd"}
    lines = VLLM.describe(load_system("hpd-parsing"), options)
    assert "export MAX_PATCHES_WITH_RESIZE=true" in lines
    assert lines[-1].startswith(f"{tmp_path}/bin/vllm serve /weights/hpd --host 127.0.0.1 --port 8118")
    draft = '{"method": "medusa", "model": "/weights/hpd/P-MTP", "num_speculative_tokens": 6}'
    assert f"--speculative-config '{draft}'" in lines[-1]
    assert "--speculative-config" not in VLLM.describe(load_system("hpd-ar"), options)[-1]


def test_flags_become_words() -> None:
    flags = {"a": True, "b": False, "c": 0.9, "d": {"x": "{weights}/P"}, "e": [1], "f": "{weights}"}
    words = command_words(flags, {"weights": "/w"})
    assert words == ["--a", "--no-b", "--c", "0.9", "--d", '{"x": "/w/P"}', "--e", "[1]", "--f", "/w"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "x non-default args: {'max_model_len': 16384, 'limit_mm_per_prompt': {'image': 1}}\n",
            {"max-model-len": 16384},
        ),
        ("non-default args: {'a': __import__('os').system('true')}", {}),
        (
            "non-default args: {'max_model_len': 16384, 'config': AttentionConfig(backend=<A.B: 1>), 'dtype': 'x'}",
            {"max-model-len": 16384, "dtype": "x"},
        ),
        ("non-default args: {" * 50, {}),
        ("", {}),
    ],
)
def test_flags_are_read_from_the_log(text: str, expected: dict[str, object]) -> None:
    found = logged_flags(text)
    assert {key: value for key, value in found.items() if key in expected} == expected


def test_differences_judge_only_what_is_told() -> None:
    told = {"limit-mm-per-prompt": {"image": 1, "video": 0}, "gpu-memory-utilization": 0.9}
    system = load_system("hpd-parsing")
    assert differences(system, {}, "0.17.1+hpdparsing", told) == []
    assert differences(system, {}, "0.17.10", {"enable-prefix-caching": False}) == [
        "version 0.17.10, asked for 0.17.1",
        "enable-prefix-caching is False, asked for True",
    ]


def test_the_container_is_pinned_by_digest_and_bound_to_loopback() -> None:
    line = CONTAINER.describe(load_system("hpd-parsing"), {"port": 8118, "cache": "/c"})[-1]
    assert "hpd-parsing-vllm@sha256:1493923dd6b7e368" in line
    assert "--publish 127.0.0.1:8118:8118" in line
    assert "--gpus all" in line
    assert "--volume /c/huggingface:/evalkit/huggingface" in line
    with pytest.raises(UserError, match="names no image with a digest"):
        CONTAINER.describe(SYSTEM, {})


DOCKER = """#!/bin/bash
echo "$@" >> {folder}/calls
if [ "$1" = run ]; then
    while [ $# -gt 0 ]; do
        [ "$1" = --publish ] && published=${{2#127.0.0.1:}}
        [ "$1" = --served-model-name ] && name=$2
        shift
    done
    exec {folder}/bin/vllm serve /inner --port "${{published%%:*}}" --served-model-name "$name"
fi
"""


def test_a_container_is_started_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_engine(tmp_path)
    write_program(tmp_path / "tools/docker", DOCKER.format(folder=tmp_path))
    write_program(tmp_path / "tools/nvidia-smi", SMI.format(cuda="13.0", code=0))
    monkeypatch.setenv("PATH", f"{tmp_path}/tools:{os.environ['PATH']}")
    with CONTAINER.serve(load_system("hpd-parsing"), tmp_path / "server", {}) as served:
        assert served.facts["version"] == "0.17.1+hpdparsing"
        assert served.facts["differences"] == []
    run, remove = (tmp_path / "calls").read_text().splitlines()
    name = run.partition("--name ")[2].split()[0]
    assert remove == f"rm --force {name}"


def test_without_a_container_engine_there_is_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with (
        pytest.raises(ToolchainError, match="neither docker nor podman is on PATH"),
        CONTAINER.serve(load_system("hpd-parsing"), tmp_path, {}),
    ):
        pass
    with (
        pytest.raises(UserError, match="must be docker or podman"),
        CONTAINER.serve(load_system("hpd-parsing"), tmp_path, {"engine": "lxc"}),
    ):
        pass


def test_an_address_is_used_as_it_is() -> None:
    fake = FakeChatServer(model="Toy", version="0.17.1")
    with serving(fake) as server, URL.serve(SYSTEM, Path("unused"), {"url": server.url}) as served:
        assert served.endpoints == (server.url,)
        assert served.facts["differences"] == []
    with pytest.raises(UserError, match="no server answers"), URL.serve(SYSTEM, Path("unused"), {"url": server.url}):
        pass


SMI = "#!/bin/sh\necho '| NVIDIA-SMI 550.54  Driver Version: 550.54  CUDA Version: {cuda} |'\nexit {code}\n"


@pytest.mark.parametrize(
    ("cuda", "code", "message"),
    [("12.4", 0, "supports CUDA 12.4, this engine needs 12.8"), ("12.8", 9, "driver does not work"), ("13.0", 0, None)],
)
def test_the_driver_is_checked_before_anything_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cuda: str, code: int, message: str | None
) -> None:
    write_program(tmp_path / "nvidia-smi", SMI.format(cuda=cuda, code=code))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    if message is None:
        require_cuda("12.8")
    else:
        with pytest.raises(ToolchainError, match=message):
            require_cuda("12.8")


def test_without_a_driver_the_wheel_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with (
        pytest.raises(ToolchainError, match="no NVIDIA driver here"),
        WHEEL.serve(load_system("hpd-parsing"), tmp_path, {}),
    ):
        pass
    assert not (tmp_path / "cache").exists()


def test_the_wheel_s_environment_is_planned_once(tmp_path: Path) -> None:
    lines = WHEEL.describe(load_system("hpd-parsing"), {"cache": str(tmp_path), "port": 8118})
    assert "-m venv" in lines[0]
    assert "vllm-0.17.1+hpdparsing" in lines[1]
    assert "snapshot_download" in lines[2]
    assert "91de80054c23ab4238e3d7073fa2b83c2a7e301e" in lines[2]
    assert f"{tmp_path}/weights/PaddlePaddle--HPD-Parsing@91de80054c23/P-MTP" in lines[-1]


def test_a_wheel_that_is_not_there_leaves_no_half_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_program(tmp_path / "nvidia-smi", SMI.format(cuda="13.0", code=0))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def half(system: System, engine: Path) -> list[list[str]]:
        failing = "echo 'ERROR: HTTP error 404 while getting vllm.whl'; exit 1"
        return [["mkdir", str(engine)], ["sh", "-c", failing]]

    monkeypatch.setattr(wheel, "install_words", half)
    serve = replace(SYSTEM.serve, details={"wheel": str(tmp_path / "vllm-9-py3-none-any.whl"), "weights": "toy"})
    with (
        pytest.raises(ToolchainError, match=r"cannot be installed .*not at its address any more"),
        WHEEL.serve(replace(SYSTEM, serve=serve), tmp_path / "server", {}),
    ):
        pass
    assert list((tmp_path / "cache/engines").iterdir()) == []


def test_weights_are_checked_by_sha256_and_only_once(tmp_path: Path) -> None:
    digest = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
    serve = replace(SYSTEM.serve, details={"weights": "toy", "sha256": {"a.bin": digest, "b/c.bin": digest}})
    system = replace(SYSTEM, serve=serve)
    folder = tmp_path / "weights"
    (folder / "b").mkdir(parents=True)
    (folder / "a.bin").write_bytes(b"foo")
    (folder / "b/c.bin").write_bytes(b"fop")
    with pytest.raises(UserError, match=r"b/c\.bin has sha256 "):
        weights.check_weights(folder, serve.details["sha256"])
    (folder / "b/c.bin").write_bytes(b"foo")
    weights.check_weights(folder, serve.details["sha256"])
    weights.ensure_weights("/nowhere/python", system, folder)  # verified: nothing is fetched
    noted = json.loads((folder / weights.VERIFIED).read_text())
    assert noted["a.bin"][:2] == [digest, 3]
    (folder / "a.bin").write_bytes(b"foolish")
    with pytest.raises(FileNotFoundError):
        weights.ensure_weights("/nowhere/python", system, folder)
