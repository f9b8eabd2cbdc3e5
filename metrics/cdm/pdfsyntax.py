"""Reading the objects of a PDF that pdfTeX wrote: numbers, names, strings, arrays, dictionaries, streams."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MAX_STREAM_BYTES = 64 << 20  # a stream that unpacks to more is refused

_TOKEN = re.compile(
    rb"[\x00\t\n\x0c\r ]*(?:%[^\r\n]*[\r\n]?[\x00\t\n\x0c\r ]*)*"
    rb"(?P<token><<|>>|\[|\]|\(|<[0-9A-Fa-f\s]*>|/[^\x00\t\n\x0c\r ()<>\[\]{}/%]*|[^\x00\t\n\x0c\r ()<>\[\]{}/%]+|[{}])"
)
_REFERENCE = re.compile(rb"[\s]+(\d+)[\s]+R\b")
_STRING_PART = re.compile(rb"[^()\\]+|\\([0-7]{1,3}|\r\n|.)|[()]", re.DOTALL)
_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f", b"\n": b"", b"\r": b"", b"\r\n": b""}
_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)$")


class PdfError(ValueError):
    """The bytes are not a PDF of the kind that pdfTeX writes."""


class Name(str):
    """A PDF name, without its slash."""

    __slots__ = ()


class Operator(bytes):
    """A bare word: an operator of a content stream, or `true`, `obj` and the like."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Reference:
    """A pointer to an object by its number."""

    number: int


@dataclass(frozen=True, slots=True)
class Stream:
    """A dictionary with bytes; `data` is unpacked."""

    entries: Mapping[str, Any]
    data: bytes


class Lexer:
    """Objects one after the other from a position in the bytes; references are recognised when asked for."""

    def __init__(self, data: bytes, position: int = 0, *, references: bool = False) -> None:
        self.data = data
        self.position = position
        self._references = references

    def __iter__(self) -> Iterator[Any]:
        while (value := self.next()) is not None:
            yield value

    def next(self) -> Any:
        """The next object, or None at the end. Closing brackets come as operators."""
        found = _TOKEN.match(self.data, self.position)
        if found is None:
            return None
        self.position = found.end()
        token = found["token"]
        if token == b"<<":
            items = self._until(b">>")
            return {str(key): value for key, value in zip(items[::2], items[1::2], strict=False)}
        if token == b"[":
            return self._until(b"]")
        if token == b"(":
            return self._string()
        if token.startswith(b"/"):
            return Name(token[1:].decode("latin-1"))
        if token.startswith(b"<"):
            digits = b"".join(token[1:-1].split())
            return bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode())
        if _NUMBER.match(token):
            return self._number(token)
        return Operator(token)

    def _until(self, closing: bytes) -> list[Any]:
        items: list[Any] = []
        while (value := self.next()) is not None and not (isinstance(value, Operator) and value == closing):
            items.append(value)
        return items

    def _number(self, token: bytes) -> Any:
        if self._references and token.isdigit() and (rest := _REFERENCE.match(self.data, self.position)):
            self.position = rest.end()
            return Reference(int(token))
        return float(token) if b"." in token else int(token)

    def _string(self) -> bytes:
        depth = 1
        pieces: list[bytes] = []
        while found := _STRING_PART.match(self.data, self.position):
            self.position = found.end()
            part, escaped = found[0], found[1]
            if escaped is not None:
                pieces.append(bytes([int(escaped, 8) & 255]) if escaped.isdigit() else _ESCAPES.get(escaped, escaped))
                continue
            depth += (part == b"(") - (part == b")")
            if depth == 0:
                break
            pieces.append(part)
        return b"".join(pieces)


class PdfFile:
    """The objects of a PDF with a classic cross-reference table."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._offsets: dict[int, int] = {}
        self._objects: dict[int, Any] = {}
        start = data.rfind(b"startxref")
        if start < 0:
            raise PdfError("no cross-reference table")
        self.trailer = self._read_table(Lexer(data, start + len(b"startxref")).next())

    def _read_table(self, offset: Any) -> Mapping[str, Any]:
        if not isinstance(offset, int) or self._data[offset : offset + 4] != b"xref":
            raise PdfError("no cross-reference table")
        lexer = Lexer(self._data, offset + 4, references=True)
        while isinstance(first := lexer.next(), int):
            count = lexer.next()
            for number in range(first, first + count):
                where, _, state = lexer.next(), lexer.next(), lexer.next()
                if state == b"n":
                    self._offsets[number] = where
        trailer = lexer.next()
        if not isinstance(trailer, dict):
            raise PdfError("no trailer")
        return trailer

    def get(self, value: Any) -> Any:
        """The value itself, or the object that it refers to; None when there is none."""
        while isinstance(value, Reference):
            if value.number not in self._objects:
                self._objects[value.number] = self._read(value.number)
            value = self._objects[value.number]
        return value

    def _read(self, number: int) -> Any:
        if number not in self._offsets:
            return None
        lexer = Lexer(self._data, self._offsets[number], references=True)
        if lexer.next() != number or lexer.next() is None or lexer.next() != b"obj":
            raise PdfError(f"object {number} is not where the table says")
        value = lexer.next()
        if isinstance(value, dict) and lexer.next() == b"stream":
            return self._stream(value, lexer.position)
        return value

    def _stream(self, entries: Mapping[str, Any], position: int) -> Stream:
        start = position + (2 if self._data[position : position + 2] == b"\r\n" else 1)
        length = self.get(entries.get("Length"))
        if not isinstance(length, int):
            raise PdfError("a stream without length")
        data = self._data[start : start + length]
        coding = self.get(entries.get("Filter"))
        if coding in ("FlateDecode", ["FlateDecode"]):
            unpacker = zlib.decompressobj()
            data = unpacker.decompress(data, MAX_STREAM_BYTES)
            if unpacker.unconsumed_tail:
                raise PdfError("a stream that unpacks to too much")
        return Stream(entries, data)

    def pages(self) -> Iterator[Mapping[str, Any]]:
        """Page dictionaries in order, with what they inherit."""
        catalogue = self.get(self.trailer.get("Root")) or {}
        pending: list[tuple[Any, dict[str, Any]]] = [(self.get(catalogue.get("Pages")), {})]
        seen = 0
        while pending:
            node, inherited = pending.pop()
            seen += 1
            if not isinstance(node, dict) or seen > len(self._offsets):
                raise PdfError("a broken page tree")
            merged = inherited | node
            if "Kids" in node:
                handed_down: dict[str, Any] = {key: merged[key] for key in ("MediaBox", "Resources") if key in merged}
                pending += [(self.get(kid), handed_down) for kid in reversed(self.get(node["Kids"]))]
            else:
                yield merged
