"""Attributes as Beautiful Soup writes them anew: lists of words with single blanks, encodings as utf-8."""

from __future__ import annotations

import re

_LISTS = frozenset(("class", "accesskey", "dropzone"))
_LISTS_OF = {
    "a": ("rel", "rev"), "link": ("rel", "rev"), "td": ("headers",), "th": ("headers",), "form": ("accept-charset",),
    "object": ("archive",), "area": ("rel",), "icon": ("sizes",), "iframe": ("sandbox",), "output": ("for",),
}  # fmt: skip
_WORD = re.compile(r"\S+")
_CHARSET = re.compile(r"((?:^|;)\s*charset=)[^;]*", re.MULTILINE)


def rewritten_attributes(name: str, attributes: dict[str, str]) -> dict[str, str]:
    """The attributes of an element of this name."""
    if not attributes:
        return attributes
    return _in_utf8(attributes) if name == "meta" else _with_lists_joined(name, attributes)


def _with_lists_joined(name: str, attributes: dict[str, str]) -> dict[str, str]:
    own = _LISTS_OF.get(name, ())
    return {
        key: " ".join(_WORD.findall(value)) if key in _LISTS or key in own else value
        for key, value in attributes.items()
    }


def _in_utf8(attributes: dict[str, str]) -> dict[str, str]:
    """A meta element names the encoding that it is written in, whatever it said."""
    joined = _with_lists_joined("meta", attributes)
    if "charset" in joined:
        return {**joined, "charset": "utf-8"}
    if "content" in joined and joined.get("http-equiv", "").lower() == "content-type":
        return {**joined, "content": _CHARSET.sub(r"\1utf-8", joined["content"])}
    return joined
