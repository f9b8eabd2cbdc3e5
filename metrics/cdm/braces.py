"""Matching brackets in a token list, within a budget of steps."""

from __future__ import annotations

from collections.abc import Sequence

BRACES = ("{", "}")
BRACKETS = ("[", "]")
PARENTHESES = ("(", ")")


class UnreadableError(ValueError):
    """The token list cannot be normalised or coloured; the text says why."""


class BracketMatcher:
    """Finds closing brackets; `budget` bounds the tokens looked at, so that deep nesting cannot stall a run."""

    def __init__(self, budget: int = 20_000_000) -> None:
        self.left_steps = budget

    def closing(self, tokens: Sequence[str], start: int, pair: tuple[str, str] = BRACES) -> int:
        """Position of the bracket that closes the first one opened at or after `start`; -1 when none is opened.

        Raises UnreadableError for a bracket that is never closed.
        """
        opening, closing = pair
        depth = 0
        for position in range(start, len(tokens)):
            token = tokens[position]
            if token == opening:
                depth += 1
            elif token == closing:
                depth -= 1
                if depth == 0:
                    self._spend(position - start)
                    return position
        self._spend(len(tokens) - start)
        if depth > 0:
            raise UnreadableError(f"no closing {closing!r}")
        return -1

    def _spend(self, steps: int) -> None:
        self.left_steps -= steps + 1
        if self.left_steps < 0:
            raise UnreadableError("too much nesting")
