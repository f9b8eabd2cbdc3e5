"""Token lengths of the branches of finished answers, counted by the server's own tokenizer after the drive."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from evalkit.types import BranchTokens
from runners.http_exchange import Endpoint
from runners.server_facts import ask

PARALLEL = 8
MARKER_TOKENS = 1
"""A fork, and the end of a stream, are one token each; the answer shows neither as such."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One block in an answer: where its layout part ends and, when it has content, where that lies (UTF-8 bytes)."""

    layout: tuple[int, int]
    content: tuple[int, int] | None


def split_hpd(text: str) -> list[Piece]:
    """The blocks of an HPD stream; what precedes the first block is layout."""
    pieces: list[Piece] = []
    position = 0
    for number, part in enumerate(text.split("<BLOCK>")):
        whole = part if number == 0 else "<BLOCK>" + part
        layout, found, content = whole.partition("<CHILD>")
        start, end = position, position + len(layout.encode("utf-8", "replace"))
        position = end + len((found + content).encode("utf-8", "replace"))
        if number or layout:
            pieces.append(Piece((start, end), (end + len(found), position) if found else None))
    return pieces


SPLITTERS = {"hpd": split_hpd}


def count_branches(
    answers: Mapping[str, str], stream: str | None, endpoint: Endpoint, model: str, headers: Mapping[str, str]
) -> tuple[BranchTokens, ...]:
    """Lengths of every answer; () when the server has no /tokenize that works for us."""
    counter = _Counter(endpoint, model, headers, stream)
    ids = list(answers)
    if not ids or counter.count(ids[0], answers[ids[0]]) is None:
        return ()
    with ThreadPoolExecutor(PARALLEL) as threads:
        found = threads.map(lambda page_id: counter.count(page_id, answers[page_id]), ids)
        return tuple(branch for branch in found if branch is not None)


class _Counter:
    def __init__(self, endpoint: Endpoint, model: str, headers: Mapping[str, str], stream: str | None) -> None:
        self._url = f"{endpoint.root}/tokenize"
        self._model = model
        self._headers = headers
        self._split = SPLITTERS.get(stream or "")

    def count(self, page_id: str, text: str) -> BranchTokens | None:
        told = self._tokenize(text)
        if told is None:
            return None
        total = told["count"] + MARKER_TOKENS
        if self._split is None:
            return BranchTokens(page_id, total, total)
        pieces = self._split(text)
        ends = token_ends(told.get("token_strs"), text)
        if ends is not None:
            return branch_lengths(page_id, total, pieces, lambda span: tokens_in(ends, span))
        data = text.encode("utf-8", "replace")
        counted = {span: self._tokenize(data[span[0] : span[1]].decode("utf-8", "replace")) for span in _spans(pieces)}
        if any(value is None for value in counted.values()):
            return None
        return branch_lengths(page_id, total, pieces, lambda span: (counted[span] or {"count": 0})["count"])

    def _tokenize(self, text: str) -> dict[str, Any] | None:
        if not text:
            return {"count": 0, "token_strs": []}
        question = {"model": self._model, "prompt": text, "add_special_tokens": False, "return_token_strs": True}
        reply = ask(self._url, post=question, headers=self._headers, timeout_s=30.0)
        told = reply.json() if reply.status == 200 else None
        return told if isinstance(told, dict) and isinstance(told.get("count"), int) else None


def _spans(pieces: Sequence[Piece]) -> list[tuple[int, int]]:
    return [span for piece in pieces for span in (piece.layout, piece.content) if span is not None]


def branch_lengths(page_id: str, total: int, pieces: Sequence[Piece], count: Any) -> BranchTokens:
    """Layout and branch lengths of one answer; `count` gives the tokens of a span."""
    layout, forks = 0, []
    for piece in pieces:
        layout += count(piece.layout)
        if piece.content is not None:
            layout += MARKER_TOKENS
            forks.append((layout, count(piece.content) + MARKER_TOKENS))
    return BranchTokens(page_id, total, layout + MARKER_TOKENS, tuple(forks))


def token_ends(tokens: Any, text: str) -> list[int] | None:
    """Where each token ends in the text's UTF-8 bytes; None when the tokens do not spell the text byte for byte."""
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        return None
    ends: list[int] = []
    spelled = bytearray()
    for token in tokens:
        spelled += bytes(_BYTES[char] for char in token) if all(char in _BYTES for char in token) else token.encode()
        ends.append(len(spelled))
    return ends if bytes(spelled) == text.encode("utf-8", "replace") else None


def tokens_in(ends: Sequence[int], span: tuple[int, int]) -> int:
    """Tokens that end inside a span of bytes."""
    return bisect_right(ends, span[1]) - bisect_right(ends, span[0])


def _byte_characters() -> dict[str, int]:
    """The characters by which byte-level tokenizers write bytes: printable ones as they are, the others from 256 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + index): byte for index, byte in enumerate(others)}


_BYTES = _byte_characters()
