"""From the infer stage's files to bench/summary.json: figures of speed, buckets, and whether they can be trusted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalkit import registry
from evalkit.dataset import Dataset
from evalkit.emulated_time import in_emulated_time
from evalkit.errors import UserError
from evalkit.requests_log import FILE, Session, read_branches, read_requests, read_rows, read_samples, read_sessions
from evalkit.step_file import write_steps
from evalkit.store import read_json, read_jsonl, write_json, write_jsonl
from evalkit.text_equality import TextEquality, text_equality
from evalkit.types import (
    Load,
    Observation,
    OutputFacts,
    Provenance,
    RawOutput,
    RequestFacts,
    RunFacts,
    ServeFacts,
    System,
)

VERSION = 1
FIGURES = ("throughput", "latency", "decoding_steps", "energy")
FOLDER = "bench"


def write_bench_summary(
    run: Path,
    *,
    dataset: Dataset | None = None,
    baseline: Path | None = None,
    allowed: Collection[str] = (),
    edges: Sequence[int] = (),
) -> dict[str, Any]:
    """Compute every figure of a run's infer stage and write `run`/bench/summary.json.

    `baseline` is the run folder of the system that speed-ups are counted against. `allowed` names validity rules
    that the user lets the run break. `edges` (output tokens, ascending) adds buckets of one's own. Raises UserError
    without an infer stage or for an unknown rule.
    """
    observation = observe(run)
    equality: TextEquality | None = None
    if dataset is not None:
        observation = replace(observation, groups=page_groups(dataset))
    if baseline is not None:
        other = _reference(baseline, run)
        equality = text_equality(run, baseline, observation, other)
        observation = replace(observation, reference=other.outputs)
    summary = summarize(observation, allowed, edges)
    summary["baseline_run"] = str(baseline) if baseline is not None else None
    summary["text_equality"] = equality
    for name, figures in (("pages", "page_rows"), ("branches", "branch_rows")):
        rows = registry.load("figures", figures)(observation)
        write_jsonl(run / FOLDER / f"{name}.jsonl", f"evalkit.bench_{name}", VERSION, rows)
    write_steps(run / FOLDER / "steps.jsonl", registry.load("figures", "step_rows")(observation))
    write_json(run / FOLDER / "summary.json", summary)
    return summary


def read_bench_summary(run: Path) -> dict[str, Any] | None:
    """A run's bench summary; None when it was not written."""
    path = run / FOLDER / "summary.json"
    if not path.exists():
        return None
    summary: dict[str, Any] = read_json(path)
    return summary


def check_rules(allowed: Collection[str]) -> None:
    """Raise UserError for names that no validity rule has."""
    known = registry.load("figures", "validity_names")()
    unknown = sorted(set(allowed) - set(known))
    if unknown:
        raise UserError(f"no validity rule is called {', '.join(unknown)}. Known: {', '.join(known)}")


def summarize(observation: Observation, allowed: Collection[str] = (), edges: Sequence[int] = ()) -> dict[str, Any]:
    """All figures, tables and checks of one observation as plain JSON values."""
    check_rules(allowed)
    checks = registry.load("figures", "validity")(observation, allowed)
    invalid = [check.name for check in checks if registry.load("figures", "invalidates")(check)]
    figures = [figure for name in FIGURES for figure in registry.load("figures", name)(observation)]
    facts = observation.facts
    return {
        "version": VERSION,
        "system": observation.system.name,
        "title": observation.system.title,
        "baseline": observation.system.baseline,
        "paradigm": observation.system.paradigm,
        "speculative": observation.system.speculative,
        "mode": facts.mode if facts is not None else None,
        "provenance": Provenance.EMULATED if facts is not None and facts.emulated else Provenance.MEASURED,
        "valid": not invalid,
        "broken_rules": invalid,
        "checks": checks,
        "advice": registry.load("figures", "advice")(observation),
        "notes": facts.notes if facts is not None else (),
        "load": observation.load,
        "stream": observation.stream,
        "pages": observation.pages,
        "sessions": observation.sessions,
        "states": dict(Counter(output.state.value for output in observation.outputs)),
        "reasons": _reasons(observation.outputs),
        "figures": {figure.name: figure for figure in figures},
        "buckets": _buckets(observation, edges),
        "groups": registry.load("figures", "by_group")(observation),
        "speedup": registry.load("figures", "paired_speedup")(observation.outputs, observation.reference),
        "server": facts.server if facts is not None else {},
        "client": facts.client if facts is not None else {},
        "counters": _counter_deltas(facts),
    }


def figures_table(summary: Mapping[str, Any]) -> str:
    """The figures that have a value, a line each, and which rules of measurement the run breaks."""
    lines = [
        f"  {name:<28}{figure.value:>12.4g} {figure.unit:<14}{figure.provenance}"
        for name, figure in summary["figures"].items()
        if figure.value is not None
    ]
    broken = [check for check in summary["checks"] if check.name in summary["broken_rules"]]
    lines += [
        f"  INVALID: {check.name} is {check.value}, limit {check.limit} ({check.explanation})" for check in broken
    ]
    return "\n".join(lines)


def _buckets(observation: Observation, own: Sequence[int]) -> dict[str, dict[str, Any]]:
    by_length = registry.load("figures", "by_length")
    return {
        name: {
            "edges": list(edges),
            "by_own_length": by_length(observation, edges, False),
            "by_baseline_length": by_length(observation, edges, True) if observation.reference else None,
        }
        for name, edges in {**registry.load("figures", "edges"), **({"own": own} if own else {})}.items()
    }


