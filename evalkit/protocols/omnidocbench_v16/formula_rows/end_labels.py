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
    text = _LABEL.sub("", trailing).rstrip()
    while text:
        shorter = _without_last_label(text)
        if shorter is None:
            break
        text = shorter
    return text


def _without_last_label(text: str) -> str | None:
    """The text before a tag or bracketed number at its end; None when there is none."""
    tag = _TAG.search(text)
    if tag and tag.end() == len(text):
        return _strip_spacing(text[: tag.start()])
    opening = _BRACKETS.get(text[-1])
    start = text.rfind(opening) if opening else -1
    if start < 0 or not _is_number(text[start + 1 : -1].strip(), text[:start]):
        return None
    return _strip_spacing(text[:start])


def _is_number(inner: str, before: str) -> bool:
    """Whether bracketed text set apart from what is before it is an equation number, not a word or a formula."""
    if before and not (before[-1].isspace() or any(mark in before[-_SPACING_LOOKBACK:] for mark in _SPACING)):
        return False
    if _SHORT_WORD.fullmatch(inner):
        return False
    return bool(_NUMBER.fullmatch(inner) or _COMMANDS.fullmatch(inner))


def _strip_spacing(text: str) -> str:
    text = text.rstrip()
    while mark := next((mark for mark in _SPACING if text.endswith(mark)), None):
        text = text[: -len(mark)].rstrip()
    return text
