"""Token lengths of branches, counted by a server's own tokenizer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.types import BranchTokens
from runners.branch_tokens import count_branches, split_hpd, token_ends, tokens_in
from runners.http_exchange import Endpoint
from tests.fakes.chat_server import FakeChatServer, serving

TEXT = "<BLOCK>title [1, 2]<CHILD># Über uns<BLOCK>image [3, 4]<BLOCK>text [5, 6]<CHILD>one two three"
WORD = re.compile(r"<[A-Z]+>|\w+|[^\w<]|<")


def written(word: str) -> str:
    """A token as byte-level tokenizers write it: a space as Ġ, each byte of ü as a character of its own."""
    characters = {0x20: "Ġ", 0xC3: "Ã", 0xBC: "¼", 0x9C: "ľ"}
    return "".join(characters.get(byte, chr(byte)) for byte in word.encode())


def by_word(text: str) -> Mapping[str, Any]:
    words = WORD.findall(text)
    return {"count": len(words), "tokens": list(range(len(words))), "token_strs": [written(word) for word in words]}


def count(text: str, tokenize: Any, stream: str | None = "hpd") -> BranchTokens | None:
    with serving(FakeChatServer(tokenize=tokenize)) as server:
        found = count_branches({"p1": text}, stream, Endpoint.parse(server.url), "fake", {})
    return found[0] if found else None


def test_a_stream_is_taken_apart_by_block() -> None:
    pieces = split_hpd(TEXT)
    data = TEXT.encode()
    shown = [
        (data[slice(*piece.layout)].decode(), piece.content and data[slice(*piece.content)].decode())
        for piece in pieces
    ]
    assert shown == [
        ("<BLOCK>title [1, 2]", "# Über uns"),
        ("<BLOCK>image [3, 4]", None),
        ("<BLOCK>text [5, 6]", "one two three"),
    ]


def test_lengths_by_hand() -> None:
    # layout parts of 9, 9 and 9 tokens, a fork mark after the first and the third, an end mark;
    # contents of 5 and 5 tokens with an end mark each; the whole: 27 + 2 <CHILD> + 10 + an end mark
    branch = count(TEXT, by_word)
    assert branch == BranchTokens("p1", 40, 30, ((10, 6), (29, 6)))
    assert branch is not None
    assert (branch.critical_path, branch.sequential) == (35, 42)


def test_a_server_that_gives_no_token_texts_is_asked_piece_by_piece() -> None:
    assert count(TEXT, lambda text: {"count": by_word(text)["count"]}) == count(TEXT, by_word)


def test_one_trajectory_has_no_branches() -> None:
    assert count("one two", by_word, stream=None) == BranchTokens("p1", 4, 4)


@pytest.mark.parametrize("tokenize", [None, lambda text: {"count": "many"}, lambda text: {}])
def test_a_server_without_a_tokenizer_gives_nothing(tokenize: Any) -> None:
    assert count(TEXT, tokenize) is None


@pytest.mark.parametrize("tokens", [None, "text", [1, 2], ["not", "the", "text"], []])
def test_tokens_that_do_not_spell_the_text_are_not_used(tokens: Any) -> None:
    assert token_ends(tokens, "some text") is None


@given(st.lists(st.text("ab<> é€", min_size=1, max_size=4), max_size=12))
def test_every_token_ends_in_one_place(parts: list[str]) -> None:
    text = "".join(parts)
    ends = token_ends(list(parts), text)
    # é is itself the sign of a byte in byte-level spelling, so that such tokens may not spell the text
    if ends is not None:
        assert ends[-1:] == ([len(text.encode())] if parts else [])
        middle = len(text.encode()) // 2
        assert tokens_in(ends, (0, middle)) + tokens_in(ends, (middle, len(text.encode()))) == len(parts)


@given(st.text("<BLOCKHID>[]0, xé", max_size=60))
def test_pieces_cover_any_text_in_order(text: str) -> None:
    position = 0
    for piece in split_hpd(text):
        assert position <= piece.layout[0] <= piece.layout[1]
        position = piece.layout[1]
        if piece.content is not None:
            assert position <= piece.content[0] <= piece.content[1]
            position = piece.content[1]
    assert position <= len(text.encode())
