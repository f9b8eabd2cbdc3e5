"""What an NVIDIA machine must have before an engine is started, asked of nvidia-smi."""

from __future__ import annotations

import re
import shutil
import subprocess

from evalkit.errors import ToolchainError

TIMEOUT_S = 30.0
_CUDA = re.compile(r"CUDA Version:\s*(\d+)\.(\d+)")


def require_cuda(needed: str | None) -> None:
    """Raises ToolchainError without a working driver, or with one that is too old for the CUDA that is needed."""
    if shutil.which("nvidia-smi") is None:
        raise ToolchainError(
            "no NVIDIA driver here: nvidia-smi is not on PATH. This system needs a GPU; without one use the emulated "
            "server (--emulate always) or a server elsewhere (--url)"
        )
    try:
        done = subprocess.run(["nvidia-smi"], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise ToolchainError(
            f"nvidia-smi does not answer within {TIMEOUT_S:g} s: the driver hangs; restart it"
        ) from error
    if done.returncode != 0:
        cause = " ".join((done.stdout + done.stderr).split())[:200]
        raise ToolchainError(f"the NVIDIA driver does not work ({cause}). Install or restart it")
    found = _CUDA.search(done.stdout)
    if needed is None or found is None:
        return
    have, want = tuple(map(int, found.groups())), tuple(map(int, needed.split(".")))
    if have < want:
        raise ToolchainError(
            f"the NVIDIA driver here supports CUDA {have[0]}.{have[1]}, this engine needs {needed} or newer. "
            "Install a newer driver"
        )
