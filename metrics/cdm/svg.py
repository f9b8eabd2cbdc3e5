"""A matched pair as an SVG picture: truth above, prediction below, matched tokens green, missed ones red."""

from __future__ import annotations

from collections.abc import Set
from html import escape

from metrics.cdm.match import DrawnToken, Match, Side

GAP_PX = 12
MATCHED = "#1a7f37"
MISSED = "#cf222e"
_LINE = "#8c959f"
_EMPTY_SIZE = (160, 24)


def match_svg(gt: Side | None, pred: Side | None, matched: Match | None) -> str:
    """SVG text. A side that cannot be seen is an empty field; without a match every token is missed."""
    hits = [pair for pair, hit in zip(matched.pairs, matched.hits, strict=True) if hit] if matched else []
    gt_width, gt_height = _size(gt)
    pred_width, pred_height = _size(pred)
    width, height = max(gt_width, pred_width), gt_height + GAP_PX + pred_height
    middle = gt_height + GAP_PX / 2
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            ' role="img" aria-label="matched tokens: truth above, prediction below">',
            *_boxes("truth", gt, {gt_index for gt_index, _ in hits}, 0),
            f'<line x1="0" x2="{width}" y1="{middle:g}" y2="{middle:g}" stroke="{_LINE}" stroke-dasharray="4 3"/>',
            *_boxes("prediction", pred, {pred_index for _, pred_index in hits}, gt_height + GAP_PX),
            "</svg>",
        ]
    )


def _size(side: Side | None) -> tuple[int, int]:
    return (side.width_px, side.height_px) if side else _EMPTY_SIZE


def _boxes(name: str, side: Side | None, hits: Set[int], top: int) -> list[str]:
    if side is None:
        return [f'<text x="4" y="{top + 16}" font-size="12" fill="{MISSED}">{name}: nothing to see</text>']
    lines = [f'<g class="{name}" fill-opacity="0.12">']
    for index, drawn in enumerate(side.tokens):
        x1, y1, x2, y2 = drawn.box
        colour = MATCHED if index in hits else MISSED
        lines += [
            f'<g fill="{colour}" stroke="{colour}"><title>{escape(drawn.token)}</title>',
            f'<rect x="{x1}" y="{y1 + top}" width="{x2 - x1}" height="{y2 - y1}"/>',
            f"{_label(drawn, top)}</g>",
        ]
    return [*lines, "</g>"]


def _label(drawn: DrawnToken, top: int) -> str:
    """The token's text inside its box, for tokens that are one character."""
    token = drawn.token
    x1, y1, x2, y2 = drawn.box
    if len(token) != 1:
        return ""
    size = min(y2 - y1, 1.6 * (x2 - x1))
    return (
        f'<text x="{(x1 + x2) / 2:g}" y="{(y1 + y2) / 2 + top:g}" font-size="{size:g}" fill-opacity="1" stroke="none"'
        f' text-anchor="middle" dominant-baseline="central">{escape(token)}</text>'
    )
