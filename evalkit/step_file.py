"""The long file of decoding steps: bench/steps.jsonl, a row a piece of every page's stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from evalkit.store import dumps, write_text

SCHEMA = "evalkit.bench_steps"
VERSION = 1


class Steps(Protocol):
    """One page's columns, as `metrics.step_rows.PageSteps` holds them."""

    page_id: Any
    steps: Any
    times_s: Any
    chars: Any
    tokens: Any
    provenance: Any


def write_steps(path: Path, pages: Iterable[Steps]) -> None:
    """Write the rows of all pages, atomically. Half a million rows take about a second, so no row is made a record."""
    lines = [dumps({"schema": SCHEMA, "version": VERSION})]
    for page in pages:
        lines += _lines(page)
    write_text(path, "\n".join(lines) + "\n")


def _lines(page: Steps) -> Iterator[str]:
    page_id, source = dumps(page.page_id), dumps(str(page.provenance))
    tokens = page.tokens if page.tokens is not None else ["null"] * len(page.times_s)
    for step, time_s, chars, new in zip(page.steps, page.times_s, page.chars, tokens, strict=True):
        yield (
            f'{{"page_id": {page_id}, "step": {step}, "time_s": {time_s}, "chars": {chars}, "tokens": {new}, '
            f'"provenance": {source}}}'
        )
