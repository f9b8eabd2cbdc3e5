"""Equation numbers after the end of a multi-line environment."""

from __future__ import annotations

import re

_LABEL = re.compile(r"\\label\s*\{[^{}]*\}")
_TAG = re.compile(r"\\tag\*?\s*\{[^{}]*\}")
_SPACING = ("\\qquad", "\\quad", "\\,", "\\;", "\\!", "\\>", "\\:", "~")
_SPACING_LOOKBACK = 10
_SHORT_WORD = re.compile(r"[a-z]{1,3}")
_NUMBER = re.compile(r"[A-Za-z0-9.\-#]+")
_COMMANDS = re.compile(r"(?:\\[A-Za-z#]+)+")
_BRACKETS = {")": "(", "]": "["}


def strip_end_labels(trailing: str) -> str:
    r"""Text after `\end{…}` without labels, a closing tag and closing equation numbers such as `(2.1)`.

    Source: match_quick.py _strip_multiline_end_labels.
    Quirk: of several tags none is dropped, because only the first is looked at and it is not the last thing.
    """
    text = _LABEL.sub("", trailing)
    tag = _TAG.search(text)
    end = _before_space(text, len(text))
    while end and (start := _last_label(text, end, tag)) >= 0:
        end = _before_spacing(text, start)
    return text[:end]


def _last_label(text: str, end: int, tag: re.Match[str] | None) -> int:
    """Where the tag or bracketed number begins with which text[:end] closes; -1 when there is none."""
    if tag and tag.end() == end:
        return tag.start()
    opening = _BRACKETS.get(text[end - 1])
    start = text.rfind(opening, 0, end) if opening else -1
    return start if start >= 0 and _is_number(text[start + 1 : end - 1].strip(), text, start) else -1


def _is_number(inner: str, text: str, start: int) -> bool:
    """Whether bracketed text set apart from what is before it is an equation number, not a word or a formula."""
    before = text[max(0, start - _SPACING_LOOKBACK) : start]
    if before and not (before[-1].isspace() or any(mark in before for mark in _SPACING)):
        return False
    if _SHORT_WORD.fullmatch(inner):
        return False
    return bool(_NUMBER.fullmatch(inner) or _COMMANDS.fullmatch(inner))


def _before_spacing(text: str, end: int) -> int:
    end = _before_space(text, end)
    while mark := next((mark for mark in _SPACING if text.endswith(mark, 0, end)), None):
        end = _before_space(text, end - len(mark))
    return end


def _before_space(text: str, end: int) -> int:
    while end and text[end - 1].isspace():
        end -= 1
    return end
