"""CDM fixtures: the toolchain, or a loud skip; one cache folder and one typesetter a session; the golden data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evalkit.errors import ToolchainError
from metrics.cdm.format import Workshop
from metrics.cdm.match import DrawnToken, Side
from metrics.cdm.score import FORMULA_CDM, FormulaCdm, NativeBackend
from metrics.cdm.toolchain import find_toolchain
from metrics.cdm.typeset import Typesetter

DATA = Path(__file__).parents[2] / "data" / "cdm"


@dataclass(frozen=True)
class GoldenPair:
    """A pair with the official figures."""

    gt: str
    pred: str
    figures: dict[str, float]


@dataclass(frozen=True)
class GoldenFormula:
    """All tokens of a formula, and its official picture."""

    tokens: tuple[str, ...]
    side: Side | None


def golden_side(size: list[int], tokens: list[list[Any]]) -> Side | None:
    visible = tuple(DrawnToken(token, (box[0], box[1], box[2], box[3])) for token, *box in tokens if box)
    return Side(visible, *size) if visible else None


def load_pairs() -> list[GoldenPair]:
    rows = [json.loads(line) for line in (DATA / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    names = ("recall", "precision", "f1", "tp", "gt_tokens", "pred_tokens")
    return [GoldenPair(row["gt"], row["pred"], {name: row[name] for name in names}) for row in rows]


def load_formulas() -> dict[str, GoldenFormula]:
    rows = [json.loads(line) for line in (DATA / "boxes.jsonl").read_text(encoding="utf-8").splitlines()]
    return {
        row["formula"]: GoldenFormula(
            tuple(token for token, *_ in row["tokens"]), golden_side(row["size"], row["tokens"])
        )
        for row in rows
    }


@pytest.fixture(scope="session")
def golden_pairs() -> list[GoldenPair]:
    return load_pairs()


@pytest.fixture(scope="session")
def golden_formulas() -> dict[str, GoldenFormula]:
    return load_formulas()


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cdm-cache")


@pytest.fixture(scope="session")
def workshop(cache: Path) -> Workshop:
    """Formats in a folder of this session. Without TeX every test that needs it is skipped, with what installs it."""
    try:
        made = Workshop(find_toolchain(), cache)
        made.prepare()
    except ToolchainError as error:
        pytest.skip(f"NO TEX, SO CDM IS NOT TESTED: {error}")
    return made


@pytest.fixture(scope="session")
def typesetter(workshop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> Typesetter:
    return Typesetter(workshop, tmp_path_factory.mktemp("cdm-scratch"))


@pytest.fixture(scope="session")
def metric(workshop: Workshop, cache: Path) -> FormulaCdm:
    """The metric with drawings kept in this session's folder only."""
    return FORMULA_CDM.using(NativeBackend(cache))
