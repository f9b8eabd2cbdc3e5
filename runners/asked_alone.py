"""After the timed drive, some pages are asked again one at a time: the answers should be those of the crowd."""

from __future__ import annotations

import random
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from rapidfuzz.distance import Levenshtein

from evalkit.types import FinishState, InferSettings, PageJob, System
from runners.drive_setup import ask_untimed

MAX_COMPARED_CHARS = 100_000


def asked_alone(
    system: System,
    settings: InferSettings,
    headers: Mapping[str, str],
    pages: Sequence[PageJob],
    answers: Mapping[str, str],
    *,
    salted: bool,
) -> dict[str, Any] | None:
    """Ask again for a seeded sample of the ok pages; None where nothing ran side by side or no page is ok.

    `answers` are the texts of the ok pages in the timed drive. Pages that fail alone are named with their reason.
    """
    side_by_side = settings.load.shape != "closed" or settings.load.in_flight > 1
    good = sorted((job for job in pages if job.page.page_id in answers), key=lambda job: job.page.page_id)
    count = min(settings.sample_alone, len(good))
    if not side_by_side or count < 1:
        return None
    chosen = random.Random(settings.seed).sample(good, count)
    salt = secrets.token_hex(8) if salted else None
    outputs = ask_untimed(system, settings, headers, chosen, salt=salt)
    ended = {output.page_id: output.text or "" for output in outputs if output.state is FinishState.OK}
    alike = {page_id: _similarity(answers[page_id], text) for page_id, text in ended.items()}
    differing = [page_id for page_id, text in ended.items() if text != answers[page_id]]
    return {
        "pages": len(ended),
        "equal": len(ended) - len(differing),
        "differing": differing,
        "similarity": sum(alike.values()) / len(alike) if alike else None,
        "lowest_similarity": min(alike.values(), default=None),
        "failed": {output.page_id: output.reason for output in outputs if output.page_id not in ended},
    }


def _similarity(one: str, other: str) -> float:
    """1 - edit distance / longer length, of the beginnings where the texts are very long."""
    return Levenshtein.normalized_similarity(one[:MAX_COMPARED_CHARS], other[:MAX_COMPARED_CHARS])
