"""Paragraphs that are HTML, read as text."""

from __future__ import annotations

import re

from evalkit.protocols.omnidocbench_v16.normalize.html_tree import Element, Text, parse_html, walk
from evalkit.protocols.omnidocbench_v16.rules import rule

_BLOCK_OPENING = re.compile(r"<(?:div|dir)\b", re.IGNORECASE)
_DROPPED = frozenset(("style", "script"))
_INLINE = frozenset(("span", "font", "b", "strong", "i", "em", "u", "a", "sup", "sub"))
_BLOCK = frozenset(("div", "dir", "p", "li"))
_BREAK = "br"


@rule(stage="extract", order=43, example=r"'<div>a<br>b <b>c</b></div>' -> 'a\nb c'")
def html_fragment_to_text(text: str) -> str:
    """A paragraph that begins with a div gives way to its text, a line for each block.

    Source: extract.py, _normalize_html_text_fragment.
    Quirk: other tags, and a div that does not come first, stay in the text.
    """
    text = text.strip()
    if not _BLOCK_OPENING.match(text) or "<table" in text.lower():
        return text
    plain = _read(parse_html(text).root).replace("\u00a0", " ")
    lines = [line.strip() for line in plain.split("\n") if line.strip()]
    return "\n".join(lines) or text


def _read(root: Element) -> str:
    """The visible text with a line feed at each break and at the end of each block that has none there yet."""
    pieces: list[str] = []
    last_children: list[str | None] = [None]  # of each open element: its last text, None for an element
    for visit in walk(root, skip=lambda element: element.name in _DROPPED or element.name == _BREAK):
        node = visit.node
        if isinstance(node, Text):
            last_children[-1] = node.text
            pieces.append(node.text if node.is_readable else "")
        elif node.name == _BREAK:
            if not visit.leaving:
                last_children[-1] = "\n"
                pieces.append("\n")
        elif node.name in _DROPPED or node.name in _INLINE:
            continue
        elif not visit.leaving:
            last_children.append(None)
        else:
            if node.name in _BLOCK and last_children[-1] != "\n":
                pieces.append("\n")
            last_children.pop()
            last_children[-1] = None
    return "".join(pieces)
