"""The choice among runs of pieces that several blocks claim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from evalkit.protocols.omnidocbench_v16.match.run import Run, Span
from evalkit.protocols.omnidocbench_v16.rules import rule


@dataclass(slots=True)
class _Choice:
    """Runs that do not overlap, with their costs in the order in which they were added."""

    costs: dict[Span, float]
    last: int


@rule(stage="match", order=41, example="runs 0-1 (cost 0.5), 1-2 (0.2), 3-3 (0.4) -> 1-2 and 3-3")
def disjoint_runs(runs: Iterable[Run]) -> list[Span]:
    """Of runs that overlap in a chain, the collection without overlap that has the lowest mean cost.

    Source: match_quick.py get_final_subset.
    Quirk: collections are built greedily from the left, each run going to all of them that it does not overlap, so
    not every collection is tried; and a collection of one cheap run beats one that places more blocks.
    """
    return [span for chain in _chains(runs) for span in _cheapest(chain)]


def _chains(runs: Iterable[Run]) -> Iterator[list[Run]]:
    """Runs by their first piece, cut where none reaches over."""
    chain: list[Run] = []
    last = -1
    for run in sorted(runs, key=lambda run: run.first):
        if chain and run.first > last:
            yield chain
            chain = []
        chain.append(run)
        last = max(last, run.last)
    if chain:
        yield chain


def _cheapest(chain: list[Run]) -> list[Span]:
    choices: list[_Choice] = []
    for run in chain:
        if not _add_to_all(choices, run):
            choices.append(_Choice({run.span: run.cost}, run.last))
    return list(min(choices, key=_mean_cost).costs)


def _add_to_all(choices: list[_Choice], run: Run) -> bool:
    """Add a run to each choice that it does not overlap; one that has the same run keeps the lower cost."""
    added = False
    for choice in choices:
        known = choice.costs.get(run.span)
        if known is None and run.first <= choice.last:
            continue
        added = True
        if known is None or known > run.cost:
            choice.costs.pop(run.span, None)
            choice.costs[run.span] = run.cost
            choice.last = max(choice.last, run.last)
    return added


def _mean_cost(choice: _Choice) -> float:
    # Added one by one: sum() rounds differently from Python 3.12 on.
    total = 0.0
    for cost in choice.costs.values():
        total += cost
    return total / len(choice.costs)
