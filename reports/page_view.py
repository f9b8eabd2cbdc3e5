"""One page of one run: image with boxes, matched pairs with their differences, and the raw output."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from reports.columns import BY_NAME, Column, written
from reports.differences import Difference, differ, unmarked
from reports.formulas import to_mathml
from reports.inline_svg import clean_svg
from reports.layout_scores import LayoutScores
from reports.layout_verdicts import judged
from reports.page_rows import PagePart
from reports.tables import Table, compare_tables, read_table
from reports.truth import Box, TruthPage, number

MOST_PAIRS = 300
MOST_RAW_CHARS = 150_000
MOST_RENDERED = 60
RENDERED = {"table", "display_formula"}
FormulaPicture = Callable[[Mapping[str, Any], Mapping[str, Any]], str | None]
"""Draws what CDM compared of a pair, from the pair's row and its scores; None where it cannot."""

ELEMENTS = {
    "text_block": "Text",
    "display_formula": "Formula",
    "table": "Table",
    "reading_order": "Reading order",
}
_SCORE_ORDER = ("text_edit", "formula_cdm", "formula_edit", "table_teds", "table_teds_s", "table_edit",
                "read_order_edit")  # fmt: skip


@dataclass(frozen=True, slots=True)
class ShownScore:
    """One metric of a pair: its text, how good it is from 0 to 4 (None: not scored), and why it has no value."""

    column: Column
    text: str
    grade: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class ShownPair:
    """One matched pair, ready to be shown."""

    element: str
    rule: str
    gt_place: str
    pred_place: str
    gt_kind: str
    pred_kind: str
    scores: tuple[ShownScore, ...]
    difference: Difference
    same: bool
    unmatched: str
    gt_table: Table | None = None
    pred_table: Table | None = None
    gt_math: Markup | None = None
    pred_math: Markup | None = None
    matched: Markup | None = None


@dataclass(frozen=True, slots=True)
class ShownPage:
    """Everything on a page view except what leads elsewhere."""

    pairs: tuple[ShownPair, ...]
    left_out: int
    raw: str
    raw_cut: int
    markdown: str
    markdown_cut: int
    boxes: tuple[Box, ...]
    state: str
    reason: str
    facts: tuple[tuple[str, str], ...]


