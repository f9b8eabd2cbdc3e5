"""Table HTML as a labelled tree in postorder, read the way the official TEDS reads it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lxml import html
from lxml.etree import LxmlError

MAX_HTML_CHARS = 32_000_000
CACHED_TABLES = 256
CACHE_MAX_CHARS = 200_000

CellText = str | tuple[str, ...]
NodeKind = tuple[str, int, int]

_INSTRUCTION = "?"
_MARKUP = re.compile(
    r"""(?P<comment><!--.*?--!?>)
    |(?P<open_comment><!--.*)
    |\A\s*+<!doctype[^>]*+>?
    |(?P<doctype><!doctype[^>]*+>)<(?P<behind>/|!(?!--))
    |<!doctype[^>]*+>?
    |(?P<declaration><!)
    |<\?(?=[^\W\d]|:)[^>]*+>?
    |<(?P<raw>style|script)(?![^\s>/])(?:[^>"'=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+|["'])*+(?<!/)>
        .*?(?=</(?P=raw)(?![^\s>/])|\Z)
    |</?[a-z](?:[^>"'=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+|["'])*+>?""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


class NoTableError(ValueError):
    """The document has no table directly under its body; the official score is 0."""


class UnreadableError(ValueError):
    """The document cannot be parsed at all; `str(error)` is the official scorer's error."""


class SpanError(ValueError):
    """A colspan or rowspan is no integer; `str(error)` is the official scorer's error."""


class TooLargeError(ValueError):
    """The input is over a work budget; `str(error)` says which."""


@dataclass(frozen=True, slots=True)
class TableTree:
    """Nodes of one table in postorder.

    `kinds` holds (tag, colspan, rowspan), with spans of 0 for every node but td. `texts` holds the content of td
    nodes and "" elsewhere: a plain string, or the token list when the cell has markup inside. `leftmost[i]` is the
    first leaf under node i. `element_count` counts the descendants of the table element, markup in cells included.
    """

    kinds: tuple[NodeKind, ...]
    texts: tuple[CellText, ...]
    leftmost: tuple[int, ...]
    element_count: int

    def __len__(self) -> int:
        return len(self.kinds)


def parse_table(document: str) -> TableTree:
    """The first table under the body of an HTML document.

    Raises NoTableError, UnreadableError, SpanError, or TooLargeError over MAX_HTML_CHARS. Small documents are cached,
    so that the two TEDS share one parse.
    Source: official src/metrics/table_metric.py.
    """
    if len(document) > MAX_HTML_CHARS:
        raise TooLargeError(f"HTML of {len(document)} characters, the limit is {MAX_HTML_CHARS}")
    return _parse_cached(document) if len(document) <= CACHE_MAX_CHARS else _parse(document)


def _parse(document: str) -> TableTree:
    parser = html.HTMLParser(remove_comments=True, encoding="utf-8")
    try:
        root = html.fromstring(settle_declarations(document), parser=parser)
    except (LxmlError, ValueError) as error:
        raise UnreadableError(f"{type(error).__name__}: {error}") from error
    table = root.find("body/table")
    if table is None:
        raise NoTableError("no table under body")
    return _build(table, sum(1 for _ in table.iterdescendants("*")))


_parse_cached = lru_cache(maxsize=CACHED_TABLES)(_parse)


def settle_declarations(document: str) -> str:
    """Rewrite what begins with `<!` so that every libxml2 reads it as 2.9.14 does, which the official scores come from.

    That version lets a comment that is not closed run to the end of the document, does not close one within its
    opening (`<!-->`), keeps any other `<!` but a doctype as characters, such as `<![CDATA[x]]>`, and so the `</` or
    `<!` right after a misplaced doctype. None of this holds inside style and script elements; a `<?` without a name
    hides nothing.
    """
    return _MARKUP.sub(_settled, document) if "<!" in document else document


def _settled(match: re.Match[str]) -> str:
    if match["comment"]:
        return "<!-- -->"
    if match["open_comment"]:
        return "<!-- "
    if match["doctype"]:
        return match["doctype"] + "&lt;" + match["behind"]
    return "&lt;!" if match["declaration"] else match[0]


def _build(table: Any, element_count: int) -> TableTree:
    kinds: list[NodeKind] = []
    texts: list[CellText] = []
    leftmost: list[int] = []
    stack = [(table, 0, iter(table))]
    while stack:
        element, first_leaf, children = stack[-1]
        child = next(children, None)
        if child is not None:
            stack.append((child, len(kinds), iter(()) if _tag_name(child) == "td" else iter(child)))
            continue
        stack.pop()
        kinds.append(_kind(element))
        texts.append(_cell_text(element) if kinds[-1][0] == "td" else "")
        leftmost.append(first_leaf)
    return TableTree(tuple(kinds), tuple(texts), tuple(leftmost), element_count)


def _kind(element: Any) -> NodeKind:
    name = _tag_name(element)
    if name != "td":
        return (name, 0, 0)
    try:
        return (name, int(element.get("colspan", "1")), int(element.get("rowspan", "1")))
    except ValueError as error:
        raise SpanError(f"ValueError: {error}") from error


def _tag_name(element: Any) -> str:
    """The tag without its prefix (as libxml2 2.9 has it); processing instructions, which have no name, share one."""
    if not isinstance(element.tag, str):
        return _INSTRUCTION
    prefix, _, local = element.tag.partition(":")
    return local if prefix and local else element.tag


def _cell_text(cell: Any) -> CellText:
    """A cell's characters, with each start and end tag inside it as one token."""
    if len(cell) == 0:
        return cell.text or ""
    tokens = list(cell.text or "")
    for child in cell:
        _append_tokens(child, tokens)
    return tuple(tokens)


def _append_tokens(element: Any, tokens: list[str]) -> None:
    """Append one element inside a cell. Recursion ends at the parser's depth limit of 256.

    Quirk: `unk` gets no end token, and text that follows a nested td is dropped.
    """
    name = _tag_name(element)
    tokens.append(f"<{name}>")
    tokens.extend(element.text or "")
    for child in element:
        _append_tokens(child, tokens)
    if name != "unk":
        tokens.append(f"</{name}>")
    if name != "td":
        tokens.extend(element.tail or "")
