"""Why a server did not start, in one sentence with its remedy, from the last lines of its log."""

from __future__ import annotations

import re
from pathlib import Path

TAIL_BYTES = 64 * 1024
SHOWN_LINES = 15
KILLED = (-9, 137)
"""Exit codes of a program that got SIGKILL, as Python and as shells and containers tell it."""

CAUSES: tuple[tuple[str, str], ...] = (
    (
        r"CUDA out of memory|OutOfMemoryError|No available memory for the cache blocks"
        r"|Free memory on device .* is less than desired|larger than the available KV cache memory",
        "The GPU has too little free memory. Stop what else runs on it (nvidia-smi), or lower "
        "gpu-memory-utilization or max-model-len in the system's file.",
    ),
    (
        r"driver version is insufficient|CUDA driver version|forward compatibility was attempted"
        r"|The NVIDIA driver on your system is too old|PTX was compiled with an unsupported toolchain",
        "The NVIDIA driver is too old for this engine's CUDA. Install a newer driver, or use the container launcher "
        "with an image for your CUDA.",
    ),
    (
        r"Driver/library version mismatch",
        "The NVIDIA driver was updated while it ran. Restart the machine, or load the driver anew.",
    ),
    (
        r"CUDA-capable devices? (is|are) busy",
        "Another process holds the GPU for itself. Stop it (nvidia-smi names it).",
    ),
    (
        r"lib(cudart|cublas|cudnn|nccl|nvrtc)\S*\.so\S*: cannot open",
        "This build is for a CUDA whose libraries are not here. Use the build for your CUDA, or make its environment "
        "anew.",
    ),
    (
        r"no kernel image is available|not compatible with the current PyTorch installation",
        "This build has no code for this kind of GPU. Use an engine built for it.",
    ),
    (
        r"No CUDA GPUs are available|Found no NVIDIA driver|libcuda\.so|Failed to infer device type"
        r"|NVML Shared Library Not Found",
        "No NVIDIA GPU or driver was found. Check that nvidia-smi lists a GPU (in a container: --gpus all).",
    ),
    (
        r"unrecognized arguments|error: argument ",
        "This version of the engine does not know one of the flags. Use the version that the system names.",
    ),
    (
        r"[Aa]ddress already in use|Errno 98|port is already allocated",
        "The port is taken. Choose another with --port, or leave it to evalkit.",
    ),
    (
        r"GatedRepoError|401 Client Error",
        "The hub refuses the model without a login. Set HF_TOKEN, or give its local folder with --weights.",
    ),
    (
        r"Repo id must|We couldn't connect to 'https://huggingface|LocalEntryNotFoundError|Repository Not Found"
        r"|is not a local folder"
        r"|Can't load the configuration|HFValidationError|OSError: .* does not appear to have",
        "The model or its draft head was not found. Give its local folder with --weights, or let the wheel launcher "
        "download it.",
    ),
    (
        r"Model architectures? .* (is|are) not supported|has no vLLM implementation",
        "This engine does not know the model. HPD's fork mode needs its own vLLM (launchers wheel and container).",
    ),
    (
        r"ModuleNotFoundError|No module named|undefined symbol|PackageNotFoundError|ImportError",
        "The engine's Python environment is broken or incomplete. Remove it and start again, so that it is made anew.",
    ),
    (
        r"manifest unknown|manifest for .* not found|pull access denied|dial tcp|TLS handshake timeout",
        "The container image cannot be fetched. Check the network, or load the image here first.",
    ),
    (r"No space left on device", "The disk is full. Free space, or move the cache with --cache."),
    (
        r"cannot start .*: No such file|command not found",
        "The engine's program was not found. Install it, or name its environment with --vllm.",
    ),
    (
        r"Cannot connect to the Docker daemon|permission denied while trying to connect",
        "The container engine does not answer. Start it, or let your user use it.",
    ),
    (
        r"could not select device driver|nvidia-container-cli",
        "Containers cannot use the GPU here. Install the NVIDIA Container Toolkit.",
    ),
)


def log_tail(path: Path) -> str:
    """The end of a log; empty when there is none."""
    try:
        with open(path, "rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - TAIL_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def explain(tail: str, exit_code: int | None = None) -> str:
    """The sentence for the first cause that the log shows; else what the exit code tells, or a general one."""
    for pattern, sentence in CAUSES:
        if re.search(pattern, tail):
            return sentence
    if exit_code in KILLED:
        return (
            "It was killed by another process, most likely by the system for lack of main memory (dmesg tells). "
            "Free memory, or give its container more."
        )
    return "The log shows no cause that is known here."


def last_lines(tail: str, count: int = SHOWN_LINES) -> str:
    """The last lines that are not empty, indented."""
    lines = [line for line in tail.splitlines() if line.strip()]
    return "\n".join(f"  | {line[:300]}" for line in lines[-count:])


def log_head(path: Path, size_bytes: int = 4 * TAIL_BYTES) -> str:
    """The beginning of a log, where servers tell their settings; empty when there is none."""
    try:
        with open(path, "rb") as file:
            return file.read(size_bytes).decode("utf-8", "replace")
    except OSError:
        return ""
