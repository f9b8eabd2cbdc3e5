"""Circled digits and letters as the plain ones."""

from __future__ import annotations

import re

from evalkit.protocols.omnidocbench_v16.rules import rule

_CIRCLED = (
    {0x2460 + index: str(index + 1) for index in range(20)}
    | {0x24D0 + index: chr(ord("a") + index) for index in range(26)}
    | {0x24B6 + index: chr(ord("A") + index) for index in range(26)}
)
_CIRCLE_COMMAND = re.compile(r"\\textcircled\s*\{([^{}]+)\}")


@rule(stage="normalize", order=1, example=r"'① and \\textcircled{2}' -> '1 and 2'")
def uncircle(text: str) -> str:
    """Circled digits and letters, and the argument of \\textcircled, become the plain characters.

    Source: data_preprocess.py, replace_textcircle.
    """
    if "\\textcircled" in text:
        text = _CIRCLE_COMMAND.sub(lambda found: found.group(1).strip(), text)
    return text if text.isascii() else text.translate(_CIRCLED)
