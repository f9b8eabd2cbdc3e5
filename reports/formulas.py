"""LaTeX formulas as MathML that holds only elements and attributes of a short list."""

from __future__ import annotations

from functools import lru_cache

from latex2mathml import exceptions
from latex2mathml.converter import convert
from lxml import etree

MOST_CHARS = 1_500
MOST_DEPTH = 40
_ELEMENTS = frozenset(
    {
        "math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "msqrt", "mroot", "msub", "msup", "msubsup",
        "munder", "mover", "munderover", "mtable", "mtr", "mtd", "mstyle", "mpadded", "mphantom", "menclose",
    }
)  # fmt: skip
_ATTRIBUTES = {
    "stretchy": {"true", "false"},
    "fence": {"true", "false"},
    "accent": {"true", "false"},
    "displaystyle": {"true", "false"},
    "mathvariant": {"normal", "bold", "italic", "bold-italic", "double-struck", "script", "fraktur", "monospace"},
    "columnalign": {"left", "center", "right"},
    "linethickness": {"0", "1"},
}
_ERRORS: tuple[type[Exception], ...] = (
    *(found for found in vars(exceptions).values() if isinstance(found, type) and issubclass(found, Exception)),
    ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, StopIteration, RuntimeError,
    etree.XMLSyntaxError,
)  # fmt: skip
_DELIMITERS = (("$$", "$$"), ("\\[", "\\]"), ("$", "$"), ("\\(", "\\)"))
_NAMESPACE = "http://www.w3.org/1998/Math/MathML"


@lru_cache(maxsize=4096)
def to_mathml(source: str) -> str | None:
    """MathML of a formula; None for what cannot be read, is too long or is nested too deeply."""
    text = _bare(source)
    if not text or len(text) > MOST_CHARS or _depth(text) > MOST_DEPTH:
        return None
    try:
        raw = convert(text, display="block")
        root = etree.fromstring(raw.encode("utf-8"), etree.XMLParser(resolve_entities=False, no_network=True))
    except _ERRORS:
        return None
    clean = _clean(root)
    clean.set("display", "block")
    return etree.tostring(clean, encoding="unicode")


def _bare(source: str) -> str:
    text = source.strip()
    for begin, end in _DELIMITERS:
        if text.startswith(begin) and text.endswith(end) and len(text) >= len(begin) + len(end):
            return text[len(begin) : -len(end)].strip()
    return text


def _depth(text: str) -> int:
    depth = deepest = 0
    for char in text:
        depth += (char == "{") - (char == "}")
        deepest = max(deepest, depth)
    return deepest + text.count("\\left") + text.count("\\begin")


def _clean(element: etree._Element) -> etree._Element:
    """A copy with listed elements alone; any other becomes a row of its children."""
    name = etree.QName(element).localname if isinstance(element.tag, str) else "mrow"
    clean = etree.Element(
        f"{{{_NAMESPACE}}}{name if name in _ELEMENTS else 'mrow'}",
        nsmap={None: _NAMESPACE},  # type: ignore[dict-item]
    )
    for key, value in element.attrib.items():
        if value in _ATTRIBUTES.get(str(key), ()):
            clean.set(key, value)
    clean.text = element.text if name in {"mi", "mn", "mo", "mtext"} else None
    for child in element:
        if isinstance(child.tag, str):
            clean.append(_clean(child))
    return clean
