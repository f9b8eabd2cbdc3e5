"""HTML cut into tokens as Python 3.11's html.parser does, independent of the Python that runs, in linear time.

The rules for broken markup decide what a table is compared with, and they differ between Python releases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from html import unescape
from html.entities import html5
from typing import NamedTuple

_MARKUP = re.compile(r"[&<]")
_NAMED_REFERENCE = re.compile(r"&([a-zA-Z][-.a-zA-Z0-9]*)[^a-zA-Z0-9]")
_NUMERIC_REFERENCE = re.compile(r"&#([0-9]+|[xX][0-9a-fA-F]+)[^0-9a-fA-F]")
_REFERENCE_START = re.compile(r"&[a-zA-Z#]")
_START_TAG = re.compile(r"<[a-zA-Z]")
_TAG_NAME = re.compile(r"([a-zA-Z][^\t\n\r\f />\x00]*)(?:\s|/(?!>))*")
_VALUE = r"""(?:'[^']*'|"[^"]*"|(?!['"])[^>\s]*)"""
_ATTRIBUTE = re.compile(rf"""((?<=['"\s/])[^\s/>][^\s/=>]*)(\s*=+\s*({_VALUE}))?(?:\s|/(?!>))*""")
_WHOLE_START_TAG = re.compile(
    r"<[a-zA-Z][^\t\n\r\f />\x00]*"
    rf"""(?:[\s/]*(?:(?<=['"\s/])[^\s/>][^\s/=>]*(?:\s*=+\s*{_VALUE}\s*)?(?:\s|/(?!>))*)*)?\s*"""
)
_UNFINISHED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ=/")
_END_TAG = re.compile(r"</\s*([a-zA-Z][-.a-zA-Z0-9:_]*)\s*>")
_DECLARATION_NAME = re.compile(r"[a-zA-Z][-_.a-zA-Z0-9]*\s*")
_COMMENT_END = re.compile(r"--\s*>")
_SECTION_ENDS = {
    **dict.fromkeys(("temp", "cdata", "ignore", "include", "rcdata"), re.compile(r"]\s*]\s*>")),
    **dict.fromkeys(("if", "else", "endif"), re.compile(r"]\s*>")),
}
_RAW_ELEMENTS = ("script", "style")
_CHARACTERS = {name.removesuffix(";"): character for name, character in html5.items()}
_FUTILE_CHARS_AT_LEAST = 100_000


class TokenKind(Enum):
    """What a token is."""

    START = auto()
    START_END = auto()
    END = auto()
    TEXT = auto()
    COMMENT = auto()
    DOCTYPE = auto()
    SECTION = auto()
    INSTRUCTION = auto()


class Token(NamedTuple):
    """A token; `value` is the tag's name in lower case, or the text."""

    kind: TokenKind
    value: str
    attributes: dict[str, str] | None = None


class _Incomplete(Exception):
    """The construct at the position does not end."""


