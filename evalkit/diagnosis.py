"""Checks of this machine: each area is a registered function that gives a list of findings."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version

from evalkit import registry
from evalkit.errors import EvalkitError, unknown_name
from evalkit.types import DoctorCheck

# Packages whose version can move a score, with why.
SCORE_PACKAGES = {
    "lxml": "parses tables; libxml2 moves TEDS of malformed HTML",
    "rapidfuzz": "edit distances",
    "numpy": "TEDS and matching",
    "scipy": "assignment of formulas and glyphs",
    "pylatexenc": "formulas to text, and CDM's tokens",
}
LEAST_FREE_GB = 2


def diagnose(names: Sequence[str] = ()) -> list[DoctorCheck]:
    """Findings of the named areas and systems; of every area when none is named."""
    areas = registry.names("doctor")
    systems = {row["name"] for row in registry.load("catalog", "systems")()}
    unknown = [name for name in names if name not in areas and name not in systems]
    if unknown:
        raise unknown_name("area or system", unknown[0], [*areas, *systems])
    findings: list[DoctorCheck] = []
    for name in names or areas:
        findings += _area(name) if name in areas else _system(name)
    return findings


def _area(name: str) -> list[DoctorCheck]:
    check: Callable[[], list[DoctorCheck]] = registry.load("doctor", name)
    try:
        return check()
    except EvalkitError as error:
        return [DoctorCheck(name, "broken", str(error))]


def _system(name: str) -> list[DoctorCheck]:
    findings: list[DoctorCheck] = registry.load("catalog", "system_doctor")(name)
    return findings


def check_python() -> list[DoctorCheck]:
    """Python, the packages that scores depend on, and room on the disk."""
    here = ".".join(map(str, sys.version_info[:3]))
    fits = (3, 11) <= sys.version_info[:2] <= (3, 13)
    findings = [DoctorCheck("python", "ok" if fits else "broken", here, "use Python 3.11, 3.12 or 3.13")]
    findings += [_package(name, why) for name, why in SCORE_PACKAGES.items()]
    free_gb = shutil.disk_usage(os.getcwd()).free / 1e9
    state = "ok" if free_gb >= LEAST_FREE_GB else "broken"
    return [*findings, DoctorCheck("disk", state, f"{free_gb:.0f} GB free here", f"free {LEAST_FREE_GB} GB or more")]


def _package(name: str, why: str) -> DoctorCheck:
    try:
        return DoctorCheck(name, "ok", f"{version(name)} ({why})")
    except PackageNotFoundError:
        return DoctorCheck(name, "missing", why, f"pip install {name}")


def importable(package: str) -> bool:
    """Whether a package can be imported here."""
    try:
        importlib.import_module(package)
    except ImportError:
        return False
    return True
