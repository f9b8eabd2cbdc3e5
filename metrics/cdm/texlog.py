"""What a TeX log says of each formula of a run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MARK = re.compile(r"^evalkit-(open|set|close) (\w+) (\d+) (\d+)$", re.MULTILINE)
_TOO_WIDE = re.compile(r"^Overfull \\hbox \(([0-9.]+)pt too wide\)", re.MULTILINE)
_OVERFULL = re.compile(r"Overfull \\[hv]box")
_MISSING_FONT = re.compile(r"Font (\w+) at \d+ not found")
# Errors that depend on what follows the formula, which is not the same in a run of its own.
_STRAYED = re.compile(r"^! (?:File ended while|Emergency stop|.*fatal error)", re.MULTILINE | re.IGNORECASE)
# An argument that is not closed. If an open brace is the cause, it swallows the rest of any document it stands in.
_UNCLOSED = re.compile(r"^! File ended while scanning use of .*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Overfull:
    """Material wider or higher than the page. `width_pt` is the largest excess, None when only height is exceeded."""

    width_pt: float | None


@dataclass(frozen=True, slots=True)
class Stretch:
    """The part of a log that belongs to one formula. `page` is its page's index; None when it has not just one."""

    name: str
    text: str
    closed: bool
    page: int | None

    @property
    def strayed(self) -> bool:
        """True when the formula must be typeset alone, though it left all groups closed."""
        return _STRAYED.search(self.text) is not None

    @property
    def unclosed(self) -> str | None:
        """The error line of an argument that is not closed within the formula."""
        found = _UNCLOSED.search(self.text)
        return found[0] if found else None

    @property
    def overfull(self) -> Overfull | None:
        """How the formula exceeds the page, if it does."""
        return find_overfull(self.text)


def find_overfull(text: str) -> Overfull | None:
    """The overfull boxes that a piece of log reports, if any."""
    if not _OVERFULL.search(text):
        return None
    widths = [float(width) for width in _TOO_WIDE.findall(text)]
    return Overfull(max(widths, default=None))


def missing_font(text: str) -> str | None:
    """Name of a bitmap font that the run lacked."""
    found = _MISSING_FONT.search(text)
    return found[1] if found else None


def stretches(log: str) -> Iterator[Stretch]:
    """One stretch a formula, in order. Closed means: opened, set and closed at group level 0 with none in between."""
    marks = list(_MARK.finditer(log))
    for index, opening in enumerate(marks):
        if opening[1] != "open":
            continue
        name = opening[2]
        follow = marks[index + 1 : index + 3]
        in_order = [(mark[1], mark[2], mark[3]) for mark in follow] == [("set", name, "0"), ("close", name, "0")]
        end = follow[1].start() if in_order else (follow[0].start() if follow else len(log))
        pages = int(follow[1][4]) - int(opening[4]) if in_order else 0
        page = int(opening[4]) if pages == 1 else None
        yield Stretch(name, log[opening.end() : end], in_order and opening[3] == "0", page)
