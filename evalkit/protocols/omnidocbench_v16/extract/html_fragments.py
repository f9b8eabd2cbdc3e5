"""Paragraphs that are HTML, read as text."""

from __future__ import annotations

import re

from bs4 import BeautifulSoup

from evalkit.protocols.omnidocbench_v16.rules import rule

_BLOCK_OPENING = re.compile(r"<(?:div|dir)\b", re.IGNORECASE)
_INLINE_TAGS = ["span", "font", "b", "strong", "i", "em", "u", "a", "sup", "sub"]
_BLOCK_TAGS = ["div", "dir", "p", "li"]


@rule(stage="extract", order=43, example=r"'<div>a<br>b <b>c</b></div>' -> 'a\nb c'")
def html_fragment_to_text(text: str) -> str:
    """A paragraph that begins with a div gives way to its text, a line for each block.

    Source: extract.py, _normalize_html_text_fragment.
    Quirk: other tags, and a div that does not come first, stay in the text.
    """
    text = text.strip()
    if not _BLOCK_OPENING.match(text) or "<table" in text.lower():
        return text
    soup = BeautifulSoup(text, "html.parser")
    for tag in soup.find_all(["style", "script"]):
        tag.decompose()
    for tag in soup.find_all(_INLINE_TAGS):
        tag.unwrap()
    for tag in soup.find_all("br"):
        tag.replace_with("\n")
    for tag in soup.find_all(_BLOCK_TAGS):
        if not tag.contents or tag.contents[-1] != "\n":
            tag.append("\n")
    plain = soup.get_text(separator="").replace("\u00a0", " ")
    lines = [line.strip() for line in plain.split("\n") if line.strip()]
    return "\n".join(lines) or text
