"""From the parser's nodes to atoms: what each macro and group of a formula becomes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from pylatexenc.latexwalker import (
    LatexCharsNode,
    LatexCommentNode,
    LatexEnvironmentNode,
    LatexGroupNode,
    LatexMacroNode,
    LatexMathNode,
    LatexSpecialsNode,
)

from metrics.cdm.atoms import (
    SPACE,
    Atom,
    Item,
    ScriptMark,
    atom,
    attach_scripts,
    braced,
    group,
    single_or_group,
)
from metrics.cdm.characters import Mode, characters
from metrics.cdm.environments import environment
from metrics.cdm.nodes import Node, group_text, is_brace_group, is_delimited, macro_arguments, next_visible, node_list
from metrics.cdm.vocabulary import (
    ACCENTS,
    FONTS,
    FRACTIONS,
    LIMIT_OPERATORS,
    OPERATOR_NAMES,
    ROMAN_FONTS,
    SPELT_OPERATORS,
    WIDE_ACCENTS,
)

Found = tuple[list[Item], int]  # the items of a macro and the position of the next node

_TWO_WORDS = re.compile(r"\s*(\S+)\s+(\S+)(.*)", re.DOTALL)
_WORD = re.compile(r"\s*(\S+)(.*)", re.DOTALL)
_LENGTH = re.compile(r"\s*(-?)\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]{2})\s*$")


def to_atoms(nodes: Sequence[Node] | None, mode: Mode) -> list[Atom]:
    """Atoms of a node list, scripts attached."""
    row = list(nodes or ())
    items: list[Item] = []
    position = 0
    while position < len(row):
        name = getattr(row[position], "macroname", None)
        reader = _LOOK_AHEAD.get(name) if isinstance(name, str) else None
        found = reader(row, position, mode.inside()) if reader else None
        if found is None:
            after_mark = bool(items) and isinstance(items[-1], ScriptMark)
            node_mode = replace(mode, prime_is_script=False) if after_mark else mode
            found = _single(row[position], node_mode), position + 1
        items += found[0]
        position = found[1]
    return attach_scripts(items)


# --- one node ---


def _single(node: Node, mode: Mode) -> list[Item]:
    """Items of a node that needs no look at its neighbours."""
    if isinstance(node, LatexCommentNode):
        return []
    if isinstance(node, LatexCharsNode):
        return characters(node.chars or "", mode)
    if isinstance(node, LatexSpecialsNode):
        return characters(getattr(node, "specials_chars", "") or "", mode)
    if isinstance(node, LatexGroupNode):
        return [group(to_atoms(node.nodelist, mode))]
    if isinstance(node, LatexMathNode):
        return [atom("$"), *to_atoms(node.nodelist, mode.math()), atom("$")]
    if isinstance(node, LatexEnvironmentNode):
        inner = Mode(roman=mode.roman)
        return [environment(node, lambda nodes: to_atoms(nodes, inner))]
    if isinstance(node, LatexMacroNode):
        return _macro(node, mode.inside())
    return []


def _macro(node: Node, mode: Mode) -> list[Item]:
    """Items of a macro with the arguments that the parser gave it."""
    name = node.macroname
    if name in ("limits", "nolimits"):
        return []
    items: list[Item] = list(_macro_atoms(node, name, mode))
    if mode.text and node.macro_post_space and not (items and items[-1] == SPACE):
        items.append(SPACE)
    return items


def _macro_atoms(node: Node, name: str, mode: Mode) -> list[Atom]:
    arguments = macro_arguments(node)
    first = arguments[0] if arguments else None
    if name in FRACTIONS:
        both = [_argument(one, mode) for one in arguments[:2]] if len(arguments) >= 2 else [group(()), group(())]
        return [_fraction_atom(name, both[0], both[1])]
    if name == "sqrt":
        return [_root(node, mode)]
    if name in ACCENTS:
        return [atom(f"\\{name}", braced(_argument(first, mode)))]
    if name in FONTS:
        return [_in_font(name, _argument(first, _font_mode(name, mode)))]
    if name == "text":
        return [atom(r"\mathrm", group(to_atoms(node_list(first), replace(mode, text=True))))]
    if name in ("overline", "underline"):
        return [atom(f"\\{name}", group((_argument(first, mode),)))]
    return [atom(f"\\{name}"), *(part for one in arguments for part in _inline_argument(one, mode))]


def _root(node: Node, mode: Mode) -> Atom:
    arguments = list(getattr(getattr(node, "nodeargd", None), "argnlist", None) or ())
    index = arguments[0] if len(arguments) >= 2 else None
    body = arguments[1] if len(arguments) >= 2 else (arguments[0] if arguments else None)
    radicand = _argument(body, mode)
    if index is None:
        return atom(r"\sqrt", radicand)
    return atom(r"\sqrt", "[", *to_atoms(node_list(index), mode), "]", radicand)


def _argument(node: Node | None, mode: Mode) -> Atom:
    """A macro argument as one atom: a brace group stays a group, anything else is bare when it is one atom."""
    if node is None:
        return group(())
    atoms = to_atoms(node_list(node), mode)
    return group(atoms) if is_brace_group(node) else single_or_group(atoms)


def _inline_argument(node: Node, mode: Mode) -> list[Atom]:
    """An argument of an unknown macro, with its brackets written out."""
    atoms = to_atoms(node_list(node), mode)
    if not is_delimited(node):
        return atoms
    if getattr(node, "delimiters", None) == ("[", "]"):
        return [atom("["), *atoms, atom("]")]
    return [group(atoms)]


def _fraction_atom(name: str, numerator: Atom, denominator: Atom) -> Atom:
    return atom(r"\binom" if name == "binom" else r"\frac", numerator, denominator)


def _in_font(name: str, body: Atom) -> Atom:
    return atom(r"\mathrm" if name in ROMAN_FONTS else f"\\{name}", body)


def _font_mode(name: str, mode: Mode) -> Mode:
    return replace(mode, roman=name in ROMAN_FONTS)


# --- macros that take their arguments from the nodes that follow ---


def _accented_font(row: list[Node], position: int, mode: Mode) -> Found | None:
    r"""`\hat\mathbf{x}`: the parser gives the accent only the font name; the accent covers the group too."""
    taken = _font_then_group(row, position, mode)
    if taken is None:
        return None
    font, end = taken
    accent = f"\\{row[position].macroname}"
    return [atom(accent, group((font,)))], end


def _wide_accented_font(row: list[Node], position: int, mode: Mode) -> Found | None:
    taken = _font_then_group(row, position, mode)
    if taken is None:
        return None
    font, end = taken
    return [atom(f"\\{row[position].macroname}"), font], end


def _font_then_group(row: list[Node], position: int, mode: Mode) -> tuple[Atom, int] | None:
    arguments = macro_arguments(row[position])
    font = getattr(arguments[0], "macroname", None) if len(arguments) == 1 else None
    if font not in FONTS or macro_arguments(arguments[0]):
        return None
    body_at = next_visible(row, position + 1)
    if body_at == len(row) or not is_brace_group(row[body_at]):
        return None
    body = group(to_atoms(row[body_at].nodelist, _font_mode(font, mode)))
    return _in_font(font, body), body_at + 1


def _operator_name(row: list[Node], position: int, mode: Mode) -> Found | None:
    body_at = next_visible(row, position + 1)
    if body_at == len(row) or not is_delimited(row[body_at]):
        return None
    body = row[body_at]
    spelling = group_text(body)
    compact = "".join(spelling.split())
    if spelling == spelling.strip() and compact in OPERATOR_NAMES:
        return [atom(f"\\{compact}")], body_at + 1
    return [atom(r"\operatorname"), group(to_atoms(body.nodelist, mode.math()))], body_at + 1


def _bare_font(row: list[Node], position: int, mode: Mode) -> Found | None:
    if macro_arguments(row[position]):
        return None
    body_at = next_visible(row, position + 1)
    if body_at == len(row):
        return None
    name = row[position].macroname
    return [_in_font(name, _argument(row[body_at], _font_mode(name, mode)))], body_at + 1


def _spelt_operator(row: list[Node], position: int, mode: Mode) -> Found:
    name = row[position].macroname
    operator = r"\operatorname*" if name in LIMIT_OPERATORS else r"\operatorname"
    return [atom(operator, "{", *name, "}")], position + 1


def _loose_fraction(row: list[Node], position: int, mode: Mode) -> Found | None:
    r"""A fraction without attached arguments: two groups, or for `\binom` whatever two things follow."""
    node = row[position]
    if macro_arguments(node):
        return None
    first = next_visible(row, position + 1)
    second = next_visible(row, first + 1)
    if first == len(row):
        return None
    if node.macroname == "binom" and (found := _binom_in_chars(row, first, mode)):
        return found
    if second == len(row):
        return None
    if is_delimited(row[first]) and is_delimited(row[second]):
        halves = [group(to_atoms(row[at].nodelist, mode)) for at in (first, second)]
        return [_fraction_atom(node.macroname, halves[0], halves[1])], second + 1
    return _binom_of_two(row, first, second, mode) if node.macroname == "binom" else None


def _binom_in_chars(row: list[Node], at: int, mode: Mode) -> Found | None:
    r"""`\binom n k…`: both halves are words of one run of characters, whose rest is read on."""
    words = _TWO_WORDS.match(getattr(row[at], "chars", None) or "")
    if words is None:
        return None
    halves = [single_or_group(attach_scripts(characters(word, mode))) for word in words.group(1, 2)]
    row[at] = LatexCharsNode(words[3])
    return [_fraction_atom("binom", halves[0], halves[1])], at


def _binom_of_two(row: list[Node], first: int, second: int, mode: Mode) -> Found | None:
    upper = to_atoms(node_list(row[first]), mode)
    if not upper:
        return None
    ends_cell = (
        "&" in (getattr(row[first], "specials_chars", None), getattr(row[second], "specials_chars", None))
        or getattr(row[second], "macroname", None) == "\\"
    )
    if ends_cell:
        return None
    word = _WORD.match(getattr(row[second], "chars", None) or "")
    if word and word[2].strip():
        lower = attach_scripts(characters(word[1], mode))
        row[second] = LatexCharsNode(word[2])
        return [_fraction_atom("binom", single_or_group(upper), single_or_group(lower))], second
    lower = to_atoms(node_list(row[second]), mode)
    if not lower:
        return None
    return [_fraction_atom("binom", single_or_group(upper), single_or_group(lower))], second + 1


def _boxed(row: list[Node], position: int, mode: Mode) -> Found | None:
    at = next_visible(row, position + 1)
    if at == len(row) or not is_delimited(row[at]):
        return None
    return [atom(f"\\{row[position].macroname}", group(to_atoms(row[at].nodelist, mode)))], at + 1


def _rule(row: list[Node], position: int, mode: Mode) -> Found | None:
    first = next_visible(row, position + 1)
    second = next_visible(row, first + 1)
    if second >= len(row) or not (is_delimited(row[first]) and is_delimited(row[second])):
        return None
    lengths = [_LENGTH.match(group_text(row[at])) for at in (first, second)]
    parts: list[str] = [r"\rule"]
    for length in lengths:
        if length is None:
            return None
        value = float(length[1] + length[2])
        parts += ["{", str(int(value)) if value.is_integer() else str(value), length[3], "}"]
    return [atom(*parts)], second + 1


_LOOK_AHEAD: dict[str, Callable[[list[Node], int, Mode], Found | None]] = {
    **dict.fromkeys(ACCENTS, _accented_font),
    **dict.fromkeys(WIDE_ACCENTS, _wide_accented_font),
    "operatorname": _operator_name,
    **dict.fromkeys(FONTS, _bare_font),
    **dict.fromkeys(SPELT_OPERATORS, _spelt_operator),
    **dict.fromkeys(FRACTIONS, _loose_fraction),
    **dict.fromkeys(("phantom", "llap", "rlap"), _boxed),
    "rule": _rule,
}
