"""The figures of each page and of each branch, one row each, for tables and plots of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evalkit.types import BranchTokens, Observation, RawOutput
from metrics.decoding_steps import branches_by_page, page_steps, path_steps_by_page
from metrics.drive import finished
from metrics.latency import latency_s, queued_s, released_at_once, tpot_s, ttft_s
from metrics.server_figures import told


@dataclass(frozen=True, slots=True)
class PageFigures:
    """One page of a drive; None where a figure is not known. Tokens are by the server's usage."""

    page_id: str
    state: str
    reason: str | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    latency_s: float | None
    queued_latency_s: float | None
    ttft_s: float | None
    tpot_s: float | None
    chunks: int
    steps: int | None
    path_steps: float | None
    sequential_tokens: int | None
    path_tokens: int | None
    branches: int | None
    accepted_length: float | None
    chars: int | None


@dataclass(frozen=True, slots=True)
class BranchFigures:
    """One trajectory of a page: branch 0 is the layout stream. `path_tokens` is what must come before its end."""

    page_id: str
    branch: int
    fork_after_tokens: int
    tokens: int
    path_tokens: int
    critical: bool


def page_rows(observation: Observation) -> list[PageFigures]:
    """A row for every page, in the order in which they ended."""
    paths, _ = path_steps_by_page(observation)
    branches = branches_by_page(observation)
    done = {output.page_id for output in finished(observation.outputs)}
    return [
        _page(observation, output, paths, branches.get(output.page_id), output.page_id in done)
        for output in observation.outputs
    ]


def _page(
    observation: Observation,
    output: RawOutput,
    paths: Mapping[str, float],
    branch: BranchTokens | None,
    done: bool,
) -> PageFigures:
    speculation = told(output).speculation
    return PageFigures(
        page_id=output.page_id,
        state=output.state.value,
        reason=output.reason,
        input_tokens=output.tokens.input,
        output_tokens=output.tokens.output,
        cached_tokens=output.tokens.cached_input,
        latency_s=latency_s(output),
        queued_latency_s=queued_s(output),
        ttft_s=ttft_s(output),
        tpot_s=None if released_at_once([output]) else tpot_s(output),
        chunks=len(output.extra.get("chunk_times_s", ())),
        steps=page_steps(output, observation.system.speculative)[0] if done else None,
        path_steps=paths.get(output.page_id),
        sequential_tokens=branch.sequential if branch else None,
        path_tokens=branch.critical_path if branch else None,
        branches=len(branch.forks) if branch else None,
        accepted_length=speculation.length if speculation else None,
        chars=observation.chars.get(output.page_id),
    )


def branch_rows(observation: Observation) -> list[BranchFigures]:
    """A row for every trajectory of every page whose branches are known."""
    rows: list[BranchFigures] = []
    for page_id, branch in branches_by_page(observation).items():
        path = branch.critical_path
        rows.append(BranchFigures(page_id, 0, 0, branch.layout, branch.layout, branch.layout == path))
        rows += [
            BranchFigures(page_id, number, before, tokens, before + tokens, before + tokens == path)
            for number, (before, tokens) in enumerate(branch.forks, start=1)
        ]
    return rows
