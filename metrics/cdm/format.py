"""Dumped TeX formats, one a preamble, and fonts that must be made: prepared once, kept in the cache folder."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from evalkit.errors import UserError
from metrics.cdm.formula import Kind
from metrics.cdm.preamble import preamble
from metrics.cdm.sandbox import Limits, run
from metrics.cdm.toolchain import Toolchain, missing

_DUMP_LIMITS = Limits(cpu_s=120, wall_s=300.0)
_MADE_FONT = re.compile(r"[a-z]{2,8}[0-9]{3,4}")
_FONT_TIMEOUT_S = 120
FONT_DPI = 600


class Workshop:
    """The place where TeX runs start: formats and made fonts under one folder, keyed by toolchain and preamble."""

    def __init__(self, toolchain: Toolchain, folder: Path) -> None:
        self.toolchain = toolchain
        texts = [preamble(kind) for kind in Kind]
        self.key = hashlib.sha256("\0".join([toolchain.identity, *texts]).encode()).hexdigest()[:16]
        self.folder = folder / f"tex-{self.key}"

    def format_path(self, kind: Kind) -> Path:
        """The dumped format of a preamble; dumped on first use."""
        path = self.folder / f"{kind}.fmt"
        if not path.exists():
            self._dump(kind, path)
        return path

    def prepare(self) -> None:
        """Dump all formats, so that workers need not."""
        for kind in Kind:
            self.format_path(kind)

    def environment(self, scratch: Path) -> dict[str, str]:
        """Environment of a run on hostile text: nothing is read or written outside the scratch folder by name."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(scratch),
            "LC_ALL": "C.UTF-8",
            "TEXMFHOME": str(scratch / "texmf"),
            "TEXMFCONFIG": str(scratch / "texmf"),
            "TEXMFVAR": str(scratch / "texmf"),
            "TEXMFOUTPUT": str(scratch),
            "VARTEXFONTS": str(self.folder / "fonts"),
            "MKTEXPK": "0",
            "MKTEXTFM": "0",
            "MKTEXMF": "0",
            "MKTEXTEX": "0",
            "MKTEXFMT": "0",
            "shell_escape": "f",
            "openin_any": "p",
            "openout_any": "p",
            "max_print_line": "10000",
            "SOURCE_DATE_EPOCH": "0",
        }

    def make_font(self, name: str) -> bool:
        """Make the bitmaps of a METAFONT font that a page needs; False when there is no such font."""
        if not _MADE_FONT.fullmatch(name):
            return False
        with tempfile.TemporaryDirectory(prefix="evalkit-font-") as scratch:
            environment = self.environment(Path(scratch)) | {"MKTEXPK": "1", "MT_FEATURES": "varfonts"}
            arguments = [
                "--mfmode",
                "ljfour",
                "--bdpi",
                str(FONT_DPI),
                "--mag",
                "1+0/600",
                "--dpi",
                str(FONT_DPI),
                name,
            ]
            try:
                made = subprocess.run(
                    [self.toolchain.mktexpk, *arguments],
                    cwd=scratch,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=_FONT_TIMEOUT_S,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired):
                return False
        return made.returncode == 0

    def _dump(self, kind: Kind, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"cannot write the cache folder {path.parent} ({error}); set EVALKIT_CACHE") from error
        with tempfile.TemporaryDirectory(prefix="evalkit-format-") as scratch:
            folder = Path(scratch)
            (folder / "dump.tex").write_text(preamble(kind) + "\n\\dump\n", encoding="utf-8")
            arguments = [
                "-ini",
                "-no-shell-escape",
                "-interaction=nonstopmode",
                f"-jobname={kind}",
                "&pdflatex",
                "dump.tex",
            ]
            outcome = run([self.toolchain.pdflatex, *arguments], folder, self.environment(folder), _DUMP_LIMITS)
            made = folder / f"{kind}.fmt"
            log = _read(folder / f"{kind}.log")
            if outcome.exit_code != 0 or not made.exists():
                raise missing(f"the LaTeX preamble for {kind} formulas does not compile ({first_error(log)})")
            staged = path.with_name(f".{path.name}.{os.getpid()}")
            shutil.move(made, staged)
            staged.replace(path)


def first_error(log: str) -> str:
    """The first error line of a TeX log, else its last line."""
    lines = [line for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("!")]
    return (errors or lines[-1:] or ["no log"])[0]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def tex_arguments(toolchain: Toolchain, format_path: Path, job: str) -> list[str]:
    """The command line for a document in the current folder."""
    flags = ["-no-shell-escape", "-interaction=nonstopmode", f"-fmt={format_path}", f"-jobname={job}"]
    return [toolchain.pdflatex, *flags, f"{job}.tex"]
