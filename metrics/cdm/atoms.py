"""The small tree between the LaTeX parser and the token list: atoms, and how scripts attach to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum


class Role(Enum):
    """What the rules below need to know of an atom besides its tokens."""

    PLAIN = "plain"
    GROUP = "group"
    SPACE = "space"
    PRIME = "prime"
    LOOSE_CARET = "loose caret"


@dataclass(frozen=True, slots=True)
class Atom:
    """Tokens in order, some of them inside child atoms; a GROUP stands in braces when written."""

    parts: tuple[str | Atom, ...]
    role: Role = Role.PLAIN


@dataclass(frozen=True, slots=True)
class ScriptMark:
    """A `^` or `_` whose base and script are not found yet."""

    sign: str


Item = Atom | ScriptMark

SPACE = Atom(("~",), Role.SPACE)
PRIME = Atom((r"\prime",), Role.PRIME)
_LOOSE_CARET = Atom(("^",), Role.LOOSE_CARET)


def atom(*parts: str | Atom) -> Atom:
    """An atom without a special role."""
    return Atom(parts)


def group(children: Sequence[Atom]) -> Atom:
    """Atoms in braces."""
    return Atom(tuple(children), Role.GROUP)


def single_or_group(children: Sequence[Atom]) -> Atom:
    """The only atom itself; none or several in braces."""
    return children[0] if len(children) == 1 else group(children)


def braced(child: Atom) -> Atom:
    """The atom with braces around it, unless it brings its own."""
    return child if child.role is Role.GROUP else group((child,))


def tokens(atoms: Sequence[Atom]) -> Iterator[str]:
    """All tokens of the atoms in order."""
    pending: list[str | Atom] = list(reversed(atoms))
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            yield part
            continue
        if part.role is Role.GROUP:
            yield "{"
            pending.append("}")
        pending.extend(reversed(part.parts))


def attach_scripts(items: Sequence[Item]) -> list[Atom]:
    """Join bases with their sub- and superscripts, written `base _ {…} ^ {…}`; a mark without base is a plain token."""
    atoms: list[Atom] = []
    position = 0
    while position < len(items):
        item = items[position]
        position += 1
        if isinstance(item, ScriptMark):
            atoms.append(_LOOSE_CARET if item.sign == "^" else atom(item.sign))
            continue
        above, below, end = _scripts_after(items, position)
        if above is None and below is None:
            atoms.append(item)
            continue
        parts: list[str | Atom] = [item]
        if below is not None:
            parts += ["_", braced(below)]
        if above is not None:
            parts += ["^", braced(above)]
        atoms.append(Atom(tuple(parts)))
        position = end
    return atoms


def _scripts_after(items: Sequence[Item], start: int) -> tuple[Atom | None, Atom | None, int]:
    """Superscript, subscript and the position after them.

    Quirk: of several scripts of one sign the last wins, even an empty one; only primes add up.
    """
    above: Atom | None = None
    below: Atom | None = None
    position = start
    while position < len(items) and isinstance(mark := items[position], ScriptMark):
        script, position = _script_at(items, position + 1)
        if mark.sign == "_":
            below = script
            continue
        script = _without_loose_caret(script)
        above = script if above is None else _joined_primes(above, script) or script
    return above, below, position


def _script_at(items: Sequence[Item], start: int) -> tuple[Atom | None, int]:
    """The first atom that is no space, and the position after it; (None, start) before a mark or the end."""
    for position in range(start, len(items)):
        item = items[position]
        if isinstance(item, ScriptMark):
            break
        if item.role is not Role.SPACE:
            return item, position + 1
    return None, start


def _primes(script: Atom | None) -> tuple[Atom, ...]:
    """The primes that an atom consists of; () when it holds anything else."""
    if script is None:
        return ()
    if script.role is Role.PRIME:
        return (script,)
    if script.role is Role.GROUP and all(isinstance(part, Atom) and part.role is Role.PRIME for part in script.parts):
        return tuple(part for part in script.parts if isinstance(part, Atom))
    return ()


def _joined_primes(first: Atom, second: Atom | None) -> Atom | None:
    left, right = _primes(first), _primes(second)
    return single_or_group(left + right) if left and right else None


def _without_loose_caret(script: Atom | None) -> Atom | None:
    """`{^'}` as a superscript means the primes alone."""
    if script is None or script.role is not Role.GROUP or len(script.parts) < 2:
        return script
    head, *rest = script.parts
    if not (isinstance(head, Atom) and head.role is Role.LOOSE_CARET):
        return script
    found: list[Atom] = []
    for part in rest:
        primes = _primes(part if isinstance(part, Atom) else None)
        if not primes:
            return script
        found += primes
    return single_or_group(found)
