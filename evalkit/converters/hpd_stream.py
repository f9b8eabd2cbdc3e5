"""The block stream of HPD-Parsing: `<BLOCK>type [x1, y1, x2, y2]<CHILD>content`, read leniently and in linear time."""

from __future__ import annotations

import re
from dataclasses import dataclass

BLOCK, CHILD, FORK = "<BLOCK>", "<CHILD>", "<FORK>"
FULL = 1000.0
UNKNOWN = "unknown"
_TYPE = re.compile(r"\s*([A-Za-z_]+)\s*\[([^\[\]<>]{0,120})\]")
_WORD = re.compile(r"\s*([A-Za-z_]{1,40})")
_BOX = re.compile(r"\s*(\d{1,6})\s*,\s*(\d{1,6})\s*,\s*(\d{1,6})\s*,\s*(\d{1,6})\s*")


@dataclass(frozen=True, slots=True)
class StreamBlock:
    """One block as it stands in the stream.

    `place` is x1 y1 x2 y2 in thousandths of the page sides, None where the box is malformed or cut. `content` is the
    raw text after the first `<CHILD>`, None for a block without one. `source` is its [start, end) span in the stream.
    """

    kind: str
    place: tuple[int, int, int, int] | None
    content: str | None
    source: tuple[int, int]


def read_stream(text: str) -> list[StreamBlock]:
    """All blocks of a stream in order; what stands before the first `<BLOCK>` is dropped."""
    head, *segments = text.split(BLOCK)
    blocks = []
    start = len(head)
    for segment in segments:
        end = start + len(BLOCK) + len(segment)
        blocks.append(_block(segment, (start, end)))
        start = end
    return blocks


def _block(segment: str, source: tuple[int, int]) -> StreamBlock:
    header, mark, content = segment.partition(CHILD)
    kind, place = _header(header)
    return StreamBlock(kind, place, content if mark else None, source)


def _header(header: str) -> tuple[str, tuple[int, int, int, int] | None]:
    found = _TYPE.match(header)
    if found is None:
        word = _WORD.match(header)
        return (word[1] if word else UNKNOWN), None
    numbers = _BOX.fullmatch(found[2])
    if numbers is None:
        return found[1], None
    x1, y1, x2, y2 = (int(number) for number in numbers.groups())
    return found[1], (x1, y1, x2, y2)
