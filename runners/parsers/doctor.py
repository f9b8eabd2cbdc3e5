"""What the offline parsers need on this machine."""

from __future__ import annotations

import importlib
import shutil
import subprocess

from evalkit.errors import ToolchainError
from evalkit.types import DoctorCheck
from runners.parsers.liteparse import tessdata_folder
from runners.parsers.tesseract import INSTALL, LANGUAGES

RAPID_PACKAGES = ("rapidocr", "rapid_layout", "rapid_table")
EXTRA = "pip install 'evalkit[ocr]'"


def check_parsers() -> list[DoctorCheck]:
    """Findings for tesseract, rapid-stack and liteparse."""
    return [check_tesseract(), check_rapid_stack(), check_liteparse()]


def check_tesseract() -> DoctorCheck:
    """The program and its languages."""
    if shutil.which("tesseract") is None:
        return DoctorCheck("tesseract", "missing", "the program is not on PATH", INSTALL)
    done = subprocess.run(["tesseract", "--list-langs"], capture_output=True, text=True, check=False)
    absent = [language for language in LANGUAGES.split("+") if language not in done.stdout.split()]
    if absent:
        return DoctorCheck("tesseract", "missing", f"language data missing: {', '.join(absent)}", INSTALL)
    version = subprocess.run(["tesseract", "--version"], capture_output=True, text=True, check=False).stdout
    return DoctorCheck("tesseract", "ok", version.splitlines()[0])


def check_rapid_stack() -> DoctorCheck:
    """The packages that ship the models."""
    absent = []
    for package in RAPID_PACKAGES:
        try:
            importlib.import_module(package)
        except ImportError as error:
            absent.append(f"{package} ({error})")
    if not absent:
        return DoctorCheck("rapid-stack", "ok", "rapidocr, rapid-layout and rapid-table with their models")
    if len(absent) == 1 and absent[0].startswith("rapid_table"):
        message = (
            "works without the table model (rapid-table has no wheel for Python 3.13); tables come from geometry alone"
        )
        return DoctorCheck("rapid-stack", "ok", message)
    return DoctorCheck("rapid-stack", "missing", f"cannot import {'; '.join(absent)}", EXTRA)


def check_liteparse() -> DoctorCheck:
    """The package, and the language data that it shares with tesseract."""
    try:
        importlib.import_module("liteparse")
        tessdata_folder()
    except ImportError as error:
        return DoctorCheck("liteparse", "missing", f"cannot import liteparse ({error})", EXTRA)
    except ToolchainError as error:
        return DoctorCheck("liteparse", "missing", str(error), INSTALL)
    return DoctorCheck("liteparse", "ok", "liteparse with Tesseract's language data")
