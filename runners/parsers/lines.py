"""Geometry of recognised text lines: grouping into paragraphs and joining their text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from evalkit.types import BBox

# Line geometry, in heights of a line.
SAME_ROW_OVERLAP = 0.5  # share of the smaller height that two boxes of one printed row have in common
PARAGRAPH_GAP = 0.9  # white space between lines above which a paragraph ends
INDENT = 1.2  # first-line indent that begins a paragraph
SHORT_LINE = 3.0  # white space right of a line that may end a paragraph


@dataclass(frozen=True, slots=True)
class TextLine:
    """One recognised line of text with its box in px."""

    text: str
    bbox: BBox


def height(box: BBox) -> float:
    """Height of a box in px."""
    return box.y2 - box.y1


def area(box: BBox) -> float:
    """Area of a box in px², 0 for an inverted one."""
    return max(box.x2 - box.x1, 0.0) * max(box.y2 - box.y1, 0.0)


def intersection(a: BBox, b: BBox) -> float:
    """Common area of two boxes in px²."""
    width = min(a.x2, b.x2) - max(a.x1, b.x1)
    tall = min(a.y2, b.y2) - max(a.y1, b.y1)
    return max(width, 0.0) * max(tall, 0.0)


def hull(boxes: Sequence[BBox]) -> BBox:
    """Smallest box around one or more boxes."""
    return BBox(
        min(box.x1 for box in boxes),
        min(box.y1 for box in boxes),
        max(box.x2 for box in boxes),
        max(box.y2 for box in boxes),
    )


def printed_rows(lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """Lines that stand side by side gathered in rows, rows from top to bottom, each from left to right."""
    rows: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda item: (item.bbox.y1 + item.bbox.y2, item.bbox.x1)):
        row = rows[-1] if rows else None
        if row is not None and _same_row(hull([item.bbox for item in row]), line.bbox):
            row.append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda item: item.bbox.x1) for row in rows]


def _same_row(a: BBox, b: BBox) -> bool:
    common = min(a.y2, b.y2) - max(a.y1, b.y1)
    return common > SAME_ROW_OVERLAP * min(height(a), height(b))


def paragraphs(lines: Sequence[TextLine]) -> list[str]:
    """The text of one column of lines, split where white space or an indent begins a paragraph."""
    rows = printed_rows(lines)
    if not rows:
        return []
    boxes = [hull([item.bbox for item in row]) for row in rows]
    texts = [" ".join(item.text.strip() for item in row) for row in rows]
    column = hull(boxes)
    tall = median(height(box) for box in boxes)
    result = [texts[0]]
    for index in range(1, len(rows)):
        if _begins_paragraph(boxes[index - 1], boxes[index], column, tall):
            result.append(texts[index])
        else:
            result[-1] = join_text(result[-1], texts[index])
    return [text for text in result if text.strip()]


def _begins_paragraph(previous: BBox, current: BBox, column: BBox, tall: float) -> bool:
    if current.y1 - previous.y2 > PARAGRAPH_GAP * tall:
        return True
    indented = current.x1 - column.x1 > INDENT * tall and previous.x1 - column.x1 < INDENT * tall
    previous_is_short = column.x2 - previous.x2 > SHORT_LINE * tall
    return indented or (previous_is_short and column.x2 - column.x1 > 4 * SHORT_LINE * tall)


def join_text(left: str, right: str) -> str:
    """Two lines of one paragraph as running text: no blank between ideographs, hyphenation undone."""
    left, right = left.rstrip(), right.lstrip()
    if not left or not right:
        return left + right
    if _is_cjk(left[-1]) or _is_cjk(right[0]):
        return left + right
    if left.endswith("-") and len(left) > 1 and left[-2].isalpha() and right[0].islower():
        return left[:-1] + right
    return f"{left} {right}"


def _is_cjk(character: str) -> bool:
    return "\u2e80" <= character <= "\u9fff" or "\uf900" <= character <= "\ufaff" or "\uff00" <= character <= "\uffef"
