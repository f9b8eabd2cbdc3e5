"""What the log of an engine that did not start says, in one sentence with its remedy."""

from __future__ import annotations

import pytest

from runners.launchers.diagnosis import explain


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("RuntimeError: The NVIDIA driver on your system is too old (found version 11040)", "driver is too old"),
        ("RuntimeError: No CUDA GPUs are available", "No NVIDIA GPU or driver"),
        ("OSError: [Errno 98] Address already in use", "The port is taken"),
        ("ValueError: Model architectures ['HPDChatModel'] are not supported for now", "does not know the model"),
        ("huggingface_hub.errors.HFValidationError: Repo id must be in the form", "was not found"),
        ("ModuleNotFoundError: No module named 'flashinfer'", "environment is broken"),
        ("docker: Error response from daemon: could not select device driver", "NVIDIA Container Toolkit"),
        ("CUDA error: the provided PTX was compiled with an unsupported toolchain.", "driver is too old"),
        ("Failed to initialize NVML: Driver/library version mismatch", "driver was updated while it ran"),
        ("RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable", "holds the GPU for itself"),
        ("ImportError: libcudart.so.12: cannot open shared object file: No such file", "for a CUDA whose libraries"),
        ("ImportError: libcuda.so.1: cannot open shared object file: No such file", "No NVIDIA GPU or driver"),
        ("OSError: Repo id must use alphanumeric chars, '-', '_' or '.'", "was not found"),
        ("huggingface_hub.errors.GatedRepoError: 401 Client Error. Cannot access gated repo", "without a login"),
        (
            "docker: Error response from daemon: manifest for x@sha256:1 not found: manifest unknown",
            "cannot be fetched",
        ),
        ("docker: Error: Bind for 127.0.0.1:8000 failed: port is already allocated.", "The port is taken"),
        ("all is well", "no cause that is known"),
    ],
)
def test_causes_in_logs(line: str, sentence: str) -> None:
    assert sentence in explain(f"INFO starting\n{line}\n")
