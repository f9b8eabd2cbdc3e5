"""SVG from elsewhere, cut down to shapes and texts that a page can hold."""

from __future__ import annotations

from lxml import etree
from markupsafe import Markup

MOST_CHARS = 300_000
_NAMESPACE = "http://www.w3.org/2000/svg"
_ELEMENTS = frozenset({"svg", "g", "rect", "line", "text", "title"})
_ATTRIBUTES = frozenset(
    {
        "viewBox", "width", "height", "x", "y", "x1", "x2", "y1", "y2", "fill", "stroke", "fill-opacity", "font-size",
        "stroke-dasharray", "text-anchor", "dominant-baseline", "role", "aria-label",
    }
)  # fmt: skip


def clean_svg(source: str) -> Markup | None:
    """The listed elements and attributes of a picture; None when it is too large or no SVG."""
    if len(source) > MOST_CHARS:
        return None
    try:
        root = etree.fromstring(source.encode("utf-8"), etree.XMLParser(resolve_entities=False, no_network=True))
    except (etree.XMLSyntaxError, UnicodeError):
        return None
    clean = _clean(root)
    return Markup(etree.tostring(clean, encoding="unicode")) if clean is not None else None


def _clean(element: etree._Element) -> etree._Element | None:
    name = etree.QName(element).localname if isinstance(element.tag, str) else ""
    if name not in _ELEMENTS:
        return None
    clean = etree.Element(f"{{{_NAMESPACE}}}{name}", nsmap={None: _NAMESPACE})  # type: ignore[dict-item]
    for key, value in element.attrib.items():
        if key in _ATTRIBUTES and "url" not in str(value).lower():
            clean.set(key, value)
    clean.text = element.text
    clean.extend(child for found in element if (child := _clean(found)) is not None)
    return clean
