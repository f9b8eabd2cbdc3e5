"""Outermost pairs of an opening and a closing tag, as the official scan finds them, in linear time."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Nesting:
    """A pair of tags and the official scan's step widths in characters, counted from the start of a tag.

    `closing_step` is where the scan goes on after a tag, and where a pair ends after its closing tag;
    `restart_step` is where it starts again behind an opening tag that never closes.
    """

    opening: re.Pattern[str]
    closing: str
    closing_step: int
    restart_step: int


def outermost_pairs(text: str, nesting: Nesting) -> list[tuple[int, int]]:
    """[start, end) of each outermost pair, in order.

    The scan reads tags from left to right. Where tags are left open, it starts again behind the first of
    them. `ends[i]` is the tag that closes one level that is open before tag i, which makes each start
    again a jump instead of a new scan.

    Source: extract.py, extract_tabular and extract_html_table.
    """
    tags = _tags(text, nesting)
    starts = [start for start, _ in tags]
    following = [bisect_left(starts, start + nesting.closing_step) for start in starts]
    ends = _level_ends(tags, following)
    pairs: list[tuple[int, int]] = []
    index = 0
    while index < len(tags):
        start, opens = tags[index]
        if not opens:
            index = following[index]
            continue
        end = ends[following[index]]
        if end < 0:
            index = bisect_left(starts, start + nesting.restart_step)
        else:
            pairs.append((start, min(starts[end] + nesting.closing_step, len(text))))
            index = following[end]
    return pairs


def _tags(text: str, nesting: Nesting) -> list[tuple[int, bool]]:
    """Start of every tag, and whether it opens."""
    found = [(match.start(), True) for match in nesting.opening.finditer(text)]
    position = text.find(nesting.closing)
    while position >= 0:
        found.append((position, False))
        position = text.find(nesting.closing, position + 1)
    return sorted(found)


def _level_ends(tags: list[tuple[int, bool]], following: list[int]) -> list[int]:
    """For each tag, and for the end of the text, the tag that closes the level open before it; -1 for none."""
    ends = [-1] * (len(tags) + 1)
    for index in range(len(tags) - 1, -1, -1):
        if not tags[index][1]:
            ends[index] = index
            continue
        inner_end = ends[following[index]]
        if inner_end >= 0:
            ends[index] = ends[following[inner_end]]
    return ends