class Tokenizer:
    """Iterates over the tokens of a text. `malformed` is set when the official parser would refuse it."""

    def __init__(self, text: str) -> None:
        self.malformed = False
        self._text = text
        self._end = len(text)
        self._position = 0
        self._raw_element: str | None = None
        self._last_gt = text.rfind(">")
        self._nowhere: dict[re.Pattern[str], int] = {}
        self._futile_chars_left = _FUTILE_CHARS_AT_LEAST + 4 * self._end

    def __iter__(self) -> Iterator[Token]:
        """Two passes, as a parser that is fed and then closed: the first stops at what looks incomplete."""
        for is_last in (False, True):
            yield from self._pass(is_last)
        if self._position < self._end and self._raw_element is None:
            yield Token(TokenKind.TEXT, self._text[self._position :])

    def _pass(self, is_last: bool) -> Iterator[Token]:
        while self._position < self._end:
            start = self._next_markup()
            if start < 0:
                return
            if start > self._position:
                yield Token(TokenKind.TEXT, self._text[self._position : start])
                self._position = start
            if start == self._end:
                return
            if self._text[start] == "&":
                token, goes_on = self._reference(is_last)
            else:
                token, goes_on = self._tag(is_last)
            if token is not None:
                yield token
            if not goes_on:
                return

    def _next_markup(self) -> int:
        """Where the next tag or reference begins; the end of the text for none, -1 inside a raw element."""
        if self._raw_element is not None:
            found = re.compile(rf"</\s*{self._raw_element}\s*>", re.IGNORECASE).search(self._text, self._position)
            return found.start() if found else -1
        found = _MARKUP.search(self._text, self._position)
        return found.start() if found else self._end

    def _reference(self, is_last: bool) -> tuple[Token | None, bool]:
        """The token at an ampersand, and whether the pass goes on."""
        start, text = self._position, self._text
        is_numeric = text.startswith("&#", start)
        found = (_NUMERIC_REFERENCE if is_numeric else _NAMED_REFERENCE).match(text, start)
        if found:
            self._position = found.end() - (text[found.end() - 1] != ";")
            name = found.group(1)
            character = _numbered(name) if is_numeric else _CHARACTERS.get(name, f"&{name}")
            return Token(TokenKind.TEXT, character), True
        if is_numeric:
            if text.find(";", start) < 0:
                return None, False
            self._position = start + 2
            return Token(TokenKind.TEXT, "&#"), False
        if _REFERENCE_START.match(text, start):
            if is_last and start + 2 == self._end:
                self._position = start + 1
            return None, False
        if start + 1 == self._end:
            return None, False
        self._position = start + 1
        return Token(TokenKind.TEXT, "&"), True

    def _tag(self, is_last: bool) -> tuple[Token | None, bool]:
        """The token at a less-than sign, and whether the pass goes on."""
        start, text = self._position, self._text
        try:
            if _START_TAG.match(text, start):
                return self._start_tag(start), True
            if text.startswith("</", start):
                return self._end_tag(start), True
            if text.startswith("<!--", start):
                return self._until(_COMMENT_END, start + 4, TokenKind.COMMENT), True
            if text.startswith("<?", start):
                return self._until_gt(start + 2, TokenKind.INSTRUCTION), True
            if text.startswith("<!", start):
                return self._declaration(start), True
        except _Incomplete:
            if not is_last:
                return None, False
            self._position = self._end_of_incomplete(start)
            return Token(TokenKind.TEXT, text[start : self._position]), True
        if start + 1 == self._end:
            return None, False
        self._position = start + 1
        return Token(TokenKind.TEXT, "<"), True

    def _end_of_incomplete(self, start: int) -> int:
        if start < self._last_gt:
            return self._text.find(">", start + 1) + 1
        found = self._text.find("<", start + 1)
        return found if found >= 0 else start + 1

    def _start_tag(self, start: int) -> Token:
        end = self._end_of_start_tag(start)
        text = self._text
        name = _TAG_NAME.match(text, start + 1)
        assert name is not None  # a letter follows
        position = name.end()
        attributes: dict[str, str] = {}
        while position < end and (found := _ATTRIBUTE.match(text, position)):
            attributes[found.group(1).lower()] = _attribute_value(found)
            position = found.end()
        self._position = end
        closing = text[position:end].strip()
        if closing not in (">", "/>"):
            return Token(TokenKind.TEXT, text[start:end])
        tag = name.group(1).lower()
        if closing == "/>":
            return Token(TokenKind.START_END, tag, attributes)
        if tag in _RAW_ELEMENTS:
            self._raw_element = tag
        return Token(TokenKind.START, tag, attributes)

    def _end_of_start_tag(self, start: int) -> int:
        if start > self._last_gt and self._futile_chars_left < 0:
            raise _Incomplete
        found = _WHOLE_START_TAG.match(self._text, start)
        assert found is not None  # all but the first letter is optional
        end = found.end()
        following = self._text[end : end + 1]
        if following == ">":
            return end + 1
        if self._text.startswith("/>", end):
            return end + 2
        if not following or following in _UNFINISHED:
            self._futile_chars_left -= end - start
            raise _Incomplete
        return end

    def _end_tag(self, start: int) -> Token | None:
        if start > self._last_gt:
            raise _Incomplete
        text = self._text
        gt = text.find(">", start + 1)
        found = _END_TAG.match(text, start)
        name = found.group(1).lower() if found else None
        if self._raw_element is not None and name != self._raw_element:
            self._position = gt + 1
            return Token(TokenKind.TEXT, text[start : gt + 1])
        if name is not None:
            self._raw_element = None
            self._position = gt + 1
            return Token(TokenKind.END, name)
        loose = _TAG_NAME.match(text, start + 2)
        if loose:
            self._position = text.find(">", loose.end()) + 1
            return Token(TokenKind.END, loose.group(1).lower())
        if text.startswith("</>", start):
            self._position = start + 3
            return None
        return self._until_gt(start + 2, TokenKind.COMMENT)

    def _declaration(self, start: int) -> Token:
        text = self._text
        if text.startswith("<![", start):
            return self._marked_section(start)
        if text[start : start + 9].lower() == "<!doctype":
            return self._until_gt(start + 9, TokenKind.DOCTYPE, value_start=start + 2 + len("doctype "))
        return self._until_gt(start + 2, TokenKind.COMMENT)

    def _marked_section(self, start: int) -> Token:
        name = _DECLARATION_NAME.match(self._text, start + 3)
        if start + 3 == self._end or (name and name.end() == self._end):
            raise _Incomplete
        ending = _SECTION_ENDS.get(name.group().strip().lower()) if name else None
        if ending is None:
            self.malformed = True
            return self._until_gt(start + 2, TokenKind.COMMENT)
        return self._until(ending, start + 3, TokenKind.SECTION)

    def _until_gt(self, search_from: int, kind: TokenKind, value_start: int | None = None) -> Token:
        if search_from > self._last_gt:
            raise _Incomplete
        end = self._text.find(">", search_from)
        self._position = end + 1
        return Token(kind, self._text[search_from if value_start is None else value_start : end])

    def _until(self, ending: re.Pattern[str], search_from: int, kind: TokenKind) -> Token:
        if search_from >= self._nowhere.get(ending, self._end + 1):
            raise _Incomplete
        found = ending.search(self._text, search_from)
        if found is None:
            self._nowhere[ending] = search_from
            raise _Incomplete
        self._position = found.end()
        return Token(kind, self._text[search_from : found.start()])


def _attribute_value(found: re.Match[str]) -> str:
    value = found.group(3) if found.group(2) else None
    if not value:
        return ""
    if value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    return unescape(value)


def _numbered(name: str) -> str:
    """The character of a numeric reference; under 256 as windows-1252, as pages tend to mean it."""
    digits = name.lstrip("xX").lstrip("0") or "0"
    number = int(digits, 16 if name[0] in "xX" else 10) if len(digits) < 12 else 0x110000
    if number > 0x10FFFF:
        return "\N{REPLACEMENT CHARACTER}"
    if number < 256:
        try:
            return bytes([number]).decode("windows-1252")
        except UnicodeDecodeError:
            pass
    return chr(number)
