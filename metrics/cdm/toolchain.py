"""The TeX programs and files that CDM needs: where they are, what they are called, and the line that installs them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evalkit.errors import ToolchainError

APT_PACKAGES = ("texlive-latex-recommended", "latex-cjk-common", "latex-cjk-chinese-arphic-gkai00mp")
APT_LINE = "apt-get install -y --no-install-recommends " + " ".join(APT_PACKAGES)

_NEEDED_FILES = (
    "article.cls",
    "geometry.sty",
    "booktabs.sty",
    "amsmath.sty",
    "amssymb.sty",
    "xcolor.sty",
    "CJK.sty",
    "c70gkai.fd",
    "gkaiu4e.pfb",
    "cmr12.pfb",
    "eurm10.pfb",
    "tcrm1200.mf",
)
_QUERY_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The programs by their paths; `identity` changes with any version that can move a box."""

    pdflatex: str
    mktexpk: str
    identity: str


def cache_folder() -> Path:
    """Where formats, made fonts and boxes are kept: EVALKIT_CACHE, else the user's cache folder."""
    given = os.environ.get("EVALKIT_CACHE")
    if given:
        return Path(given) / "cdm"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "evalkit" / "cdm"


@cache
def find_toolchain() -> Toolchain:
    """The installed toolchain. Raises ToolchainError with the line that installs what is missing."""
    programs = {name: shutil.which(name) for name in ("pdflatex", "kpsewhich", "mktexpk", "mf", "prlimit")}
    absent = [name for name, path in programs.items() if path is None]
    if absent:
        raise missing(f"program not found: {', '.join(absent)}")
    kpsewhich, pdflatex, mktexpk = (str(programs[name]) for name in ("kpsewhich", "pdflatex", "mktexpk"))
    found = _query([kpsewhich, "--all", *_NEEDED_FILES]).split()
    present = {Path(path).name: path for path in reversed(found)}
    absent = [name for name in _NEEDED_FILES if name not in present]
    if absent:
        raise missing(f"TeX files not found: {', '.join(absent)}")
    return Toolchain(pdflatex, mktexpk, _identity(pdflatex, present))


def missing(problem: str) -> ToolchainError:
    """The error for a toolchain that cannot score: what is wrong and what cures it."""
    return ToolchainError(
        f"formula_cdm cannot be scored: {problem}.\n"
        f"Install the TeX packages with\n  {APT_LINE}\n"
        "or leave the metric out with --no-cdm (it is then reported as not scored, never as 0)."
    )


def _identity(pdflatex: str, files: Mapping[str, str]) -> str:
    """Version line of the engine, and a digest of the package files."""
    version = _query([pdflatex, "--version"]).partition("\n")[0]
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(Path(files[name]).read_bytes())
    return f"{version} {digest.hexdigest()[:16]}"


def _query(argv: list[str]) -> str:
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=_QUERY_TIMEOUT_S, check=False).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise missing(f"{argv[0]} does not run ({error})") from error
