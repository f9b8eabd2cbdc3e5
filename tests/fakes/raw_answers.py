"""What each family of systems would have answered for a page, written from its truth in the family's own format."""

from __future__ import annotations

import json
from collections.abc import Callable

from evalkit.types import BBox, Block, GroundTruth, System
from runners.two_stage.layouts import Region

LEFT_OUT = {"abandon", "figure"}
LABELS = {"equation_isolated": "equation", "table": "table", "title": "title"}


def blocks_of(truth: GroundTruth) -> list[Block]:
    """The blocks that count, in reading order."""
    found = [block for block in truth.blocks if block.order is not None and block.kind not in LEFT_OUT and block.poly]
    return sorted(found, key=lambda block: block.order or 0)


def content_of(block: Block) -> str:
    """Text, HTML or bare LaTeX of a block."""
    if block.html:
        return block.html
    if block.latex:
        return block.latex.strip().removeprefix("$$").removesuffix("$$").strip()
    return block.text or ""


def place_of(block: Block, truth: GroundTruth, full: float) -> list[int]:
    """The block's hull in `full` parts of the page sides."""
    poly = block.poly or ()
    box = BBox(min(poly[::2]), min(poly[1::2]), max(poly[::2]), max(poly[1::2]))
    wide, tall = truth.page.width_px or 1, truth.page.height_px or 1
    sides = (box.x1 / wide, box.y1 / tall, box.x2 / wide, box.y2 / tall)
    return [round(side * full) for side in sides]


def markdown(truth: GroundTruth) -> str:
    parts = []
    for block in blocks_of(truth):
        text = content_of(block)
        parts.append(f"$$\n{text}\n$$" if block.latex else ("# " if block.kind == "title" else "") + text)
    return "\n\n".join(parts)


def grounding(truth: GroundTruth) -> str:
    parts = []
    for block in blocks_of(truth):
        label = LABELS.get(block.kind, "text")
        text = f"\\[\n{content_of(block)}\n\\]" if block.latex else content_of(block)
        parts.append(f"<|ref|>{label}<|/ref|><|det|>[{place_of(block, truth, 999)}]<|/det|>\n{text}\n")
    return "\n".join(parts)


def dots(truth: GroundTruth) -> str:
    kinds = {"table": "Table", "equation_isolated": "Formula", "title": "Title"}
    rows = [
        {"bbox": place_of(block, truth, 1000), "category": kinds.get(block.kind, "Text"), "text": content_of(block)}
        for block in blocks_of(truth)
    ]
    return json.dumps(rows, ensure_ascii=False)


def monkey(truth: GroundTruth) -> str:
    kinds = {"table": "table", "equation_isolated": "formula"}
    rows = [
        {"bbox": place_of(block, truth, 1000), "label": kinds.get(block.kind, "Text"), "content": content_of(block)}
        for block in blocks_of(truth)
    ]
    return str(rows)


def html_page(truth: GroundTruth) -> str:
    parts = []
    for block in blocks_of(truth):
        place = ",".join(map(str, place_of(block, truth, 1000)))
        if block.html:
            parts.append(f'<div class="table" data-bbox="{place}">{block.html}</div>')
        elif block.latex:
            parts.append(f'<div class="formula" data-bbox="{place}">$${content_of(block)}$$</div>')
        else:
            text = content_of(block).replace("&", "&amp;").replace("<", "&lt;")
            parts.append(f'<p data-bbox="{place}">{text}</p>')
    return "\n".join(parts)


def hpd(truth: GroundTruth) -> str:
    parts = []
    for block in blocks_of(truth):
        kind = LABELS.get(block.kind, "text")
        text = f"\\[\n{content_of(block)}\n\\]" if block.latex else content_of(block)
        parts.append(f"<BLOCK>{kind} {place_of(block, truth, 1000)}<CHILD>{text}")
    return "".join(parts)


PAGE_ANSWERS: dict[str, Callable[[GroundTruth], str]] = {
    "wrapped_markdown": markdown,
    "grounding": grounding,
    "dots_json": dots,
    "monkey_json": monkey,
    "html_page": html_page,
    "hpd": hpd,
    "hpd_plain": hpd,
}


def layout_answer(system: System, truth: GroundTruth, seen_px: tuple[int, int]) -> tuple[str, list[tuple[Region, str]]]:
    """The layout answer of a two-stage system for a page, and its regions with what is read in each."""
    grammar = system.serve.details["layout"]
    words = {"dolphin": {"table": "tab", "equation_isolated": "equ"}, "mineru": LABELS}.get(grammar, LABELS)
    default = "para" if grammar == "dolphin" else "text"
    lines, regions = [], []
    for block in blocks_of(truth):
        label = words.get(block.kind, default)
        x1, y1, x2, y2 = place_of(block, truth, 1000)
        if x2 <= x1 or y2 <= y1:
            continue
        regions.append((Region(label, (float(x1), float(y1), float(x2), float(y2))), content_of(block)))
        if grammar == "mineru":
            box = f"<|box_start|>{x1} {y1} {x2} {y2}<|box_end|>"
            lines.append(f"{box}<|ref_start|>{label}<|ref_end|><|rotate_up|>")
        elif grammar == "dolphin":
            wide, tall = seen_px
            px = [x1 * wide / 1000, y1 * tall / 1000, x2 * wide / 1000, y2 * tall / 1000]
            lines.append(f"{[round(value, 3) for value in px]}[{label}][PAIR_SEP]")
        else:
            lines.append(json.dumps({"bbox": [x1, y1, x2, y2], "label": label}))
    return "\n".join(lines), regions
