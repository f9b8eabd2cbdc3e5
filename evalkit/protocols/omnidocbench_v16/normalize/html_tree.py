"""HTML as a tree, as Beautiful Soup 4.11 builds it on html.parser: no tag is closed or moved but by its name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

from evalkit.protocols.omnidocbench_v16.normalize.html_attributes import rewritten_attributes
from evalkit.protocols.omnidocbench_v16.normalize.html_tokens import Token, Tokenizer, TokenKind

_VOID = frozenset((
    "area", "base", "br", "col", "embed", "hr", "img", "input", "keygen", "link", "menuitem", "meta", "param", "source",
    "track", "wbr", "basefont", "bgsound", "command", "frame", "image", "isindex", "nextid", "spacer",
))  # fmt: skip
_KEEPS_WHITESPACE = frozenset(("pre", "textarea"))
_SPECIAL_TEXT = frozenset(("rt", "rp", "style", "script", "template"))
_UNESCAPED = frozenset(("script", "style"))
_BLANKS = " \n\t\f\r"
_REMEMBERED_CHARACTERS = 100_000


class TextKind(Enum):
    """What a text node is; SPECIAL is text inside script, style, template or ruby marks."""

    TEXT = auto()
    SPECIAL = auto()
    COMMENT = auto()
    DOCTYPE = auto()
    CDATA = auto()
    DECLARATION = auto()
    INSTRUCTION = auto()


_FRAMES = {
    TextKind.COMMENT: ("<!--", "-->"),
    TextKind.DOCTYPE: ("<!DOCTYPE ", ">\n"),
    TextKind.CDATA: ("<![CDATA[", "]]>"),
    TextKind.DECLARATION: ("<?", "?>"),
    TextKind.INSTRUCTION: ("<?", ">"),
}


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text or markup that is no element."""

    text: str
    kind: TextKind = TextKind.TEXT

    @property
    def is_readable(self) -> bool:
        """Whether it belongs to the text that a reader sees."""
        return self.kind in (TextKind.TEXT, TextKind.CDATA)


@dataclass(slots=True)
class Element:
    """An element, or the document, whose name is empty. Built by `parse_html`, then only read."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element | Text] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed text. `malformed`: the official parser refuses it with an exception."""

    root: Element
    malformed: bool


def parse_html(text: str) -> Document:
    """The tree of an HTML text; any text has one. Extraction and normalising ask for the same tables."""
    return _parse_and_remember(text) if len(text) <= _REMEMBERED_CHARACTERS else _parse(text)


@lru_cache(maxsize=16)
def _parse_and_remember(text: str) -> Document:
    return _parse(text)


def _parse(text: str) -> Document:
    tokenizer = Tokenizer(text)
    builder = _Builder()
    for token in tokenizer:
        builder.add(token)
    return Document(builder.finish(), tokenizer.malformed)


class _Builder:
    def __init__(self) -> None:
        self._open = [Element("")]
        self._open_names: Counter[str] = Counter()
        self._closed_early: Counter[str] = Counter()
        self._data: list[str] = []
        self._open_special = 0
        self._open_preformatted = 0

    def add(self, token: Token) -> None:
        kind, value, attributes = token
        if kind is TokenKind.TEXT:
            self._data.append(value)
        elif kind is TokenKind.START:
            self._start(value, attributes or {})
            if value in _VOID:
                self._close(value)
                self._closed_early[value] += 1
        elif kind is TokenKind.START_END:
            self._start(value, attributes or {})
            self._end(value)
        elif kind is TokenKind.END:
            self._end(value)
        else:
            self._flush()
            text_kind, value = _special(kind, value)
            self._data.append(value)
            self._flush(text_kind)

    def finish(self) -> Element:
        self._flush()
        return self._open[0]

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._flush()
        element = Element(name, rewritten_attributes(name, attributes))
        self._open[-1].children.append(element)
        self._open.append(element)
        self._count(name, 1)

    def _end(self, name: str) -> None:
        """Quirk: the end tag that a void element has after all is remembered and eaten, whichever comes first."""
        if self._closed_early[name]:
            self._closed_early[name] -= 1
        else:
            self._close(name)

    def _close(self, name: str) -> None:
        self._flush()
        if not self._open_names[name]:
            return
        while True:
            closed = self._open.pop()
            self._count(closed.name, -1)
            if closed.name == name:
                return

    def _count(self, name: str, change: int) -> None:
        self._open_names[name] += change
        if name in _SPECIAL_TEXT:
            self._open_special += change
        if name in _KEEPS_WHITESPACE:
            self._open_preformatted += change

    def _flush(self, kind: TextKind = TextKind.TEXT) -> None:
        if not self._data:
            return
        text = "".join(self._data)
        self._data.clear()
        if not self._open_preformatted and not text.strip(_BLANKS):
            text = "\n" if "\n" in text else " "
        if kind is TextKind.TEXT and self._open_special:
            kind = TextKind.SPECIAL
        self._open[-1].children.append(Text(text, kind))


