"""The LaTeX parser behind the text conversion: pylatexenc as in its version 2.10, with bounded work and no clock."""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections.abc import Callable
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

from pylatexenc import latex2text, latexwalker

from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.rules import rule

_NESTING_SIGN = re.compile(r"[{\[$_^]|\\(?:begin|left)\b|\\[(\[]")
_SHALLOW = 12

_OFFICIAL_FRAMES = 1000
_OFFICIAL_CALLER_FRAMES = 13

_ACCENTS = (
    "'", "`", '"', "^", "~", "=", ".", "H", "b", "c", "d", "k", "r", "u", "v", "acute", "bar", "breve", "check", "ddot",
    "dot", "grave", "hat", "not", "tilde", "vec",
)  # fmt: skip

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


class Failure(StrEnum):
    """Why the parser gave no text."""

    PARSER = "parser"
    OUT_OF_WORK = "out_of_work"


class Conversion(NamedTuple):
    """The text of a piece of LaTeX, or None with the reason."""

    text: str | None
    failure: Failure | None = None


class _OutOfWorkError(Exception):
    """The budget of tokens or characters is spent."""


class _BoundedWalker(latexwalker.LatexWalker):  # type: ignore[misc]
    """Parser with a budget of tokens: an optional argument that never closes is read twice, with all inside it."""

    tokens = POLICY.normalize.latex_tokens

    def __init__(self, latex: str, **flags: Any) -> None:
        at_least, per_character = self.tokens
        self._tokens_left = at_least + per_character * len(latex)
        super().__init__(latex, **flags)

    def get_token(self, *args: Any, **flags: Any) -> Any:
        self._tokens_left -= 1
        if self._tokens_left < 0:
            raise _OutOfWorkError
        return super().get_token(*args, **flags)


class _RememberingWalker(_BoundedWalker):
    """Parser that reads each part once however often it is asked for: quadratic where the other is exponential."""

    tokens = POLICY.normalize.latex_tokens_remembering

    def __init__(self, latex: str, **flags: Any) -> None:
        self._known: dict[tuple[object, ...], Any] = {}
        super().__init__(latex, **flags)

    def get_latex_nodes(self, pos: int = 0, parsing_state: Any = None, **stops: Any) -> Any:
        state = (parsing_state.in_math_mode, parsing_state.math_mode_delimiter) if parsing_state else None
        key = (pos, state, *sorted(stops.items()))
        if key not in self._known:
            self._known[key] = super().get_latex_nodes(pos, parsing_state=parsing_state, **stops)
        return self._known[key]


class _Reader(latex2text.LatexNodes2Text):  # type: ignore[misc]
    def __init__(self, latex_context: Any) -> None:
        super().__init__(latex_context=latex_context)
        self._doc_date = "today"
        self.accented_characters_left = POLICY.normalize.accented_chars


@rule(stage="normalize", order=23, example=r"'\\frac{a}{b}' -> 'a/b'")
def convert_latex(latex: str) -> str | None:
    """The text of a piece of LaTeX; None when the parser fails on it, nests too deeply or runs out of work.

    Source: text_postprocess.py, _latex_to_text_worker (there in a forked process with a 30 s limit).
    Quirk: `\\today` is the date of the run there; here it is the word, so that scores do not age.
    """
    return convert_with_reason(latex).text


def convert_with_reason(latex: str) -> Conversion:
    """The text of a piece of LaTeX, or why there is none."""
    if len(_NESTING_SIGN.findall(latex)) <= _SHALLOW:
        return _convert(latex)
    return _on_fresh_stack(lambda: _convert(latex))


def _convert(latex: str) -> Conversion:
    try:
        try:
            return Conversion(_read(_BoundedWalker, latex))
        except _OutOfWorkError:
            return Conversion(_read(_RememberingWalker, latex))
    except _OutOfWorkError:
        return Conversion(None, Failure.OUT_OF_WORK)
    except _PARSER_FAILURES:
        return Conversion(None, Failure.PARSER)


def _read(walker: type[_BoundedWalker], latex: str) -> str:
    walker_context, text_context = _contexts()
    nodes, _, _ = walker(latex, latex_context=walker_context).get_latex_nodes()
    return str(_Reader(text_context).nodelist_to_text(nodes))


@cache
def _contexts() -> tuple[Any, Any]:
    """What the parser and the reader know about macros; 2.11 reads `\\ensuremath`, 2.10 drops it."""
    logging.getLogger("pylatexenc").setLevel(logging.ERROR)
    context = latex2text.get_default_latex_context_db()
    overrides = [
        latex2text.MacroTextSpec("ensuremath", discard=True),
        latex2text.MacroTextSpec("today", "today"),
        *(_bounded_accent(name, context.get_macro_spec(name).simplify_repl) for name in _ACCENTS),
    ]
    context.add_context_category("protocol", macros=overrides, prepend=True)
    return latexwalker.get_default_latex_context_db(), context


def _bounded_accent(name: str, accented: Callable[[Any, _Reader], str]) -> Any:
    """The accent with a budget: each one around another doubles the characters."""

    def bounded(node: Any, l2tobj: _Reader) -> str:
        text = accented(node, l2tobj)
        l2tobj.accented_characters_left -= len(text)
        if l2tobj.accented_characters_left < 0:
            raise _OutOfWorkError
        return text

    return latex2text.MacroTextSpec(name, bounded)


def _on_fresh_stack(work: Callable[[], Conversion]) -> Conversion:
    """Run on a stack of known depth, so that the caller's depth never decides where nesting is too deep.

    Quirk: the official converter gives up at Python's recursion limit, at 80 to 200 levels of nesting.
    """
    results: list[Conversion] = []
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
