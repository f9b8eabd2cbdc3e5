"""A module that passes for vllm's Python API, for the offline runner; its behaviour is told by the model's name."""

from __future__ import annotations

from pathlib import Path

MODULE = """
import os, sys, time
from types import SimpleNamespace

__version__ = "9.9.9"


class SamplingParams:
    def __init__(self, **values):
        self.values = values


class LLM:
    def __init__(self, model, **engine):
        if model == "oom":
            raise RuntimeError("No available memory for the cache blocks.")
        if model == "loads-for-ever":
            print(os.getpid(), file=sys.stderr, flush=True)
            time.sleep(600)
        if model == "crash":
            print("Found no NVIDIA driver on your system", file=sys.stderr)
            os._exit(1)
        self.model, self.engine, self.calls, self.tokens = model, engine, 0, 0

    def get_metrics(self):
        return [SimpleNamespace(name="vllm:generation_tokens", value=self.tokens)]

    def chat(self, chats, sampling, use_tqdm):
        self.calls += 1
        if self.model == "second-batch-fails" and self.calls == 2:
            raise ValueError("mm processor failed")
        if self.model == "second-batch-dies" and self.calls == 2 or self.model == "first-batch-dies":
            os._exit(3)
        print("noise on stdout")
        self.tokens += 7 * len(chats)
        finish = "length" if sampling.values.get("max_tokens") == 7 else "stop"
        return [
            SimpleNamespace(
                prompt_token_ids=[1] * 100,
                num_cached_tokens=0,
                outputs=[SimpleNamespace(text="# Page", finish_reason=finish, token_ids=[1] * 7)],
            )
            for chat in chats
        ]
"""


def write_environment(folder: Path, python: str) -> Path:
    """An environment whose Python finds the module and whose bin holds a vllm program."""
    (folder / "bin").mkdir(parents=True)
    (folder / "lib").mkdir()
    (folder / "lib" / "vllm.py").write_text(MODULE)
    for name, text in (("python", f'exec {python} "$@"'), ("vllm", "exit 1")):
        program = folder / "bin" / name
        program.write_text(f"#!/bin/sh\nexport PYTHONPATH={folder}/lib\n{text}\n")
        program.chmod(0o755)
    return folder
