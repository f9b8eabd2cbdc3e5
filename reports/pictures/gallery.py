"""All pictures of a report in their order."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.errors import EvalkitError
from evalkit.store import read_jsonl
from reports.pictures import accuracy_speed, content, lengths, loads, parts, phases, spread, timeline
from reports.pictures.canvas import Picture, looks
from reports.run_files import Run

MOST_RUNS = 12
MOST_ROWS = 400


def gallery(runs: Sequence[Run]) -> list[Picture]:
    """Every picture, those without data with the reason. Crowded ones show the first runs of the leaderboard only."""
    shown = looks(runs)
    few = list(runs[:MOST_RUNS])
    return [
        accuracy_speed.draw(runs, shown),
        content.draw_speedup(few, shown),
        lengths.draw(few, shown),
        loads.draw(few, shown),
        phases.draw(few, shown),
        parts.draw(few, shown),
        content.draw_accepted(few, shown),
        spread.draw(few, shown),
        longest_request(few),
    ]


def longest_request(runs: Sequence[Run]) -> Picture:
    """Branches of the request with the most of them, among the first rows of each run that has any."""
    best: tuple[int, str, list[timeline.Branch], str] = (1, "", [], "")
    for run in runs:
        path = run.folder / "infer" / "requests.jsonl"
        if not path.exists():
            continue
        try:
            for number, row in enumerate(read_jsonl(path, "evalkit.requests", 1)):
                branches, provenance = timeline.branches_of(row.get("extra") or {})
                if len(branches) > best[0]:
                    best = (len(branches), f"{run.title}, {row.get('page_id')}", branches, provenance)
                if number >= MOST_ROWS or not branches:
                    break
        except (EvalkitError, KeyError, TypeError, ValueError, AttributeError):
            continue
    return timeline.draw(best[1], best[2], best[3])
