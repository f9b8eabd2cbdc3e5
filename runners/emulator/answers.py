"""Output text by progress: which part of an answer's text exists once so many of its tokens do."""

from __future__ import annotations

import re
from dataclasses import replace

from runners.emulator.recorded import RecordedAnswer
from runners.emulator.streams import Page

_BLOCK_START = re.compile(r"(?=<BLOCK>)")
_TAIL_CHARACTERS = 24


def text_after(answer: RecordedAnswer, tokens: int) -> str:
    """The beginning of a text that so many of its tokens spell."""
    if tokens >= answer.output_tokens:
        return answer.text
    return answer.text[: len(answer.text) * tokens // answer.output_tokens]


def block_pieces(text: str) -> list[str]:
    """A block stream cut before each block; [] for an empty text."""
    return [piece for piece in _BLOCK_START.split(text) if piece]


def in_order_of_ending(text: str, page: Page) -> str:
    """The blocks in the order in which their branches ended, as a server would send that does not splice."""
    pieces = block_pieces(text)
    ended = [stream.ended_s or 0.0 for stream in page.streams[1:]]
    with_content = [index for index, piece in enumerate(pieces) if "<CHILD>" in piece]
    if len(with_content) != len(ended):
        return text
    order = sorted(range(len(ended)), key=lambda branch: (ended[branch], -branch))
    shuffled = list(pieces)
    for place, branch in zip(with_content, order, strict=True):
        shuffled[place] = pieces[with_content[branch]]
    return "".join(shuffled)


def looping(answer: RecordedAnswer, limit: int) -> RecordedAnswer:
    """The answer going on in a loop until the token limit; in a forked page only its last branch loops."""
    text = answer.text or "loop "
    unit = text[-_TAIL_CHARACTERS:]
    per_token = max(len(text) / answer.output_tokens, 0.5)
    spent = answer.output_tokens
    content = list(answer.content_tokens)
    last = next((index for index in reversed(range(len(content))) if content[index]), None)
    if last is not None:
        extra = max(limit + 1 - (content[last] or 0), 0)
        content[last] = (content[last] or 0) + extra
    else:
        extra = max(limit + 1 - spent, 0)
    repeats = int(extra * per_token / len(unit)) + 1
    return replace(
        answer,
        text=text + unit * repeats,
        output_tokens=spent + extra,
        content_tokens=tuple(content),
    )