def _special(kind: TokenKind, value: str) -> tuple[TextKind, str]:
    if kind is TokenKind.SECTION:
        is_data = value.upper().startswith("CDATA[")
        return (TextKind.CDATA, value[len("CDATA[") :]) if is_data else (TextKind.DECLARATION, value)
    kinds = {
        TokenKind.COMMENT: TextKind.COMMENT,
        TokenKind.DOCTYPE: TextKind.DOCTYPE,
        TokenKind.INSTRUCTION: TextKind.INSTRUCTION,
    }
    return kinds[kind], value


class Visit(NamedTuple):
    """A node on the way through a tree; `leaving` is the second visit to an element, behind its children."""

    node: Element | Text
    parent: Element
    leaving: bool = False


def walk(root: Element, skip: Callable[[Element], bool] = lambda element: False) -> Iterator[Visit]:
    """All nodes below the root in document order, elements twice; below a skipped element none."""
    stack = [Visit(child, root) for child in reversed(root.children)]
    while stack:
        visit = stack.pop()
        yield visit
        node = visit.node
        if visit.leaving or isinstance(node, Text):
            continue
        stack.append(Visit(node, visit.parent, leaving=True))
        if not skip(node):
            stack.extend(Visit(child, node) for child in reversed(node.children))


def serialize(
    root: Element,
    *,
    rename: Mapping[str, str] | None = None,
    unwrap: Collection[str] = (),
    replace: Callable[[Element], str | None] = lambda element: None,
    rewrite: Callable[[Text, int], Text] = lambda text, cells: text,
) -> str:
    """The tree as HTML, attributes in the order of their names.

    `rename` maps tag names, `unwrap` names the tags that go while their content stays, `replace` gives a text
    in place of an element. `rewrite` changes texts; it is told in how many cells (td, th) they are.
    """
    renamed = rename or {}
    pieces: list[str] = []
    cells = 0
    for visit in walk(root, skip=lambda element: replace(element) is not None):
        node = visit.node
        if isinstance(node, Text):
            pieces.append(_text_markup(rewrite(node, cells), visit.parent))
            continue
        replacement = replace(node)
        if replacement is not None:
            if not visit.leaving:
                pieces.append(_text_markup(Text(replacement), visit.parent))
            continue
        cells += 0 if node.name not in ("td", "th") else -1 if visit.leaving else 1
        if node.name not in unwrap:
            pieces.append(_tag_markup(node, renamed.get(node.name, node.name), visit.leaving))
    return "".join(pieces)


def _text_markup(text: Text, parent: Element) -> str:
    if text.kind in _FRAMES:
        before, after = _FRAMES[text.kind]
        return before + text.text + after
    return text.text if parent.name in _UNESCAPED else escape(text.text)


def _tag_markup(element: Element, name: str, leaving: bool) -> str:
    is_empty = element.name in _VOID and not element.children
    if leaving:
        return "" if is_empty else f"</{name}>"
    attributes = "".join(f" {key}={_quoted(escape(value))}" for key, value in sorted(element.attributes.items()))
    return f"<{name}{attributes}{'/' if is_empty else ''}>"


def escape(text: str) -> str:
    """The three characters that markup is made of as references."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _quoted(value: str) -> str:
    if '"' not in value:
        return f'"{value}"'
    if "'" not in value:
        return f"'{value}'"
    return '"' + value.replace('"', "&quot;") + '"'
