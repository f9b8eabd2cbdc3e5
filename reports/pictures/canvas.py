"""Figures whose colours follow the page: matplotlib draws with placeholders, the SVG names custom properties."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
from lxml import etree
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.run_files import Run

INK, MUTED, GRID, PAPER = "#010203", "#010204", "#010205", "#010206"
SERIES = tuple(f"#0102{number:02x}" for number in range(16, 24))
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "h")
LINES = ("-", "--", "-.", ":")
_PROPERTIES = {INK: "--ink", MUTED: "--muted", GRID: "--line", PAPER: "--paper"} | {
    colour: f"--s{number}" for number, colour in enumerate(SERIES)
}
_KEPT_ATTRIBUTES = {
    "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-dashoffset", "stroke-linecap", "stroke-linejoin",
    "fill-opacity", "stroke-opacity", "opacity", "text-anchor", "font-size", "font-weight", "font-style",
    "clip-path", "stroke-miterlimit",
}  # fmt: skip
_SVG = "{http://www.w3.org/2000/svg}"
WIDE = 13.2
_XLINK = "{http://www.w3.org/1999/xlink}href"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_RC: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10.5,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": GRID,
    "axes.labelcolor": MUTED,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "legend.frameon": False,
    "lines.linewidth": 1.9,
    "lines.markersize": 6,
}


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture with its words. `svg` is inline SVG, or `reason` says why there is none."""

    name: str
    title: str
    caption: str
    svg: str | None = None
    reason: str | None = None
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """How one run is drawn in every picture of a report."""

    label: str
    colour: str
    marker: str
    line: str


def looks(runs: Sequence[Run]) -> dict[str, Look]:
    """A colour, a marker and a line style for each run by its key; emulated runs say so in the label."""
    return {
        run.key: Look(
            label(run),
            SERIES[number % len(SERIES)],
            MARKERS[(number + number // len(SERIES)) % len(MARKERS)],
            LINES[number // len(SERIES) % len(LINES)],
        )
        for number, run in enumerate(runs)
    }


def label(run: Run, limit: int = 34) -> str:
    """A run's title for a picture: short, printable, and with what must stand beside its numbers."""
    text = _CONTROL.sub(" ", run.title)
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return text + (" (emulated)" if run.emulated else "") + (" (invalid)" if run.invalid else "")


def beside(axes: Axes, x: float, y: float, text: str, size: float = 9) -> None:
    """A text just right of a bar's end."""
    axes.annotate(text, (x, y), (4, 0), textcoords="offset points", va="center", fontsize=size, color=INK)


class Canvas:
    """A figure of one or more axes in a row, to be written as SVG that a page can hold."""

    def __init__(self, name: str, *, width: float = 6.4, height: float = 3.7, columns: int = 1, rows: int = 1) -> None:
        self._name = name
        with matplotlib.rc_context(_RC):
            self._figure = Figure(figsize=(width, height), layout="constrained")
            grid = self._figure.subplots(rows, columns, squeeze=False)
        self.axes: list[Axes] = [axes for row in grid for axes in row]
        for axes in self.axes:
            axes.patch.set_visible(False)
        self._figure.patch.set_visible(False)

    def legend_below(self, axes: Axes, columns: int = 3) -> None:
        """One legend for all axes, under them."""
        handles, labels = axes.get_legend_handles_labels()
        if handles:
            with matplotlib.rc_context(_RC):
                self._figure.legend(handles, labels, loc="outside lower center", ncols=min(columns, len(handles)))

    def svg(self, description: str) -> str:
        """Inline SVG without styles, scripts, or ids that another picture could have."""
        target = io.BytesIO()
        with matplotlib.rc_context({**_RC, "svg.hashsalt": self._name}), warnings.catch_warnings():
            # the page's own fonts show the text; matplotlib only measures it, and may lack the glyphs
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            self._figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})
        return _for_page(target.getvalue(), self._name, description)


def _for_page(raw: bytes, name: str, description: str) -> str:
    root = etree.fromstring(raw, etree.XMLParser(resolve_entities=False, huge_tree=False))
    for element in list(root.iter(f"{_SVG}metadata", f"{_SVG}style", etree.Comment)):
        parent = element.getparent()
        if parent is not None:
            parent.remove(element)
    referenced = set(re.findall(rb'(?:url\(#|href="#)([^)"]+)', raw))
    for element in root.iter():
        _plain_attributes(element, name, referenced)
    for attribute in {"width", "height", "version"} & set(map(str, root.attrib)):
        del root.attrib[attribute]
    root.set("role", "img")
    root.set("aria-label", _CONTROL.sub(" ", description))
    root.set("class", "picture")
    etree.cleanup_namespaces(root)
    return etree.tostring(root, encoding="unicode")


def _plain_attributes(element: etree._Element, name: str, referenced: set[bytes]) -> None:
    """Style declarations become presentation attributes, which a strict content policy lets pass."""
    identity = element.get("id")
    if identity is not None:
        del element.attrib["id"]
        if identity.encode() in referenced:
            element.set("id", f"{name}-{identity}")
    style = element.get("style") or ""
    if style:
        del element.attrib["style"]
    for declaration in style.split(";"):
        key, _, value = declaration.partition(":")
        key, value = key.strip(), value.strip()
        if key == "font":
            element.set("font-size", value.split("px", maxsplit=1)[0].split()[-1] + "px")
        elif key in _KEPT_ATTRIBUTES and value:
            element.set(key, value)
    for key, value in [(str(key), str(value)) for key, value in element.attrib.items()]:
        element.set(key, _coloured(value, name) if key != _XLINK else f"#{name}-{value[1:]}")


def _coloured(value: str, name: str) -> str:
    if value in _PROPERTIES:
        return f"var({_PROPERTIES[value]})"
    return value.replace("url(#", f"url(#{name}-") if value.startswith("url(#") else value
