"""The emulated tokenizer: recorded texts are cut so that every branch counts as many tokens as were recorded."""

from __future__ import annotations

import re
from itertools import pairwise

from runners.emulator.answers import block_pieces
from runners.emulator.recorded import RecordedAnswer

CHILD = "<CHILD>"
_TOKEN = re.compile(r"\w|[^\w\s]|\s+")


def token_strings(text: str, answer: RecordedAnswer | None) -> list[str]:
    """Tokens of a text in the byte-level spelling that vLLM gives them.

    In a recorded answer a block's layout part, its `<CHILD>` and its content are cut apart; a fork and the end of a
    stream are tokens that the text does not show. Any other text is cut by characters and signs.
    """
    if answer is None:
        return [_spelled(token) for token in _TOKEN.findall(text)]
    if not answer.forked:
        return _cut(text, answer.output_tokens - 1)
    tokens: list[str] = []
    reached = 0
    pieces = block_pieces(text)
    for piece, layout, content in zip(pieces, answer.layout_tokens, answer.content_tokens, strict=False):
        head, child, body = piece.partition(CHILD)
        tokens += _cut(head, layout - reached - bool(child))
        if child:
            tokens += [child, *_cut(body, (content or 1) - 1)]
        reached = layout
    for piece in pieces[len(answer.layout_tokens) :]:
        tokens += [_spelled(token) for token in _TOKEN.findall(piece)]
    return tokens


def _cut(text: str, count: int) -> list[str]:
    """A text in `count` pieces of about equal length (empty ones at the end of a text that is too short)."""
    count = max(count, 1 if text else 0)
    ends = [-(-len(text) * number // count) for number in range(count + 1)] if count else []
    return [_spelled(text[start:end]) for start, end in pairwise(ends)]


def _spelled(token: str) -> str:
    return "".join(_CHARACTERS[byte] for byte in token.encode("utf-8", "replace"))


def _byte_spelling() -> list[str]:
    """One printable character for each byte: itself where printable, else from 256 on (GPT-2's convention)."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


_CHARACTERS = _byte_spelling()
