"""Word-level differences of two texts, in time that grows nearly with their length."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

# A word, a run of white space, or one sign; CJK characters count one by one.
_WORDS = re.compile(r"[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|\s+|.", re.DOTALL)
MOST_CHARS = 20_000
MOST_WORDS = 1_500


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a text; `changed` where the other side does not have it."""

    text: str
    changed: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """Both sides in pieces. `cut` counts characters that are not shown; `compared` is false for texts too long."""

    gt: tuple[Piece, ...]
    pred: tuple[Piece, ...]
    cut: int = 0
    compared: bool = True


def differ(gt: str, pred: str) -> Difference:
    """The two texts with what they do not share marked. Very long ones are cut and shown uncompared."""
    cut = max(0, len(gt) - MOST_CHARS) + max(0, len(pred) - MOST_CHARS)
    left, right = _WORDS.findall(gt[:MOST_CHARS]), _WORDS.findall(pred[:MOST_CHARS])
    head = _shared_start(left, right)
    tail = _shared_start(left[head:][::-1], right[head:][::-1])
    middle_left, middle_right = left[head : len(left) - tail], right[head : len(right) - tail]
    before, after = "".join(left[:head]), "".join(left[len(left) - tail :])
    compared = len(middle_left) <= MOST_WORDS and len(middle_right) <= MOST_WORDS
    if compared:
        gt_middle, pred_middle = _compare(middle_left, middle_right)
    else:
        gt_middle, pred_middle = [Piece("".join(middle_left), True)], [Piece("".join(middle_right), True)]
    return Difference(_joined(before, gt_middle, after), _joined(before, pred_middle, after), cut, compared)


def unmarked(gt: str, pred: str) -> Difference:
    """The two texts as they are, cut where they are very long."""
    cut = max(0, len(gt) - MOST_CHARS) + max(0, len(pred) - MOST_CHARS)
    sides = [(Piece(text[:MOST_CHARS], False),) if text else () for text in (gt, pred)]
    return Difference(sides[0], sides[1], cut, compared=False)


def _shared_start(left: list[str], right: list[str]) -> int:
    length = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        length += 1
    return length


def _compare(left: list[str], right: list[str]) -> tuple[list[Piece], list[Piece]]:
    gt, pred = [], []
    for tag, start, end, other_start, other_end in SequenceMatcher(None, left, right, autojunk=True).get_opcodes():
        gt.append(Piece("".join(left[start:end]), tag != "equal"))
        pred.append(Piece("".join(right[other_start:other_end]), tag != "equal"))
    return gt, pred


def _joined(before: str, middle: list[Piece], after: str) -> tuple[Piece, ...]:
    return tuple(piece for piece in (Piece(before, False), *middle, Piece(after, False)) if piece.text)