def _reasons(outputs: Collection[RawOutput]) -> dict[str, int]:
    """How often each reason code was given for a page that did not end well."""
    return dict(Counter((output.reason or "").partition(":")[0] for output in outputs if output.reason).most_common())


def _counter_deltas(facts: RunFacts | None) -> dict[str, float]:
    samples = [sample for sample in facts.samples if sample.source == "server"] if facts is not None else []
    if len(samples) < 2:
        return {}
    first, last = samples[0].values, samples[-1].values
    return {name: last[name] - first[name] for name in sorted(last) if name in first and not name.startswith("num_req")}


def observe(run: Path) -> Observation:
    """What a run's infer stage saw. A drive that asked for every page stands for the run; else all drives together."""
    folder = run / "infer"
    sessions = read_sessions(folder)
    if not sessions:
        raise UserError(f"{run}: there is no finished or begun infer stage; run evalkit infer first")
    outputs = read_requests(folder / FILE)
    rows = list(read_rows(folder / FILE))
    whole = _whole_session(sessions, rows, len(outputs))
    if whole is not None:
        outputs = [output for output in rows if output.extra.get("session") == whole.number]
    chosen = whole or sessions[-1]
    facts = _facts(folder, chosen, sessions) if chosen.facts is not None else None
    settings = chosen.settings
    observation = Observation(
        system=_system(settings["system"]),
        load=_load(settings["load"], facts),
        pages=max(session.pages for session in sessions),
        outputs=tuple(outputs),
        facts=facts,
        sessions=1 if whole is not None else max(len(sessions), 2),
        stream=settings["stream"] and (facts is None or facts.mode == "server"),
        chars=_markdown_chars(run),
    )
    return in_emulated_time(observation)


def _whole_session(sessions: list[Session], rows: list[RawOutput], pages: int) -> Session | None:
    """The last drive that was not cut short and has a row for every page."""
    counts = Counter(output.extra.get("session") for output in rows)
    return next((one for one in reversed(sessions) if one.facts is not None and counts[one.number] >= pages), None)


def _facts(folder: Path, chosen: Session, sessions: list[Session]) -> RunFacts:
    plain = dict(chosen.facts or {})
    branches = [branch for session in sessions for branch in read_branches(folder, session.number)]
    plain |= {"samples": tuple(read_samples(folder, chosen.number)), "branches": tuple(branches)}
    plain["notes"] = tuple(plain.get("notes", ()))
    return RunFacts(**plain)


def _load(asked: Mapping[str, Any], facts: RunFacts | None) -> Load:
    """The load as it was: a runner of local processes may take fewer pages at a time than were asked for."""
    load = Load(**asked)
    slots = facts.client.get("slots") if facts is not None else None
    return load if slots is None else replace(load, in_flight=min(load.in_flight, slots))


def _system(plain: Mapping[str, Any]) -> System:
    return System(
        **{
            **plain,
            "serve": ServeFacts(**plain["serve"]),
            "request": RequestFacts(**plain["request"]),
            "output": OutputFacts(**plain["output"]),
            "command": tuple(plain["command"]),
        }
    )


def _markdown_chars(run: Path) -> dict[str, int]:
    """Characters without white space of each converted page; {} before the convert stage."""
    path = run / "convert" / "predictions.jsonl"
    if not path.exists():
        return {}
    rows = read_jsonl(path, "evalkit.predictions", 1)
    return {row["page_id"]: len("".join((row.get("markdown") or "").split())) for row in rows}


def _reference(baseline: Path, run: Path) -> Observation:
    """What the baseline's run saw. Raises UserError when the two runs must not be compared."""
    reason = why_not_compared(baseline, run)
    if reason is not None:
        raise UserError(f"{baseline}: not compared with {run}: {reason}")
    return observe(baseline)


def why_not_compared(baseline: Path, run: Path, load: Load | None = None) -> str | None:
    """Why the speed of a run must not be set against that of another; None where it may.

    `load` is the one at which a run will be driven that is not begun yet.
    """
    theirs, own = read_sessions(baseline / "infer"), read_sessions(run / "infer")
    if not theirs:
        return "it has no answers"
    loads = [Load(**sessions[0].settings["load"]) for sessions in (theirs, own) if sessions]
    loads += [load] if load is not None and not own else []
    if len(set(loads)) > 1:
        return " and ".join(map(_told, loads)) + " are different loads"
    modes = {session.facts["mode"] for session in (*theirs, *own) if session.facts is not None}
    return f"modes {' and '.join(sorted(modes))} are not ranked together" if len(modes) > 1 else None


def _told(load: Load) -> str:
    return (
        f"{load.in_flight} in flight" if load.shape == "closed" else f"{load.shape} arrivals of {load.rate_per_s:g}/s"
    )


def page_groups(dataset: Dataset) -> dict[str, dict[str, str]]:
    """The groups of every page: its attributes, and `content` (table, formula, text or none) by what it holds."""
    groups: dict[str, dict[str, str]] = {}
    for truth in dataset.pages:
        attributes = {
            name: str(value) for name, value in truth.page.attributes.items() if isinstance(value, (str, bool, int))
        }
        groups[truth.page.page_id] = {**attributes, "content": _content(truth.blocks)}
    return groups


def _content(blocks: Collection[Any]) -> str:
    kinds = {str(block.kind) for block in blocks if not block.ignore}
    if "table" in kinds:
        return "table"
    if "equation_isolated" in kinds:
        return "formula"
    return "text" if kinds else "none"