def shown_page(part: PagePart, picture: FormulaPicture | None = None) -> ShownPage:
    """The rows of one page of one run as they are shown; rows that are no pairs are passed over."""
    pairs: list[ShownPair] = []
    for row, scores in part.pairs[:MOST_PAIRS]:
        rendered = sum(pair.element in RENDERED for pair in pairs) < MOST_RENDERED
        pair = _pair(row, scores, rendered, picture)
        pairs += [pair] if pair is not None else []
    raw, markdown = part.request.get("text") or "", part.prediction.get("markdown") or ""
    raw, markdown = _text(raw), _text(markdown)
    return ShownPage(
        pairs=tuple(pairs),
        left_out=max(0, len(part.pairs) - MOST_PAIRS),
        raw=raw[:MOST_RAW_CHARS],
        raw_cut=max(0, len(raw) - MOST_RAW_CHARS),
        markdown=markdown[:MOST_RAW_CHARS],
        markdown_cut=max(0, len(markdown) - MOST_RAW_CHARS),
        boxes=tuple(predicted_boxes(part.prediction)),
        state=str(part.request.get("state") or ""),
        reason=str(part.request.get("reason") or part.prediction.get("reason") or ""),
        facts=tuple(_facts(part.request)),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def predicted_boxes(prediction: Mapping[str, Any]) -> list[Box]:
    """Boxes of the predicted blocks in pixels, in the order in which they were predicted."""
    found = []
    blocks = prediction.get("blocks")
    for place, block in enumerate(blocks if isinstance(blocks, list) else ()):
        corners = block.get("bbox") if isinstance(block, dict) else None
        sides = [number(corners.get(side)) for side in ("x1", "y1", "x2", "y2")] if isinstance(corners, dict) else []
        if len(sides) == 4 and None not in sides:
            text = next((block[key] for key in ("text", "latex", "html") if isinstance(block.get(key), str)), "")
            x1, y1, x2, y2 = (side or 0.0 for side in sides)
            found.append(Box(x1, y1, x2, y2, str(block.get("kind")), text[:160], float(place)))
    return found


def _facts(request: Mapping[str, Any]) -> list[tuple[str, str]]:
    tokens = request.get("tokens") or {}
    send, first, last = (number(request.get(name)) for name in ("send_s", "first_s", "last_s"))
    facts = [
        ("output tokens", tokens.get("output")),
        ("input tokens", tokens.get("input")),
        ("finish reason", request.get("finish_reason")),
        ("latency", f"{last - send:.2f} s" if last is not None and send is not None else None),
        ("first chunk", f"{first - send:.2f} s" if first is not None and send is not None else None),
    ]
    return [(name, str(value)) for name, value in facts if value is not None]


def _pair(
    row: Mapping[str, Any], scores: Mapping[str, Any], rendered: bool, picture: FormulaPicture | None
) -> ShownPair | None:
    if not isinstance(row.get("element"), str):
        return None
    gt, pred = _text(row.get("gt") or ""), _text(row.get("pred") or "")
    norm_gt, norm_pred = _text(row.get("norm_gt") or ""), _text(row.get("norm_pred") or "")
    gt_idx, pred_idx = row.get("gt_idx") or [], row.get("pred_idx") or []
    same = norm_gt == norm_pred and bool(gt_idx) == bool(pred_idx)
    unmatched = "truth only" if not pred_idx else "prediction only" if not gt_idx else ""
    shown = ShownPair(
        element=row["element"],
        rule=str(row.get("rule") or ""),
        gt_place=_places(gt_idx),
        pred_place=_places(pred_idx),
        gt_kind=str(row.get("gt_kind") or ""),
        pred_kind=str(row.get("pred_kind") or ""),
        scores=tuple(_scores(scores)),
        difference=_difference(row["element"], gt, pred, same),
        same=same,
        unmatched="" if row["element"] == "reading_order" else unmatched,
    )
    if not rendered:
        return shown
    drawn = picture(row, scores) if picture is not None and row["element"] == "display_formula" else None
    return replace(_with_rendering(shown, gt, pred), matched=clean_svg(drawn) if drawn else None)


def _difference(element: str, gt: str, pred: str, same: bool) -> Difference:
    """What is marked in the sources; nothing where a table's cells are compared, or both are equal as compared."""
    tables = element == "table" and "<table" in gt.lower() and "<table" in pred.lower()
    return unmarked(gt, pred) if same or tables else differ(gt, pred)


def _places(indices: Any) -> str:
    shown = [str(index) for index in indices[:12]] if isinstance(indices, list) else []
    return ", ".join(shown) + (" …" if isinstance(indices, list) and len(indices) > 12 else "")


def _scores(row: Mapping[str, Any]) -> list[ShownScore]:
    found = row.get("scores")
    if not isinstance(found, dict):
        return []
    shown = []
    for name in _SCORE_ORDER:
        score = found.get(name)
        if not isinstance(score, dict):
            continue
        column = BY_NAME.get(name) or Column(name, name, "", "", BY_NAME["text_edit"].source, "low", 4)
        value = number(score.get("value"))
        goodness = None if value is None else 1 - value if column.better == "low" else value
        grade = None if goodness is None else min(4, max(0, int(goodness * 5)))
        shown.append(ShownScore(column, written(column, value), grade, str(score.get("reason") or "")))
    return shown


def _with_rendering(pair: ShownPair, gt: str, pred: str) -> ShownPair:
    """Tables as grids and formulas as MathML."""
    if pair.element == "table":
        gt_table, pred_table = read_table(gt), read_table(pred)
        if gt_table is not None and pred_table is not None:
            gt_table, pred_table = compare_tables(gt_table, pred_table)
        return replace(pair, gt_table=gt_table, pred_table=pred_table)
    if pair.element == "display_formula":
        gt_math, pred_math = to_mathml(gt), to_mathml(pred)
        return replace(
            pair, gt_math=Markup(gt_math) if gt_math else None, pred_math=Markup(pred_math) if pred_math else None
        )
    return pair


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes and reading-order lines over a page image, in its pixels; `verdicts` counts the boxes by verdict."""

    width: float
    height: float
    image: str | None
    gt: tuple[Box, ...]
    pred: tuple[Box, ...]
    gt_line: str
    pred_line: str
    verdicts: Mapping[str, int] | None = None


def drawing(
    truth: TruthPage | None, boxes: Sequence[Box], image: str | None, layout: LayoutScores | None = None
) -> Drawing | None:
    """The page as a picture; None when nothing is known of its layout and image."""
    gt = truth.boxes if truth is not None else ()
    every = (*gt, *boxes)
    width = (truth.width_px if truth else None) or max((box.x2 for box in every), default=0.0)
    height = (truth.height_px if truth else None) or max((box.y2 for box in every), default=0.0)
    if width <= 0 or height <= 0:
        return None
    shown_gt, shown_pred = _inside(gt, width, height), _inside(boxes, width, height)
    found = judged(shown_gt, shown_pred, layout) if truth is not None else None
    shown_gt, shown_pred = found if found is not None else (shown_gt, shown_pred)
    verdicts = Counter(box.verdict for box in shown_gt if box.verdict != "neutral")
    verdicts.update(box.verdict for box in shown_pred if box.verdict == "excess")
    return Drawing(
        width,
        height,
        image,
        shown_gt,
        shown_pred,
        _order_line(shown_gt),
        _order_line(shown_pred),
        verdicts if found is not None else None,
    )


def _inside(boxes: Sequence[Box], width: float, height: float) -> tuple[Box, ...]:
    """Boxes cut to the page, so that a wild box cannot break the layout."""

    def cut(value: float, most: float) -> float:
        return round(min(max(value, 0.0), most), 1)

    kept = []
    for box in boxes:
        x1, x2 = sorted((cut(box.x1, width), cut(box.x2, width)))
        y1, y2 = sorted((cut(box.y1, height), cut(box.y2, height)))
        kept.append(Box(x1, y1, x2, y2, box.kind, box.text, box.order))
    return tuple(kept)


def _order_line(boxes: Sequence[Box]) -> str:
    ordered = sorted((box for box in boxes if box.order is not None), key=lambda box: box.order or 0.0)
    return " ".join(f"{(box.x1 + box.x2) / 2:.1f},{(box.y1 + box.y2) / 2:.1f}" for box in ordered)
