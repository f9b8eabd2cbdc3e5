"""Does the toolchain draw what it should? Canary formulas of each kind, against stored boxes."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from evalkit.errors import ToolchainError
from evalkit.types import DoctorCheck
from metrics.cdm.format import Workshop
from metrics.cdm.rendering import Rendering, SideState, render
from metrics.cdm.toolchain import APT_LINE, cache_folder, find_toolchain, missing
from metrics.cdm.typeset import Typesetter

MAX_SHIFT_PX = 2  # another TeX Live may round a position differently; more than this is another picture


@dataclass(frozen=True, slots=True)
class CanaryReport:
    """One canary: `shift_px` is the largest difference of an edge from the stored boxes, None when not comparable."""

    name: str
    formula: str
    healthy: bool
    shift_px: int | None
    problem: str | None


def examine(workshop: Workshop) -> list[CanaryReport]:
    """Draw every canary and compare its boxes with the stored ones."""
    canaries = _canaries()
    with tempfile.TemporaryDirectory(prefix="evalkit-doctor-") as scratch:
        drawn = render(Typesetter(workshop, Path(scratch)), [canary["formula"] for canary in canaries])
    return [_compare(canary, rendering) for canary, rendering in zip(canaries, drawn, strict=True)]


def check_tex() -> list[DoctorCheck]:
    """Findings on the toolchain for `evalkit doctor`: one for the programs, one for each canary."""
    try:
        workshop = Workshop(find_toolchain(), cache_folder())
        workshop.prepare()
        reports = examine(workshop)
    except ToolchainError as error:
        return [DoctorCheck("tex", "missing", str(error).partition("\n")[0], APT_LINE)]
    findings = [DoctorCheck("tex", "ok", workshop.toolchain.identity)]
    for report in reports:
        state = "ok" if report.healthy else "broken"
        message = report.problem or f"drawn as stored (largest difference {report.shift_px} px)"
        findings.append(DoctorCheck(f"tex canary {report.name}", state, message, None if report.healthy else APT_LINE))
    return findings


def require_healthy(workshop: Workshop) -> None:
    """Examine the toolchain once for each version of it. Raises ToolchainError when a canary is not as stored."""
    stamp = workshop.folder / f"healthy-{_canary_digest()}"
    if stamp.exists():
        return
    workshop.prepare()
    sick = [report for report in examine(workshop) if not report.healthy]
    if sick:
        problems = "; ".join(f"{report.name} ({report.problem})" for report in sick)
        raise missing(f"the TeX installation draws test formulas wrongly: {problems}")
    stamp.touch()


@cache
def _canaries() -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = json.loads(_canary_text())["canaries"]
    return found


def _canary_text() -> str:
    return files("metrics.cdm").joinpath("canaries.json").read_text(encoding="utf-8")


def _canary_digest() -> str:
    return hashlib.sha256(_canary_text().encode()).hexdigest()[:12]


def _compare(canary: Mapping[str, Any], rendering: Rendering) -> CanaryReport:
    def report(problem: str | None, shift_px: int | None = None) -> CanaryReport:
        return CanaryReport(canary["name"], canary["formula"], problem is None, shift_px, problem)

    if rendering.state is not SideState.OK or rendering.side is None:
        return report(f"{rendering.state}: {rendering.note}")
    expected = [(token, box) for token, *box in canary["tokens"]]
    seen = [(drawn.token, list(drawn.box)) for drawn in rendering.side.tokens]
    if [token for token, _ in expected] != [token for token, _ in seen]:
        return report(f"{len(seen)} tokens can be seen instead of {len(expected)}")
    pairs = zip(expected, seen, strict=True)
    shift = max(abs(a - b) for (_, left), (_, right) in pairs for a, b in zip(left, right, strict=True))
    return report(None if shift <= MAX_SHIFT_PX else f"a box is {shift} px off", shift)
