"""Decoding steps: how many were run, how many tokens one brings, and how many had to follow one another.

Three sources, best first: the server's per-request figures (`metrics` of the answer), its counters over the drive,
and the chunks of the stream, which merge under load and therefore only estimate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from evalkit.types import BranchTokens, Figure, Observation, Provenance, RawOutput
from metrics.drive import counter_delta, finished, interrupted, labelled
from metrics.quantiles import mean, mean_interval
from metrics.server_figures import Speculation, told

MEASURED, ESTIMATED = Provenance.MEASURED, Provenance.ESTIMATED
TOKENS = "output tokens of a page by the server's usage, mean over finished pages"
STEPS = "decoding steps of a page over all its trajectories, mean over finished pages"
LENGTH = "tokens that one step brings: 1 + accepted / drafts, over all steps"
LENGTH_MEAN = "tokens that one step brings, mean of the pages' own"
RATE = "accepted / drafted tokens"
SEQUENTIAL = "tokens of a page as one trajectory: layout and all branches, mean"
PATH = "tokens of a page that follow one another: max over branches of layout up to the fork + branch, mean"
REDUCTION = "1 - sum of critical paths / sum of sequential lengths, in tokens"
PATH_STEPS = "decoding steps of a page that follow one another, mean"
SPEEDUP = "sum of sequential tokens / sum of steps that follow one another"


def figures(observation: Observation) -> list[Figure]:
    """Steps, accepted length and critical path of one drive."""
    done = finished(observation.outputs)
    return labelled(
        observation,
        [
            _mean_figure(
                "output_tokens_per_page", "tokens", TOKENS, [c for o in done if (c := o.tokens.output) is not None]
            ),
            _steps(observation, done),
            *_acceptance(observation, done),
            *_paths(observation, done),
        ],
    )


def counted_speculation(observation: Observation) -> Speculation | None:
    """The drive's counts by the server's counters; None where it has none or nothing was drafted."""
    drafts = counter_delta(observation, "spec_decode_num_drafts")
    accepted = counter_delta(observation, "spec_decode_num_accepted_tokens")
    drafted = counter_delta(observation, "spec_decode_num_draft_tokens")
    if not drafts or accepted is None or drafted is None:
        return None
    positions: list[int] = []
    while (
        count := counter_delta(observation, f"spec_decode_num_accepted_tokens_per_pos.{len(positions)}")
    ) is not None:
        positions.append(int(count))
    return Speculation(int(drafts), int(drafted), int(accepted), tuple(positions))


def page_steps(output: RawOutput, speculative: bool) -> tuple[int | None, Provenance]:
    """Decoding steps of one page over all its trajectories."""
    steps = told(output).steps
    if steps is not None:
        return steps, MEASURED
    if not speculative:
        return output.tokens.output, MEASURED
    chunks = len(output.extra.get("chunk_times_s", ()))
    return chunks or None, ESTIMATED


def _mean_figure(
    name: str, unit: str, definition: str, values: Sequence[float], source: Provenance = MEASURED, reason: str = ""
) -> Figure:
    if not values:
        return Figure(name, None, unit, definition, source, reason or "the server reports no usage")
    return Figure(name, mean(values), unit, definition, source, interval=mean_interval(values), count=len(values))


def _steps(observation: Observation, done: Sequence[RawOutput]) -> Figure:
    found = [page_steps(output, observation.system.speculative) for output in done]
    values = [float(steps) for steps, _ in found if steps is not None]
    estimated = any(source is ESTIMATED for _, source in found)
    counted = counted_speculation(observation)
    if estimated and counted is not None and done and not interrupted(observation):
        details = {"source": "counters", "drafts": counted.drafts}
        source = MEASURED if len(done) == len(observation.outputs) else ESTIMATED  # failed pages drafted too
        value = counted.drafts / len(done)
        return Figure("steps_per_page", value, "steps", STEPS, source, count=len(done), details=details)
    definition = STEPS + ", from the chunks of the stream" if estimated else STEPS
    return _mean_figure("steps_per_page", "steps", definition, values, ESTIMATED if estimated else MEASURED)


def _acceptance(observation: Observation, done: Sequence[RawOutput]) -> list[Figure]:
    names = (("accepted_length", "tokens/step", LENGTH), ("accepted_length_page_mean", "tokens/step", LENGTH_MEAN))
    rate = ("acceptance_rate", "1", RATE)
    if not observation.system.speculative:
        reason = "the system does not speculate"
        return [Figure(name, None, unit, text, MEASURED, reason) for name, unit, text in (*names, rate)]
    own = [counts for output in done if (counts := told(output).speculation) is not None]
    counted = counted_speculation(observation)
    total = _sum(own) if own and len(own) == len(done) else counted
    if total is None or total.length is None:
        estimated = _from_chunks(done)
        reason = "the server reports no speculation"
        return [
            Figure("accepted_length", estimated, "tokens/step", LENGTH, ESTIMATED, None if estimated else reason),
            Figure("accepted_length_page_mean", None, "tokens/step", LENGTH_MEAN, MEASURED, reason),
            Figure("acceptance_rate", None, "1", RATE, MEASURED, reason),
        ]
    details = {"by_position": list(counted.by_position)} if counted and counted.by_position else {}
    lengths = [length for counts in own if (length := counts.length) is not None]
    return [
        Figure("accepted_length", total.length, "tokens/step", LENGTH, MEASURED, count=total.drafts, details=details),
        _mean_figure(
            "accepted_length_page_mean", "tokens/step", LENGTH_MEAN, lengths, reason="no figures for single pages"
        ),
        _ratio("acceptance_rate", "1", RATE, total.accepted, total.drafted),
    ]


def _sum(parts: Sequence[Speculation]) -> Speculation:
    return Speculation(
        sum(part.drafts for part in parts), sum(part.drafted for part in parts), sum(part.accepted for part in parts)
    )


def _from_chunks(done: Sequence[RawOutput]) -> float | None:
    tokens = sum(output.tokens.output or 0 for output in done)
    chunks = sum(len(output.extra.get("chunk_times_s", ())) for output in done)
    return tokens / chunks if chunks and tokens else None


def _ratio(name: str, unit: str, definition: str, part: float, whole: float) -> Figure:
    if not whole:
        return Figure(name, None, unit, definition, MEASURED, "nothing to divide by")
    return Figure(name, part / whole, unit, definition, MEASURED)


def _paths(observation: Observation, done: Sequence[RawOutput]) -> list[Figure]:
    branches = _branches(observation, done)
    if not branches:
        reason = "the branches' tokens were not counted: the server has no /tokenize"
        return [
            Figure("sequential_tokens_per_page", None, "tokens", SEQUENTIAL, MEASURED, reason),
            Figure("path_tokens_per_page", None, "tokens", PATH, MEASURED, reason),
            Figure("step_reduction", None, "1", REDUCTION, MEASURED, reason),
            Figure("path_steps_per_page", None, "steps", PATH_STEPS, MEASURED, reason),
            Figure("step_speedup", None, "1", SPEEDUP, MEASURED, reason),
        ]
    sequential = [float(branch.sequential) for branch in branches]
    paths = [float(branch.critical_path) for branch in branches]
    reduction = 1 - math.fsum(paths) / math.fsum(sequential) if any(sequential) else None
    pages = [1 - path / whole for path, whole in zip(paths, sequential, strict=True) if whole]
    return [
        _mean_figure("sequential_tokens_per_page", "tokens", SEQUENTIAL, sequential),
        _mean_figure("path_tokens_per_page", "tokens", PATH, paths),
        Figure(
            "step_reduction", reduction, "1", REDUCTION, MEASURED, count=len(paths), details={"page_mean": mean(pages)}
        ),
        *_path_steps(observation, sequential),
    ]


def _branches(observation: Observation, done: Sequence[RawOutput]) -> list[BranchTokens]:
    own = [branches for output in done if (branches := told(output).branches) is not None]
    if own and len(own) == len(done):
        return own
    if observation.system.output.stream is None or observation.system.paradigm == "autoregressive":
        return [_single(output) for output in done if output.tokens.output is not None]
    counted = {branch.page_id: branch for branch in observation.facts.branches} if observation.facts else {}
    return [counted[output.page_id] for output in done if output.page_id in counted]


def _single(output: RawOutput) -> BranchTokens:
    count = output.tokens.output or 0
    return BranchTokens(output.page_id, count, count)


def branches_by_page(observation: Observation) -> dict[str, BranchTokens]:
    """Token lengths of layout and branches of each finished page, where they are known."""
    return {branch.page_id: branch for branch in _branches(observation, finished(observation.outputs))}


def path_steps_by_page(observation: Observation) -> tuple[dict[str, float], Provenance]:
    """Steps that follow one another in each finished page: as told, else from the critical path in tokens.

    Speculating systems that do not tell have their path divided by the accepted length of the drive, an estimate.
    """
    done = finished(observation.outputs)
    own = {output.page_id: steps for output in done if (steps := told(output).path_steps) is not None}
    if own and len(own) == len(done):
        return {page: float(steps) for page, steps in own.items()}, MEASURED
    paths = {branch.page_id: float(branch.critical_path) for branch in _branches(observation, done)}
    if not observation.system.speculative:
        return paths, MEASURED
    length = _acceptance(observation, done)[0].value
    return ({page: path / length for page, path in paths.items()} if length else {}), ESTIMATED


def _path_steps(observation: Observation, sequential: Sequence[float]) -> list[Figure]:
    by_page, source = path_steps_by_page(observation)
    values = list(by_page.values())
    total = math.fsum(values)
    reason = "the accepted length is not known"
    text = PATH_STEPS if source is MEASURED else PATH_STEPS + ", as critical path tokens / accepted length"
    speedup = math.fsum(sequential) / total if total else None
    return [
        _mean_figure("path_steps_per_page", "steps", text, values, source, reason),
        Figure("step_speedup", speedup, "1", SPEEDUP, source, None if speedup else reason, count=len(values)),
    ]
