"""What can be asked of a node of the LaTeX parser, whatever its class."""

from __future__ import annotations

from typing import Any

Node = Any  # pylatexenc ships no types


def macro_arguments(node: Node) -> list[Node]:
    """The arguments that the parser attached to a macro, without absent optional ones."""
    given = list(getattr(getattr(node, "nodeargd", None), "argnlist", None) or ())
    if given:
        return [argument for argument in given if argument is not None]
    return list(getattr(node, "nodeargs", None) or ())


def next_visible(row: list[Node], position: int) -> int:
    """Position of the next node that is not blank; len(row) when there is none."""
    while position < len(row):
        texts = (getattr(row[position], "chars", None), getattr(row[position], "specials_chars", None))
        if not any(isinstance(text, str) and not text.strip() for text in texts):
            return position
        position += 1
    return len(row)


def node_list(node: Node | None) -> list[Node]:
    """What is inside a node that holds others, else the node itself."""
    if node is None:
        return []
    inside = getattr(node, "nodelist", None)
    return [node] if inside is None else list(inside)


def is_delimited(node: Node) -> bool:
    """A `{…}` or `[…]` group, or math between delimiters."""
    return hasattr(node, "nodelist") and hasattr(node, "delimiters")


def is_brace_group(node: Node) -> bool:
    """A `{…}` group."""
    return is_delimited(node) and node.delimiters == ("{", "}")


def group_text(node: Node) -> str:
    """The characters directly inside a group."""
    return "".join(getattr(child, "chars", None) or "" for child in getattr(node, "nodelist", None) or ())
