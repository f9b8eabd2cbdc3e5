"""LaTeX read as plain text, in process and remembered, with the guards that leave doubtful LaTeX alone."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from evalkit.protocols.omnidocbench_v16.normalize.latex_converter import Failure, convert_with_reason
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.rules import rule
from evalkit.protocols.omnidocbench_v16.work_limits import LATEX_TEXT, limit_met

_REMEMBERED_CHARACTERS = 2000
_COMMAND = re.compile(r"\\[A-Za-z]+")
_WORD = re.compile(r"[A-Za-z]{3,}")
_LATEX_SIGNAL = re.compile(r"\\[A-Za-z]+|[_^{}$]|\\[\[\]()]\]|&|%|#")
_ENVIRONMENT = re.compile(r"\\(begin|end)\{([^{}]+)\}")
_ESCAPED_OR_BRACE = re.compile(r"\\[{}\[\]()]|[{}]")
_UNESCAPED_DOLLAR = re.compile(r"(?<!\\)\$")
_LEFT = re.compile(r"\\left\b")
_RIGHT = re.compile(r"\\right\b")
_MATH_SIGNS = frozenset("{}$^_=&%#")
_MATH_COMMANDS = (
    "\\frac", "\\sqrt", "\\left", "\\right", "\\begin", "\\end", "\\sum", "\\int", "\\alpha", "\\beta",
)  # fmt: skip


def latex_to_text(latex: str, fallback: str | None = None) -> str:
    """LaTeX as plain text, or the fallback (default: the stripped input) where a guard or the parser refuses.

    Source: text_postprocess.py, safe_latex_to_text.
    """
    stripped = latex.strip()
    if not stripped:
        return "" if fallback is None else fallback
    if not any(sign in stripped for sign in "\\{}$"):
        return stripped
    text, reason = _converted(stripped)
    if text is not None:
        return text
    if reason == Failure.OUT_OF_WORK:
        limit_met(LATEX_TEXT)
    return stripped if fallback is None else fallback


def why_not_converted(latex: str) -> str | None:
    """Why `latex_to_text` leaves a piece of LaTeX as it is; None when it converts it.

    `out_of_work` is the one reason that the official scorer does not know: there the 30 s limit decides.
    """
    return _converted(latex.strip()).reason


class _Converted(NamedTuple):
    text: str | None
    reason: str | None = None


def _converted(stripped: str) -> _Converted:
    return _convert_and_remember(stripped) if len(stripped) <= _REMEMBERED_CHARACTERS else _convert(stripped)


@lru_cache(maxsize=1 << 13)
def _convert_and_remember(stripped: str) -> _Converted:
    return _convert(stripped)


def _convert(stripped: str) -> _Converted:
    if is_prose(stripped):
        return _Converted(None, "prose")
    if is_weak_latex(stripped):
        return _Converted(None, "weak_latex")
    if (reason := why_bad_latex(stripped)) is not None:
        return _Converted(None, reason)
    return _Converted(*convert_with_reason(stripped))


@rule(
    stage="normalize",
    order=20,
    example="'the area of the region is given by A times B' -> True",
)
def is_prose(text: str) -> bool:
    """A long formula of words and spaces without math signs is prose and is not converted.

    Source: text_postprocess.py, looks_like_plaintext_formula_noise.
    """
    text = text.strip()
    if len(text) < POLICY.normalize.prose_chars or any(sign in text for sign in "{}$^_"):
        return False
    if any(command in text for command in _MATH_COMMANDS):
        return False
    if len(_LATEX_SIGNAL.findall(text)) > POLICY.normalize.prose_latex_signs:
        return False
    words = len(_WORD.findall(text))
    return text.count(" ") >= POLICY.normalize.prose_blanks and words >= POLICY.normalize.prose_words


@rule(stage="normalize", order=21, example=r"'two words' -> True")
def is_weak_latex(text: str) -> bool:
    """A formula with more words than commands and math signs, or with a lone backslash, is not converted.

    Source: text_postprocess.py, looks_like_weak_latex_input.
    """
    text = text.strip()
    if not text or text in ("\\", "\\\\"):
        return True
    commands = len(_COMMAND.findall(text))
    signs = sum(character in _MATH_SIGNS for character in text)
    if commands == 0 and text.endswith("\\") and not text.endswith("\\\\"):
        return True
    if commands == 0 and signs == 0 and "\\" in text:
        return True
    words = len(_WORD.findall(text))
    limits = zip(
        POLICY.normalize.weak_words, POLICY.normalize.weak_commands, POLICY.normalize.weak_math_signs, strict=True
    )
    return any(words >= least and commands <= most and signs <= most_signs for least, most, most_signs in limits)


@rule(stage="normalize", order=22, example=r"'{x' -> 'unbalanced_braces'")
def why_bad_latex(text: str) -> str | None:
    """Why a formula is not worth parsing: too long, or braces, environments, \\left or delimiters do not pair.

    Source: text_postprocess.py, likely_bad_latex.
    """
    return why_bad_table_latex(text) or _why_bad_math(text.strip())


def why_bad_table_latex(text: str) -> str | None:
    """Why a LaTeX table is not converted: too long, or its braces or environments do not pair.

    Source: text_postprocess.py, likely_bad_latex with the type `table`.
    """
    text = text.strip()
    if not text:
        return None
    if len(text) > POLICY.normalize.latex_chars:
        return "too_long"
    if not _braces_pair(text):
        return "unbalanced_braces"
    if not _environments_pair(text):
        return "unbalanced_environments"
    return None


def _why_bad_math(text: str) -> str | None:
    if len(_LEFT.findall(text)) != len(_RIGHT.findall(text)):
        return "unbalanced_left_right"
    if text.count("\\(") != text.count("\\)") or text.count("\\[") != text.count("\\]"):
        return "unbalanced_delimiters"
    if len(_UNESCAPED_DOLLAR.findall(text)) % 2:
        return "unbalanced_delimiters"
    return None


def _braces_pair(text: str) -> bool:
    depth = 0
    for found in _ESCAPED_OR_BRACE.finditer(text):
        if found.group() == "{":
            depth += 1
        elif found.group() == "}":
            depth -= 1
            if depth < 0:
                return False
    return depth == 0


def _environments_pair(text: str) -> bool:
    open_names: list[str] = []
    for found in _ENVIRONMENT.finditer(text):
        kind, name = found.groups()
        if kind == "begin":
            open_names.append(name)
        elif not open_names or open_names.pop() != name:
            return False
    return not open_names
