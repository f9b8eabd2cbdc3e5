"""HPD's cleaning of one block: the vendor's, side effects included, and one that only repairs.

Behaviour as published with the HPD-Parsing model, restated as named steps. Where a step changes correct text, its
docstring says `Quirk:`.
"""

from __future__ import annotations

import re

from evalkit.converters.hpd_math import loosen_flat_pairs, rewrite_formulas, trim_tail
from evalkit.converters.hpd_stream import CHILD, FORK

NON_TEXT = "[Non-Text]"
BLURRED = "The image is too blurry to recognize any text content."
NO_TEXT_FROM = (
    "The image contains no text or characters. It is a graphical element (a horizontal line with a vertical line)"
)
NO_TEXT_TO = "the correct OCR output is an empty string."
_LEAKED = re.compile(r"(?:[A-Za-z_]{1,40}\s{0,8}\[[\d,\s]{0,60}\])?(?:<FORK>|<CHILD>)")
_CUT_TAG = re.compile(r"<(?:B|BL|BLO|BLOC|BLOCK|C|CH|CHI|CHIL|CHILD|F|FO|FOR|FORK)\Z")
_TAG = re.compile(r"\\tag\{[^{}]{0,200}\}")
_TABLE_TAG = re.compile(r"<(/?)table\b", re.IGNORECASE)


def clean_official(content: str) -> str:
    """The vendor's cleaning: "" for a block that says nothing."""
    text = drop_no_content(drop_leaked_tags(content.strip()))
    if not text or text == NON_TEXT:
        return ""
    text = close_plain_table(close_display(text))
    text = number_division(split_inline_neighbours(inline_single_line(text)))
    text = _TAG.sub("", text).replace("\\supset", "\\sqsupset")
    text = trim_tail(loosen_flat_pairs(text))
    return rewrite_formulas(text)


def clean_only(content: str) -> str:
    """Repairs of what is broken, and nothing else: leaked and cut tags, empty answers, cut formulas and tables."""
    text = drop_no_content(_CUT_TAG.sub("", cut_at_tag(content)).strip())
    if not text or text == NON_TEXT or text in ("\\[", "\\("):
        return ""
    if text.startswith("\\[") and not text.endswith("\\]"):
        text = f"{text.rstrip()}\n\\]"
    return close_tables(text)


def drop_leaked_tags(text: str) -> str:
    """Without markers inside content, and without the block header that stands before one."""
    return _LEAKED.sub("", text) if FORK in text or CHILD in text else text


def cut_at_tag(text: str) -> str:
    """The content up to the first marker inside it: what follows belongs to another branch."""
    return text.split(FORK, 1)[0].split(CHILD, 1)[0]


def drop_no_content(text: str) -> str:
    """Without the sentences by which the model says that it saw no text."""
    text = text.replace(BLURRED, "")
    kept: list[str] = []
    while True:
        start = text.find(NO_TEXT_FROM)
        end = text.find(NO_TEXT_TO, start) if start >= 0 else -1
        if end < 0:
            return "".join([*kept, text]).strip()
        kept.append(text[:start])
        text = text[end + len(NO_TEXT_TO) :]


def close_display(text: str) -> str:
    r"""A display formula that was cut gets its end. Quirk: `\[ x \]` on one line gets a second one."""
    return f"{text}\n\\]" if text.startswith("\\[") and not text.endswith("\n\\]") else text


def close_plain_table(text: str) -> str:
    """A table that was cut gets its end tag. Quirk: only when it starts with `<table>` without attributes."""
    return f"{text}</table>" if text.startswith("<table>") and not text.endswith("</table>") else text


def close_tables(text: str) -> str:
    """As many end tags as there are tables left open."""
    opened = 0
    for found in _TABLE_TAG.finditer(text):
        opened = max(0, opened - 1) if found[1] else opened + 1
    return text + "</table>" * opened


def inline_single_line(text: str) -> str:
    r"""Quirk: a display formula in a block without `\\` becomes an inline one; a bare `\[` becomes `\(\]`."""
    if "\\[\n" not in text or "\\\\" in text:
        return text
    return text.replace("\\[\n", "\\(").replace("\n\\]", "\\)")


def split_inline_neighbours(text: str) -> str:
    """Quirk: two inline formulas with a blank between them become paragraphs."""
    return text.replace("\\) \\(", "\\)\n\n\\(")


def number_division(text: str) -> str:
    """Quirk: a block with a division sign and no inline formula becomes one formula, prose included."""
    return f"\\( {text} \\)" if "÷" in text and "\\(" not in text else text
