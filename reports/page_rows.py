"""Rows of single pages out of a run's large files, found by their place without parsing the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reports.run_files import Run

# Every row begins with its page's id; the id is a JSON string, so that its end is the first unescaped quote.
_PAGE_ID = re.compile(rb'\{"page_id": ("(?:[^"\\]|\\.)*")')
_MOST_ROW_BYTES = 64_000_000

Place = tuple[int, int]


@dataclass(slots=True)
class PagePlaces:
    """Where a page's rows lie in the files of one run."""

    request: Place | None = None
    prediction: Place | None = None
    pairs: list[Place] = field(default_factory=list)
    pair_numbers: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PagePart:
    """Everything that a run has of one page, as plain rows; {} or () where there is nothing."""

    request: dict[str, Any]
    prediction: dict[str, Any]
    pairs: tuple[tuple[dict[str, Any], dict[str, Any]], ...]


class PageRows:
    """The pages of one run. Files are read once for their places; rows are parsed when a page is asked for."""

    def __init__(self, run: Run) -> None:
        self._request_file = run.folder / "infer" / "requests.jsonl"
        self._prediction_file = run.folder / "convert" / "predictions.jsonl"
        self._pair_file = run.folder / "evaluate" / "pairs.jsonl"
        self._score_file = run.folder / "evaluate" / "pair_scores.jsonl"
        self._places: dict[str, PagePlaces] = {}
        self._score_places: list[Place] = []
        self._index()

    def _index(self) -> None:
        for page_id, _, place in _rows(self._request_file):
            self._of(page_id).request = place
        for page_id, _, place in _rows(self._prediction_file):
            self._of(page_id).prediction = place
        for page_id, row_number, place in _rows(self._pair_file):
            self._of(page_id).pairs.append(place)
            self._of(page_id).pair_numbers.append(row_number)
        self._score_places = [place for _, place in _lines(self._score_file)]

    def _of(self, page_id: str) -> PagePlaces:
        return self._places.setdefault(page_id, PagePlaces())

    def read(self, page_id: str) -> PagePart:
        """The rows of a page."""
        places = self._places.get(page_id, PagePlaces())
        pairs = []
        for place, row_number in zip(places.pairs, places.pair_numbers, strict=True):
            pair = _row(self._pair_file, place)
            beyond = row_number >= len(self._score_places)
            score = {} if beyond else _row(self._score_file, self._score_places[row_number])
            pairs.append((pair, score if score.get("page_id") == page_id else {}))
        return PagePart(
            _row(self._request_file, places.request) if places.request else {},
            _row(self._prediction_file, places.prediction) if places.prediction else {},
            tuple(pairs),
        )


def _lines(path: Path) -> Iterator[tuple[bytes, Place]]:
    """Lines after the header with their places; a last line cut short is left out."""
    if not path.is_file():
        return
    with open(path, "rb") as file:
        at = len(file.readline())
        for line in file:
            if line.endswith(b"\n"):
                yield line, (at, len(line))
            at += len(line)


def _rows(path: Path) -> Iterator[tuple[str, int, Place]]:
    for row_number, (line, place) in enumerate(_lines(path)):
        found = _PAGE_ID.match(line)
        if found is None:
            continue
        try:
            yield json.loads(found.group(1)), row_number, place
        except ValueError:
            continue


def _row(path: Path, place: Place) -> dict[str, Any]:
    at, length = place
    if length > _MOST_ROW_BYTES:
        return {}
    with open(path, "rb") as file:
        file.seek(at)
        raw = file.read(length)
    try:
        row = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}
