"""What a server tells about decoding one page beside its usage: vLLM's per-request figures, the emulated server's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalkit.types import BranchTokens, RawOutput


@dataclass(frozen=True, slots=True)
class Speculation:
    """Draft-and-verify counts of one page or one drive."""

    drafts: int
    drafted: int
    accepted: int
    by_position: tuple[int, ...] = ()

    @property
    def length(self) -> float | None:
        """Tokens a step brings; None without a step."""
        return 1 + self.accepted / self.drafts if self.drafts else None


@dataclass(frozen=True, slots=True)
class Told:
    """What was told of one page, None where nothing was. `steps` sums over branches, `path_steps` is of the longest.

    `phases_s` is the time from the start of the page to its first token, and from there to its end.
    """

    steps: int | None = None
    path_steps: int | None = None
    speculation: Speculation | None = None
    branches: BranchTokens | None = None
    phases_s: tuple[float, float] | None = None


def told(output: RawOutput) -> Told:
    """The server's own figures of a page."""
    metrics = output.extra.get("server_metrics")
    if not isinstance(metrics, Mapping):
        return Told()
    if isinstance(metrics.get("evalkit_emulated"), Mapping):
        return _emulated(output.page_id, metrics["evalkit_emulated"])
    if isinstance(metrics.get("speculative_decoding"), Mapping):
        return _vllm(metrics["speculative_decoding"])
    return Told()


def _vllm(row: Mapping[str, Any]) -> Told:
    """vLLM 0.29 and later with --per-request-spec-decode-metrics."""
    steps, accepted = _whole(row.get("num_spec_steps")), _whole(row.get("num_accepted_draft_tokens"))
    if steps is None or accepted is None:
        return Told(steps)
    return Told(steps, None, Speculation(steps, _whole(row.get("num_draft_tokens")) or 0, accepted))


def _emulated(page_id: str, row: Mapping[str, Any]) -> Told:
    drafts = _whole(row.get("drafts"))
    accepted = _whole(row.get("accepted_tokens"))
    speculation = None
    if drafts and accepted is not None:
        speculation = Speculation(drafts, _whole(row.get("draft_tokens")) or 0, accepted)
    return Told(
        _whole(row.get("decoding_steps")),
        _whole(row.get("critical_path_steps")),
        speculation,
        _branches(page_id, row.get("branches")),
        _phases_s(row),
    )


def _phases_s(row: Mapping[str, Any]) -> tuple[float, float] | None:
    times = [row.get(name) for name in ("started_s", "first_token_s", "ended_s")]
    known = [float(time_s) for time_s in times if isinstance(time_s, int | float) and not isinstance(time_s, bool)]
    if len(known) < len(times) or known != sorted(known):
        return None
    return known[1] - known[0], known[2] - known[1]


def _branches(page_id: str, rows: Any) -> BranchTokens | None:
    if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
        return None
    tokens = [_whole(row.get("tokens")) for row in rows]
    forks = [_whole(row.get("fork_after_tokens")) for row in rows[1:]]
    if None in tokens or None in forks:
        return None
    known = [count for count in tokens if count is not None]
    pairs = zip((fork for fork in forks if fork is not None), known[1:], strict=True)
    return BranchTokens(page_id, sum(known), known[0], tuple(pairs))


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
