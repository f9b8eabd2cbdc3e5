"""What one system needs on this machine, and whether it is there."""

from __future__ import annotations

import importlib.util
import os
import shutil

from evalkit.types import DoctorCheck, System
from runners.environments.install import program_of
from runners.parsers.doctor import check_liteparse, check_rapid_stack, check_tesseract
from runners.systems import load_system

LOCAL = {"tesseract": check_tesseract, "rapid-stack": check_rapid_stack, "liteparse": check_liteparse}


def check_system(name: str) -> list[DoctorCheck]:
    """Findings for one system: its program, server, key or GPU."""
    system = load_system(name)
    if system.runner == "local":
        check = LOCAL.get(system.command[0]) if system.command else None
        return [check()] if check else []
    if system.runner == "command":
        return [_check_program(system)]
    if system.runner == "hosted_api":
        return _check_key(system)
    return [*_check_key(system), *_check_launcher(system)]


def check_gpu() -> list[DoctorCheck]:
    """Whether there is a GPU. None is no fault: systems that need one are emulated in a benchmark, and labelled so."""
    if _has_gpu():
        return [DoctorCheck("gpu", "ok", "nvidia-smi is on PATH")]
    return [
        DoctorCheck(
            "gpu", "absent", "no NVIDIA GPU here: systems that need one are emulated, unless --url names a server"
        )
    ]


def _has_gpu() -> bool:
    return shutil.which("nvidia-smi") is not None


def _check_program(system: System) -> DoctorCheck:
    program = program_of(system) if system.command else ""
    if shutil.which(program):
        return DoctorCheck(system.name, "ok", f"the program is {shutil.which(program)}")
    cure = "install it, or name it with a path"
    if system.environment is not None:
        cure = f"evalkit systems install {system.name}"
    return DoctorCheck(system.name, "missing", f"the program {program!r} is not on PATH", cure)


def _check_key(system: System) -> list[DoctorCheck]:
    variable = system.request.api_key_env
    if variable is None:
        return []
    if os.environ.get(variable):
        return [DoctorCheck(system.name, "ok", f"the key is in ${variable}")]
    return [DoctorCheck(system.name, "missing", f"no key in ${variable}", f"export {variable}=…")]


def _check_launcher(system: System) -> list[DoctorCheck]:
    launcher = system.serve.launcher
    if launcher == "url":
        return [DoctorCheck(system.name, "absent", "served elsewhere: give its address with --url")]
    gpu = _has_gpu()
    findings = [
        DoctorCheck(f"{system.name} gpu", "ok", "nvidia-smi is on PATH")
        if gpu
        else DoctorCheck(
            f"{system.name} gpu",
            "missing",
            "no NVIDIA GPU here",
            "use a machine with one, --url, or the emulated server",
        )
    ]
    if launcher == "container":
        found = shutil.which("docker") or shutil.which("podman")
        state, text = ("ok", f"{found}") if found else ("missing", "neither docker nor podman is on PATH")
        findings.append(DoctorCheck(f"{system.name} container", state, text, "install docker or podman"))
    if launcher == "vllm" and not (shutil.which("vllm") or importlib.util.find_spec("vllm")):
        findings.append(DoctorCheck(f"{system.name} vllm", "missing", "vllm is not on PATH", "pip install vllm"))
    return findings
