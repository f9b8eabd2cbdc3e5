"""Templates that escape everything, and texts in which nothing can hide or turn the page around."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

FOLDER = Path(__file__).parent
ASSETS = FOLDER / "assets"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
"""Content policy of every page: only the report's own files, no inline script or style, no request elsewhere."""

# Control characters, directional marks and overrides, invisible format characters, and halves of surrogate pairs.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ufffe\uffff\U000e0000-\U000e007f]"
)


def printable(text: str) -> str:
    """The text with characters that act unseen written out, such as ⟦U+202E⟧."""
    return _HIDDEN.sub(lambda found: f"⟦U+{ord(found.group()):04X}⟧", text)


def _finalize(value: Any) -> Any:
    if isinstance(value, Markup):
        return Markup(printable(str(value))) if _HIDDEN.search(value) else value
    return printable(value) if isinstance(value, str) else value


@cache
def environment() -> Environment:
    """The templates; every value is escaped and printable, an unknown name is an error."""
    found = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals["policy"] = POLICY
    found.filters["trusted"] = Markup
    return found


def render(template: str, **values: Any) -> str:
    """A page from its template."""
    return environment().get_template(template).render(**values)
