"""Token text in one spelling: function names spelt out, arguments in braces, colours and layout commands gone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from metrics.cdm.braces import PARENTHESES, BracketMatcher, UnreadableError
from metrics.cdm.vocabulary import (
    ACCENT_TOKENS,
    FRACTION_TOKENS,
    ROOT_TOKENS,
    SPELT_OUT,
    STACK_TOKENS,
    STYLE_TOKENS,
)

_ONE_ARGUMENT = ACCENT_TOKENS | STYLE_TOKENS
_TWO_ARGUMENTS = FRACTION_TOKENS | STACK_TOKENS
_WORD = re.compile(r"(?<=\s)\S+(?=\s)")
_DELETED = ("\\raggedright", "\\arraybackslash", "\\lowercase", "\\uppercase")


def normalize(text: str) -> str:
    """Normal form of a token text. Raises UnreadableError where the official scorer gives up."""
    tabular = "tabular" in text
    matcher = BracketMatcher()
    text = text.strip().replace(r"\pmatrix", r"\mypmatrix").replace(r"\matrix", r"\mymatrix")
    for name in _DELETED:
        text = text.replace(name, "")
    text = _apply(_SPACE_COMMANDS_IN_TABLES if tabular else _SPACE_COMMANDS, text)
    if tabular:
        text = _join_table_commands(text, matcher)
    text = _apply(_ARRAY_COLUMNS, text)
    text = _WORD.sub(lambda found: SPELT_OUT.get(found[0], found[0]), f" {text} ")
    for rewrite in _REWRITES:
        if tabular or not rewrite.tables_only:
            text = _apply(rewrite, text)
    return " ".join(_with_braces(text.split(" "), matcher))


# --- rewriting what a pattern finds ---


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Replace every text that `pattern` finds, wherever that text stands, by what `change` makes of it."""

    pattern: re.Pattern[str]
    change: Callable[[str], str]
    tables_only: bool = False


def _apply(rewrite: Rewrite, text: str) -> str:
    for found in dict.fromkeys(rewrite.pattern.findall(text)):
        text = text.replace(found, rewrite.change(found))
    return text


def _joined(text: str) -> str:
    return text.replace(" ", "")


def _joined_word(text: str) -> str:
    return _joined(text) + " "


def _deleted(text: str) -> str:
    return ""


def _rewrite(pattern: str, change: Callable[[str], str], *, tables_only: bool = False) -> Rewrite:
    return Rewrite(re.compile(pattern, re.DOTALL), change, tables_only)


_SPACE_COMMANDS = _rewrite(r"\\[hv]space { [.0-9a-z ]+ }", _joined)
_SPACE_COMMANDS_IN_TABLES = _rewrite(r"\\[hv]space { [.0-9a-z ]+ }", _deleted)
_ARRAY_COLUMNS = _rewrite(
    r"\\begin{array} { [lrc ]+ }", lambda found: "\\begin{array} " + _joined(found.removeprefix("\\begin{array} "))
)
_COLOUR = r"[ \[\]RGBrgb]+{ [A-Za-z 0-9,!]+ } "
_REWRITES = (
    _rewrite(r"\\string [^ ]+ ", _joined_word),
    _rewrite(r"\\[Bb]igg?[glrm]? [(){}|\[\]] ", _joined_word),
    _rewrite(r"\\[Bb]igg?[glrm]? \\[^ ]* ", _joined_word),
    _rewrite(r"\\operatorname \*", lambda _: "\\operatorname"),
    _rewrite(r"\\lefteqn", _deleted),
    _rewrite(r"\\footnote ", lambda _: "^ "),
    _rewrite(r"\\' [^{] ", _joined_word),
    # Row distances such as [ - 1 . 5 e x ]: numbers, then a unit. Written so that long runs of blanks stay linear.
    _rewrite(r"\[ (?:[-.0-9 ]++[exptcm][exptcm ]* \]|[-.0-9 ]+  \])", _joined, tables_only=True),
    _rewrite(r"\\parbox {[^{]+}", _joined),
    _rewrite(r"\\raisebox {[^{]+} [\[\]0-9 exptcm]+{", lambda found: _joined(found)[:-1] + " {"),
    _rewrite(r"{ \\char[0-9' ]+}", lambda found: "{ " + _joined(found)[1:-1] + " }"),
    _rewrite(r"\\rule {[ .0-9a-z]+} {[ .0-9a-z]+}", _joined),
    _rewrite(r"\\specialrule {[ .0-9a-z]+} {[ .0-9a-z]+} {[ .0-9a-z]+}", _joined),
    _rewrite("|".join(rf"\\{name}{_COLOUR}" for name in ("colorbox", "color", "textcolor", "cellcolor")), _deleted),
)


# --- tables ---


def _join_table_commands(text: str, matcher: BracketMatcher) -> str:
    """`\\begin{tabular}` and partial rules with their arguments as one token each."""
    for name in ("tabular", "array"):
        text = text.replace(f"\\begin {{{name}}}", f"\\begin{{{name}}}")
        text = text.replace(f"\\end {{{name}}}", f"\\end{{{name}}}")
    row = text.split(" ")
    if "\\begin{tabular}" in row:
        start = row.index("\\begin{tabular}")
        row = _join(row, start, matcher.closing(row, start + 1))
    position = 0
    while position < len(row):
        if row[position] in ("\\cmidrule", "\\cline"):
            row = _join(row, position, _end_of_rule(row, position + 1, matcher))
        position += 1
    return " ".join(row)


def _end_of_rule(row: Sequence[str], position: int, matcher: BracketMatcher) -> int:
    if position < len(row) and row[position] == "(":
        position = matcher.closing(row, position, PARENTHESES) + 1
    end = matcher.closing(row, position)
    if end < 0:
        raise UnreadableError("a partial rule without columns")
    return end


def _join(row: Sequence[str], start: int, end: int) -> list[str]:
    return [*row[:start], "".join(row[start : end + 1]), *row[end + 1 :]]


# --- missing braces ---


def _with_braces(row: Sequence[str], matcher: BracketMatcher) -> list[str]:
    """Every macro that takes arguments gets them in braces: `\\hat x` becomes `\\hat { x }`."""
    tokens = list(row)
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token in _ONE_ARGUMENT:
            _brace_chain(tokens, position, matcher)
        elif token in ROOT_TOKENS:
            start = position + 1
            if _at(tokens, start) == "[":
                start = matcher.closing(tokens, start, ("[", "]")) + 1
            _brace_one(tokens, start)
        elif token in _TWO_ARGUMENTS:
            _brace_one(tokens, position + 1)
            _brace_one(tokens, matcher.closing(tokens, position + 1) + 1)
        position += 1
    return tokens


def _at(tokens: Sequence[str], position: int) -> str:
    if position >= len(tokens):
        raise UnreadableError("a macro without its argument")
    return tokens[position]


def _brace_one(tokens: list[str], position: int) -> None:
    if _at(tokens, position) != "{":
        tokens[position : position + 1] = ["{", tokens[position], "}"]


def _brace_chain(tokens: list[str], start: int, matcher: BracketMatcher) -> None:
    """Braces for macros in a row, `\\hat \\mathbf x`: each holds all that follows."""
    end = start + 1
    while _at(tokens, end) in _ONE_ARGUMENT:
        end += 1
    count = end - start
    if tokens[end] == "{":
        closing = matcher.closing(tokens, end)
        body, after = tokens[end + 1 : closing], closing + 1
    else:
        body, after = [tokens[end]], end + 1
    opened = [part for macro in tokens[start:end] for part in (macro, "{")]
    tokens[start:after] = [*opened, *body, *["}"] * count]
