"""All pictures of a report in their order."""

from __future__ import annotations

from collections.abc import Sequence

from reports.pictures import accuracy_speed, content, lengths, loads, parts, phases, spread, timeline
from reports.pictures.canvas import Picture, looks
from reports.request_times import PhaseTimes, phase_times, request_rows
from reports.run_files import Run

MOST_RUNS = 12
MOST_DETAILED = 6


def gallery(runs: Sequence[Run]) -> list[Picture]:
    """Every picture, those without data with the reason. Crowded ones show the first of the runs only."""
    shown = looks(runs)
    few = list(runs[:MOST_RUNS])
    times, longest = _read_requests(few)
    return [
        accuracy_speed.draw(runs, shown),
        content.draw_speedup(few[:MOST_DETAILED], shown),
        lengths.draw(few, shown),
        loads.draw(few, shown),
        phases.draw(few, shown, times),
        parts.draw(few[:MOST_DETAILED], shown),
        content.draw_accepted(few[:MOST_DETAILED], shown),
        spread.draw(few, shown),
        longest,
    ]


def _read_requests(runs: Sequence[Run]) -> tuple[dict[str, list[PhaseTimes]], Picture]:
    """Phases of every request by run, and the branches of the request with the most of them."""
    times: dict[str, list[PhaseTimes]] = {}
    title, most, provenance = "", list[timeline.Branch](), ""
    for run in runs:
        found = times.setdefault(run.key, [])
        for row in request_rows(run):
            phase = phase_times(row)
            found += [phase] if phase is not None else []
            branches, source = timeline.branches_of(row.get("extra") or {})
            if len(branches) > max(1, len(most)):
                title, most, provenance = f"{run.title}, {row.get('page_id')}", branches, source
    return times, timeline.draw(title, most, provenance)
