"""The run card: what was run, on what, how it was asked for, what was read back, and how to run it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalkit.types import ValidityCheck
from reports.columns import hardware
from reports.run_files import Run

MOST_VALUE_CHARS = 2_000
SERVER_SETTINGS = ("stream", "cache")
"""Settings that say nothing of a parser that is a program here."""
Facts = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the card: a heading and its facts."""

    title: str
    facts: Facts


@dataclass(frozen=True, slots=True)
class ShownFigure:
    """A figure of speed as text."""

    name: str
    value: str
    unit: str
    interval: str
    provenance: str
    count: str
    definition: str
    reason: str


def card(run: Run) -> list[Part]:
    """All parts that have a fact."""
    parts = [
        Part("Data", _facts(_data(run))),
        Part("System", _facts(_system(run))),
        Part("Load and seeds", _facts(_load(run))),
        Part("Asked of the server", _facts(_asked(run))),
        Part("Read back from the server", _facts(_read_back(run))),
        Part("Outcome", _facts(_outcome(run))),
        Part("Machine and versions", _facts(_machine(run))),
    ]
    return [part for part in parts if part.facts]


def _facts(rows: Mapping[str, Any]) -> Facts:
    return tuple((name, text) for name, value in rows.items() if (text := plain_text(value)))


def plain_text(value: Any) -> str:
    """Any JSON value on one line: mappings as `key value`, lists with commas; "" for nothing."""
    if value is None or value in ({}, [], ()):
        return ""
    if isinstance(value, Mapping):
        text = ", ".join(f"{key} {plain_text(item) or '–'}" for key, item in value.items())
    elif isinstance(value, list | tuple):
        text = ", ".join(plain_text(item) or "–" for item in value)
    elif isinstance(value, bool):
        text = "yes" if value else "no"
    else:
        text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= MOST_VALUE_CHARS else text[:MOST_VALUE_CHARS] + " …"


def _data(run: Run) -> dict[str, Any]:
    data = run.record.dataset
    summary = run.summary
    return {
        "name": data.get("name"),
        "pages": data.get("pages"),
        "cut to the first": data.get("limit"),
        "sha256": data.get("sha256"),
        "protocol": summary.protocol if summary else None,
        "signature": summary.signature if summary else None,
    }


def _system(run: Run) -> dict[str, Any]:
    system = run.record.system or {}
    request = system.get("request") or {}
    return {
        "system": system.get("title"),
        "paradigm": system.get("paradigm"),
        "speculative": system.get("speculative"),
        "identity": system.get("identity"),
        "runner": system.get("runner"),
        "mode": run.speed.mode if run.speed else None,
        "baseline": system.get("baseline"),
        "prompt": request.get("prompt"),
        "system prompt": request.get("system_prompt"),
        "prompts of regions": request.get("region_prompts"),
        "sampling": request.get("sampling"),
        "token limit": request.get("max_tokens"),
        "output": system.get("output"),
        "notes": system.get("notes"),
    }


def _load(run: Run) -> dict[str, Any]:
    settings = run.settings
    names = ("stream", "order", "seed", "timeout_s", "processes", "cache", "sample_every_s")
    load = run.speed.load if run.speed else settings.get("load")
    server = run.speed.server if run.speed else {}
    asked = {name: settings.get(name) for name in names if _has_server(run) or name not in SERVER_SETTINGS}
    return {"load": load, **asked, "warm-up": server.get("warmup")}


def _has_server(run: Run) -> bool:
    return (run.record.system or {}).get("runner") != "local"


def _asked(run: Run) -> dict[str, Any]:
    if not _has_server(run):
        return {}
    serve = (run.record.system or {}).get("serve") or {}
    return {name: serve.get(name) for name in ("launcher", "model", "version", "flags", "env", "details")}


def _read_back(run: Run) -> dict[str, Any]:
    server = run.speed.server if run.speed else {}
    return {name.replace("_", " "): value for name, value in server.items() if name not in {"warmup", "cache"}} | {
        "cache": server.get("cache")
    }


def _outcome(run: Run) -> dict[str, Any]:
    summary, speed = run.summary, run.speed
    counts = {name: count for name, count in summary.counts.items() if count} if summary else {}
    metrics = summary.metrics if summary else {}
    cdm = metrics.get("formula_cdm")
    return {
        "requests": speed.states if speed else None,
        "reasons": speed.reasons if speed else None,
        "time-outs": speed.states.get("timeout", 0) if speed else None,
        "pages and pairs": counts,
        "CDM": (cdm.reason or f"{cdm.samples} formulas, {cdm.unscored} not scored") if cdm else None,
        "advice": speed.advice if speed else None,
        "notes": speed.notes if speed else None,
    }


def _machine(run: Run) -> dict[str, Any]:
    record = run.record
    return {
        "ran on": hardware(run),
        "begun (UTC)": record.created_utc,
        "host": record.host,
        "client": run.speed.client if run.speed else None,
        "evalkit": record.evalkit,
        "packages": record.packages,
    }


def figures(run: Run) -> list[ShownFigure]:
    """All figures of speed, those without a value with their reason."""
    if run.speed is None:
        return []
    return [
        ShownFigure(
            name=figure.name,
            value="–" if figure.value is None else f"{figure.value:.4g}",
            unit="" if figure.unit == "1" else figure.unit,
            interval=f"{figure.interval[0]:.4g} to {figure.interval[1]:.4g}" if figure.interval else "",
            provenance=str(figure.provenance),
            count="" if figure.count is None else str(figure.count),
            definition=figure.definition,
            reason=figure.reason or "",
        )
        for figure in run.speed.figures.values()
    ]


def checks(run: Run) -> Sequence[Mapping[str, str]]:
    """The rules of measurement with their state as a word."""
    return [
        {
            "name": check.name.replace("_", " "),
            "state": _state(check),
            "value": plain_text(check.value) or "–",
            "limit": "–" if check.limit is None else f"{'≥' if check.at_least else '≤'} {plain_text(check.limit)}",
            "explanation": check.explanation,
        }
        for check in (run.speed.checks if run.speed else ())
    ]


def _state(check: ValidityCheck) -> str:
    if check.passed is not False:
        return "not checked" if check.passed is None else "kept"
    return "waived" if check.allowed else "advice" if check.advises else "broken"
