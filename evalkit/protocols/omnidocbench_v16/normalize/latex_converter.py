"""The LaTeX parser behind the text conversion: pylatexenc as in its version 2.10, with bounded work and no clock."""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

from pylatexenc import latex2text, latexwalker

_SHALLOW = 12
_OPENING = re.compile(r"\{|\[|\\begin\b|\\left\b|\$|\\[a-zA-Z]+\s*(?=\\)|[_^](?=\\)")
_OFFICIAL_FRAMES = 1000
_OFFICIAL_CALLER_FRAMES = 30
_TOKENS_PER_CHARACTER = 40
_TOKENS_AT_LEAST = 2000

_PARSER_FAILURES = (
    latexwalker.LatexWalkerError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,  # RecursionError among them
    TypeError,
    ValueError,
)


class _OutOfWork(latexwalker.LatexWalkerError):  # type: ignore[misc]
    """The parser read more tokens than its budget."""


class _BoundedWalker(latexwalker.LatexWalker):  # type: ignore[misc]
    """Parser with a budget of tokens: reading nested optional arguments again and again is exponential."""

    def __init__(self, latex: str, **flags: Any) -> None:
        self._tokens_left = _TOKENS_AT_LEAST + _TOKENS_PER_CHARACTER * len(latex)
        super().__init__(latex, **flags)

    def get_token(self, *args: Any, **flags: Any) -> Any:
        self._tokens_left -= 1
        if self._tokens_left < 0:
            raise _OutOfWork("out of work")
        return super().get_token(*args, **flags)


def convert_latex(latex: str) -> str | None:
    """The text of a piece of LaTeX; None when the parser fails on it, nests too deeply or runs out of work.

    Source: text_postprocess.py, _latex_to_text_worker (there in a forked process with a 30 s limit, past
    which the formula stays unconverted, as here when the budget of tokens is spent).
    Quirk: `\\today` is the date of the run there; here it is the word, so that scores do not age.
    """
    if len(_OPENING.findall(latex)) <= _SHALLOW:
        return _convert(latex)
    return _on_fresh_stack(lambda: _convert(latex))


def _convert(latex: str) -> str | None:
    walker_context, text_context = _contexts()
    reader = latex2text.LatexNodes2Text(latex_context=text_context)
    reader._doc_date = "today"
    try:
        nodes, _, _ = _BoundedWalker(latex, latex_context=walker_context).get_latex_nodes()
        return str(reader.nodelist_to_text(nodes))
    except _PARSER_FAILURES:
        return None


@cache
def _contexts() -> tuple[Any, Any]:
    """What the parser and the text reader know about macros; 2.11 reads `\\ensuremath`, 2.10 drops it."""
    logging.getLogger("pylatexenc").setLevel(logging.ERROR)
    text_context = latex2text.get_default_latex_context_db()
    overrides = [
        latex2text.MacroTextSpec("ensuremath", discard=True),
        latex2text.MacroTextSpec("today", "today"),
    ]
    text_context.add_context_category("protocol", macros=overrides, prepend=True)
    return latexwalker.get_default_latex_context_db(), text_context


def _on_fresh_stack(work: Callable[[], str | None]) -> str | None:
    """Run on a stack of known depth, so that the caller's depth never decides where nesting is too deep.

    Quirk: the official converter gives up at Python's recursion limit, about 130 nested groups.
    """
    results: list[str | None] = []
    frames = max(0, sys.getrecursionlimit() - _OFFICIAL_FRAMES + _OFFICIAL_CALLER_FRAMES)

    def descend(left: int) -> None:
        if left:
            descend(left - 1)
        else:
            results.append(work())

    thread = threading.Thread(target=descend, args=(frames,))
    thread.start()
    thread.join()
    return results[0]
