"""gates.toml: which rules a candidate must pass, checked with all mistakes at once."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from evalkit.errors import InvalidFileError, UserError

VERSION = 1
FILE = "gates.toml"
MAX_RULES = 500
HPD_EDGES = (0, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000)


@dataclass(frozen=True, slots=True)
class ValidityRules:
    """What must hold before scores are compared. Shares are 0 to 1; None: not asked for.

    `allow_differences` names parts of the signature that may differ, such as evalkit (its version).
    """

    least_coverage: float = 1.0
    greatest_truncation_rate: float | None = None
    required_checks: tuple[str, ...] = ()
    allow_differences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StatisticsSettings:
    """How intervals are made. `stratify` is a page attribute; `length_edges` are lower edges in output tokens."""

    level: float = 0.95
    resamples: int = 10_000
    seed: int = 0
    interval: str = "bca"
    stratify: str | None = None
    length_edges: tuple[int, ...] = HPD_EDGES


@dataclass(frozen=True, slots=True)
class AccuracyRule:
    """A rule on one metric, over all pages, over those `where` selects, or for each value of attribute `by`.

    margin, floor, ceiling and greatest_drop are in the metric's unit (overall: points of 100; others 0 to 1).
    """

    metric: str
    margin: float | None = None
    relative_margin: float | None = None
    floor: float | None = None
    ceiling: float | None = None
    greatest_drop: float | None = None
    exact: bool = False
    by: str | None = None
    where: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SpeedRule:
    """A rule on one figure of speed, of all pages or of groups of them, as for accuracy.

    `noise` is the relative standard deviation of a run, known from A/A runs. `greatest_drop` is a share of the
    baseline's value.
    """

    figure: str
    relative_margin: float | None = None
    floor: float | None = None
    ceiling: float | None = None
    greatest_drop: float | None = None
    exact: bool = False
    noise: float | None = None
    better: str | None = None
    by: str | None = None
    where: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GateConfig:
    """All rules of a gate."""

    validity: ValidityRules = ValidityRules()
    statistics: StatisticsSettings = StatisticsSettings()
    accuracy: tuple[AccuracyRule, ...] = ()
    speed: tuple[SpeedRule, ...] = ()


DEFAULT = GateConfig(accuracy=(AccuracyRule("overall", margin=0.5),), speed=())
"""Without a gates.toml: Overall may not fall by more than half a point."""

_SHARES = ("least_coverage", "greatest_truncation_rate")
_NOT_NEGATIVE = ("margin", "relative_margin", "greatest_drop", "noise")
_LIMITS = ("margin", "relative_margin", "floor", "ceiling", "greatest_drop", "exact")


def load_config(path: Path) -> GateConfig:
    """Read and check a gates.toml. Raises UserError without it, InvalidFileError with every mistake in it."""
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file; `evalkit gate init RUN` writes one") from error
    except IsADirectoryError as error:
        raise UserError(f"{path}: is a folder, expected a TOML file") from error
    except UnicodeDecodeError as error:
        raise InvalidFileError(str(path), [f"not UTF-8 text (byte {error.start})"]) from error
    except tomllib.TOMLDecodeError as error:
        raise InvalidFileError(str(path), [f"not valid TOML: {error}"]) from error
    problems: list[str] = []
    config = _parse(plain, problems)
    if problems:
        raise InvalidFileError(str(path), problems)
    return config


def _parse(plain: Mapping[str, Any], problems: list[str]) -> GateConfig:
    for key in plain.keys() - {"version", "validity", "statistics", "accuracy", "speed"}:
        problems.append(_unknown(key, "the file", ["version", "validity", "statistics", "accuracy", "speed"]))
    if plain.get("version") != VERSION:
        problems.append(
            f"version must be {VERSION}, found {plain.get('version')!r}; `evalkit gate init` writes this one"
        )
    accuracy = _tables(plain, "accuracy", problems)
    speed = _tables(plain, "speed", problems)
    if len(accuracy) + len(speed) > MAX_RULES:
        problems.append(
            f"{len(accuracy) + len(speed)} rules, the limit is {MAX_RULES}; "
            "`by` makes one for each value of an attribute"
        )
        return GateConfig()
    return GateConfig(
        _record(ValidityRules, _table(plain, "validity", problems), "[validity]", problems),
        _record(StatisticsSettings, _table(plain, "statistics", problems), "[statistics]", problems),
        tuple(_rule(AccuracyRule, row, f"[[accuracy]] {n}", problems) for n, row in enumerate(accuracy, start=1)),
        tuple(_rule(SpeedRule, row, f"[[speed]] {n}", problems) for n, row in enumerate(speed, start=1)),
    )


def _table(plain: Mapping[str, Any], key: str, problems: list[str]) -> dict[str, Any]:
    value = plain.get(key, {})
    if isinstance(value, dict):
        return value
    problems.append(f"{key} must be a table, written [{key}]")
    return {}


def _tables(plain: Mapping[str, Any], key: str, problems: list[str]) -> list[dict[str, Any]]:
    value = plain.get(key, [])
    if isinstance(value, list) and all(isinstance(row, dict) for row in value):
        return value
    problems.append(f"{key} must be rules, each written [[{key}]]")
    return []


def _rule(kind: type[Any], row: Mapping[str, Any], where: str, problems: list[str]) -> Any:
    named = str(row.get("metric") or row.get("figure") or "")
    place = f"{where} ({named})" if named else where
    rule = _record(kind, row, place, problems)
    if not any(row.get(key) not in (None, False) for key in _LIMITS):
        problems.append(f"{place}: asks for nothing; give one of {', '.join(_allowed(kind, _LIMITS))}")
    if row.get("margin") is not None and row.get("relative_margin") is not None:
        problems.append(f"{place}: give margin or relative_margin, not both")
    if "p99" in named:
        problems.append(f"{place}: p99 of a benchmark run is too noisy to gate on; take p50 or the mean")
    if row.get("by") and row.get("where"):
        problems.append(f"{place}: give by or where, not both")
    if isinstance(row.get("where"), dict) and len(row["where"]) > 1:
        problems.append(f"{place}: where takes one attribute")
    if row.get("better") not in (None, "higher", "lower"):
        problems.append(f'{place}: better must be "higher" or "lower", not {row["better"]!r}')
    return rule


def _allowed(kind: type[Any], names: tuple[str, ...]) -> list[str]:
    known = {item.name for item in fields(kind)}
    return [name for name in names if name in known]


def _record(kind: type[Any], row: Mapping[str, Any], where: str, problems: list[str]) -> Any:
    """A record from a table; what is wrong goes to `problems` and the field keeps a harmless value."""
    types = {item.name: str(item.type) for item in fields(kind)}
    values: dict[str, Any] = {}
    for key, value in row.items():
        if key not in types:
            problems.append(_unknown(key, where, list(types)))
            continue
        wrong = _wrong_value(key, value, types[key])
        if wrong:
            problems.append(f"{where}: {key} {wrong}, not {value!r}")
        else:
            values[key] = tuple(value) if isinstance(value, list) else value
    for name in ("metric", "figure"):
        if name in types and not isinstance(values.get(name), str):
            if name not in row:
                problems.append(f"{where}: needs {name}")
            values[name] = ""
    return kind(**values)


def _wrong_value(key: str, value: Any, declared: str) -> str | None:
    """What a value must be, when it is not."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if declared.startswith("float"):
        if not number:
            return "must be a finite number"
        if key in _SHARES and not 0 <= value <= 1:
            return "must be a share from 0 to 1"
        if key in _NOT_NEGATIVE and value < 0:
            return "must be 0 or more"
        return "must lie between 0 and 1" if key == "level" and not 0 < value < 1 else None
    if declared.startswith("int"):
        least = 100 if key == "resamples" else 0
        whole = isinstance(value, int) and not isinstance(value, bool)
        return None if whole and least <= value <= 1_000_000 else f"must be a whole number from {least} to 1000000"
    if declared.startswith("bool"):
        return None if isinstance(value, bool) else "must be true or false"
    if declared.startswith("tuple[int"):
        fits = isinstance(value, list) and value and all(isinstance(edge, int) and edge >= 0 for edge in value)
        return None if fits and value == sorted(set(value)) else "must be rising whole numbers"
    if declared.startswith("tuple"):
        return None if isinstance(value, list) and all(isinstance(item, str) for item in value) else "must be names"
    if declared.startswith("Mapping"):
        fits = isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
        return None if fits else 'must be like { language = "english" }'
    if key == "interval":
        return None if value in ("bca", "percentile") else 'must be "bca" or "percentile"'
    return None if isinstance(value, str) and value else "must be a name"


def _unknown(key: str, where: str, known: list[str]) -> str:
    close = get_close_matches(key, known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"{where}: unknown key {key!r}.{hint} Known: {', '.join(sorted(known))}"
