"""A run's layout scores as its evaluation wrote them: PageIoU by mode and class, label map and category table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalkit.errors import InvalidFileError
from evalkit.store import read_json

FILE = "evaluate/layout/layout.json"
MODES = ("countable-acceptable", "binary-acceptable", "countable-ignore", "binary-ignore")
HEADLINE_MODE = MODES[0]
CLASSES = ("overall", "text", "image", "table", "formula", "full_page")
MEASURES = ("iou", "precision", "recall", "f1")


@dataclass(frozen=True, slots=True)
class Average:
    """A class over a data set, each value from 0 to 1; `pages` are those it rests on."""

    iou: float
    precision: float
    recall: float
    f1: float
    pages: int


@dataclass(frozen=True, slots=True)
class Members:
    """Annotated categories that a class includes, and those that it only accepts."""

    include: frozenset[str]
    accept: frozenset[str]


@dataclass(frozen=True, slots=True)
class LayoutScores:
    """Layout scores of a run. `labels` takes the system's labels to classes; `members` is {} in older files."""

    signature: str
    averages: Mapping[str, Mapping[str, Average | None]]
    labels: Mapping[str, str] = field(default_factory=dict)
    members: Mapping[str, Members] = field(default_factory=dict)
    unmapped: Mapping[str, int] = field(default_factory=dict)
    unscored: Mapping[str, str] = field(default_factory=dict)

    def average(self, mode: str, layout_class: str) -> Average | None:
        """A class in a mode; None where no page has any of it."""
        return (self.averages.get(mode) or {}).get(layout_class)

    def signature_in(self, mode: str) -> str:
        """The signature of the values of one mode."""
        return f"{self.signature}|mode:{mode}"


def read_layout(run: Path) -> LayoutScores | None:
    """The layout scores of a run folder; None without any. Raises InvalidFileError for a broken file."""
    path = run / FILE
    if not path.exists():
        return None
    try:
        return _scores(read_json(path))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidFileError(str(path), [f"not the layout scores of an evaluation ({error})"]) from error


def _scores(row: Mapping[str, Any]) -> LayoutScores:
    return LayoutScores(
        signature=str(row["signature"]),
        averages={
            mode: {name: _average(found) for name, found in by_class.items()}
            for mode, by_class in row["averages"].items()
        },
        labels={str(label): str(target) for label, target in (row.get("labels") or {}).items()},
        members={
            name: Members(frozenset(found["include"]), frozenset(found["accept"]))
            for name, found in (row.get("membership") or {}).items()
        },
        unmapped={str(label): int(count) for label, count in (row.get("unmapped") or {}).items()},
        unscored={str(page): str(reason) for page, reason in (row.get("unscored") or {}).items()},
    )


def _average(found: Mapping[str, Any] | None) -> Average | None:
    if found is None:
        return None
    iou, precision, recall, f1 = (float(found[name]) for name in MEASURES)
    return Average(iou, precision, recall, f1, int(found["pages"]))
