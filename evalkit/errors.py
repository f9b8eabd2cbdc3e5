"""Errors that carry a user's mistake, or a run's state, to the command line without a traceback."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalkit.types import RunFacts


class EvalkitError(Exception):
    """Base of all errors that are shown as a message; `exit_code` is what the command line returns."""

    exit_code = 2


class UserError(EvalkitError):
    """What the user gave cannot be used: says what, where, what was expected and what to do next."""


class NotComparableError(EvalkitError):
    """Two results must not be compared, or a run is incomplete."""

    exit_code = 3


class ToolchainError(EvalkitError):
    """A program or library that the task needs is missing or broken; the message holds the remedy."""

    exit_code = 3


class DriveInterruptedError(KeyboardInterrupt):
    """Ctrl-C after the last page of a drive: the drive is whole, and `facts` is its `RunFacts`."""

    def __init__(self, facts: RunFacts) -> None:
        self.facts = facts
        super().__init__()


class InvalidFileError(UserError):
    """All mistakes found in one file, reported at once."""

    def __init__(self, path: str, problems: Sequence[str], limit: int = 50) -> None:
        self.path = path
        self.problems = tuple(problems)
        shown = [f"  - {problem}" for problem in self.problems[:limit]]
        if len(self.problems) > limit:
            shown.append(f"  - … and {len(self.problems) - limit} more")
        noun = "problem" if len(self.problems) == 1 else "problems"
        super().__init__("\n".join([f"{path}: {len(self.problems)} {noun}", *shown]))


def printable(text: str) -> str:
    """The text with control characters, which could drive the terminal, and lone surrogates as escapes."""
    return "".join(
        character if character.isprintable() or character in "\n\t" else repr(character)[1:-1] for character in text
    )


def unknown_name(what: str, name: str, known: Iterable[str]) -> UserError:
    """The error for a name that is not registered; lists the known ones, closest first."""
    names = sorted(known)
    close = get_close_matches(name, names, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    listing = ", ".join(names) or "none"
    return UserError(f"unknown {what} {name!r}.{hint} Known: {listing}")
