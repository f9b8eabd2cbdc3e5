"""Brace groups in LaTeX, matched in one pass."""

from __future__ import annotations

import re

_BRACE = re.compile(r"[{}]")


def closing_braces(text: str) -> dict[int, int]:
    """Where each brace closes, by the position of the opening one; unclosed ones are absent. Escapes count too."""
    partners: dict[int, int] = {}
    open_at: list[int] = []
    for found in _BRACE.finditer(text):
        if found.group() == "{":
            open_at.append(found.start())
        elif open_at:
            partners[open_at.pop()] = found.start()
    return partners


def remove_command_with_group(text: str, command: str) -> str:
    """Remove each `command{...}`; at the first one that never closes only the command goes, and the rest stays.

    A removal may join a new `command{`, which is removed as well.

    Source: data_preprocess.py, _strip_command_with_balanced_group.
    """
    token = command + "{"
    if token not in text:
        return text
    closing = closing_braces(text)
    kept: list[str] = []
    position = 0
    while (start := text.find(token, position)) >= 0:
        kept.extend(text[position:start])
        body = start + len(token)
        while body:
            end = closing.get(body - 1)
            if end is None:
                return "".join(kept) + text[body - 1 :]
            position = end + 1
            body = _joined_token(kept, text, position, token)
    return "".join(kept) + text[position:]


def _joined_token(kept: list[str], text: str, position: int, token: str) -> int:
    """Where the group of a token begins that the kept text and the text at `position` form together; 0 for none."""
    tail = "".join(kept[-(len(token) - 1) :])
    found = (tail + text[position : position + len(token) - 1]).find(token)
    if found < 0:
        return 0
    overlap = len(tail) - found
    del kept[-overlap:]
    return position + len(token) - overlap


def remove_starred_command_with_group(text: str, command: str) -> str:
    """Remove each `command{...}` and `command*{...}`; without a closing brace only the command goes.

    Source: data_preprocess.py, _strip_command_with_optional_star_and_balanced_group.
    """
    if command not in text:
        return text
    closing = closing_braces(text)
    argument = re.compile(r"\s*(?:\*\s*)?\{")
    kept: list[str] = []
    position = search_from = 0
    while (start := text.find(command, search_from)) >= 0:
        search_from = start + len(command)
        group = argument.match(text, search_from)
        if text[search_from : search_from + 1].isalpha() or group is None:
            continue
        kept.append(text[position:start])
        end = closing.get(group.end() - 1)
        position = search_from = search_from if end is None else end + 1
    kept.append(text[position:])
    return "".join(kept)
