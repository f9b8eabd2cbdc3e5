"""CDM by the official scorer, from a checkout that the user has; nothing of it is part of this package.

The checkout is named by EVALKIT_CDM_OFFICIAL, the Python that has its requirements by EVALKIT_CDM_PYTHON. The
official scorer needs pdflatex, ImageMagick (`magick`) and Ghostscript.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.errors import ToolchainError, UserError
from evalkit.types import PairScore
from metrics.cdm.cache import ResultCache
from metrics.cdm.contract import Pair, Progress
from metrics.cdm.toolchain import cache_folder

CHECKOUT_VARIABLE = "EVALKIT_CDM_OFFICIAL"
PYTHON_VARIABLE = "EVALKIT_CDM_PYTHON"
_PACKAGE = Path("src") / "metrics"
_TOOLS = ("pdflatex", "magick", "gs")

# Runs in the user's Python: one line in (gt, pred, as JSON), one line out (the figures, as JSON).
_DRIVER = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
from cdm.cdm import cdm_metrics
for line in sys.stdin:
    gt, pred = json.loads(line)
    answers.write(json.dumps(cdm_metrics(gt, pred, save_vis=False, tmp_dir=sys.argv[2])) + "\\n")
    answers.flush()
"""


@dataclass(frozen=True, slots=True)
class OfficialBackend:
    """The scorer of an OmniDocBench checkout, run pair by pair in a process of its own; answers are kept."""

    checkout: Path | None = None
    python: str | None = None
    folder: Path | None = None

    @property
    def name(self) -> str:
        """The name under which it is registered."""
        return "official"

    def score_many(
        self, pairs: Sequence[Pair], *, workers: int = 1, progress: Progress | None = None
    ) -> list[PairScore]:
        """Score pairs one after the other; `workers` is not used. Raises ToolchainError when a tool is missing.

        The official scorer tells no states: a side without tokens is "unknown".
        """
        package = self._package()
        cache = ResultCache((self.folder or cache_folder()) / "official", _digest(package / "cdm"))
        known = {pair: cache.get(*pair) for pair in dict.fromkeys(pairs)}
        missing = [pair for pair, body in known.items() if body is None]
        done = len(pairs) - len(missing)
        if missing:
            _require_tools()
            for pair, body in zip(missing, self._ask(package, missing), strict=True):
                cache.put(body, *pair)
                known[pair] = body
                done += 1
                if progress is not None:
                    progress(done, len(pairs))
        return [_pair_score(known[pair] or {}) for pair in pairs]

    def _package(self) -> Path:
        given = self.checkout or os.environ.get(CHECKOUT_VARIABLE)
        if not given:
            raise UserError(f"the official CDM needs a checkout of OmniDocBench: set {CHECKOUT_VARIABLE} to its folder")
        package = Path(given).resolve() / _PACKAGE
        if not (package / "cdm" / "cdm.py").is_file():
            raise UserError(f"{given} is no checkout of OmniDocBench 1.6: {_PACKAGE / 'cdm' / 'cdm.py'} is not in it")
        return package

    def _ask(self, package: Path, pairs: Sequence[Pair]) -> Iterator[Mapping[str, Any]]:
        python = self.python or os.environ.get(PYTHON_VARIABLE) or sys.executable
        with (
            tempfile.TemporaryDirectory(prefix="evalkit-official-") as scratch,
            _driver(python, package, scratch) as child,
        ):
            for pair in pairs:
                yield _answer(child, pair, python)


@contextmanager
def _driver(python: str, package: Path, scratch: str) -> Iterator[subprocess.Popen[str]]:
    with open(Path(scratch) / "messages", "w", encoding="utf-8") as messages:
        child = subprocess.Popen(
            [python, "-c", _DRIVER, str(package), scratch],
            cwd=scratch,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=messages,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        try:
            yield child
        finally:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()


def _answer(child: subprocess.Popen[str], pair: Pair, python: str) -> Mapping[str, Any]:
    if child.stdin is None or child.stdout is None:
        raise RuntimeError("the official scorer runs without pipes")
    try:
        child.stdin.write(json.dumps(pair) + "\n")
        child.stdin.flush()
        line = child.stdout.readline()
    except BrokenPipeError:
        line = ""
    if not line:
        raise ToolchainError(
            f"the official CDM scorer does not run with {python}: set {PYTHON_VARIABLE} to a Python"
            " that has the requirements of the checkout"
        )
    body: Mapping[str, Any] = json.loads(line)
    return body


def _require_tools() -> None:
    absent = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if absent:
        raise ToolchainError(
            f"the official CDM scorer needs {', '.join(absent)}; without them it gives 0 for every pair"
        )


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _pair_score(body: Mapping[str, Any]) -> PairScore:
    counts = {side: int(body.get(f"{side}_tokens", 0)) for side in ("gt", "pred")}
    states = {f"{side}_state": "ok" if count else "unknown" for side, count in counts.items()}
    f1 = float(body.get("F1_score", 0.0))
    figures = {name: float(body.get(name, 0.0)) for name in ("recall", "precision")}
    tokens = {f"{side}_tokens": count for side, count in counts.items()}
    return PairScore(f1, details={**figures, "f1": f1, "tp": int(body.get("tp", 0)), **tokens, **states})


OFFICIAL = OfficialBackend()
