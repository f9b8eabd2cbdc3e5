"""From LaTeX to the token text that CDM works on: tokens with one space between."""

from __future__ import annotations

import logging
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from pylatexenc.latexwalker import (
    LatexCharsNode,
    LatexEnvironmentNode,
    LatexGroupNode,
    LatexMacroNode,
    LatexMathNode,
    LatexSpecialsNode,
    LatexWalker,
)

from metrics.cdm.atoms import tokens
from metrics.cdm.characters import Mode
from metrics.cdm.guard import MAX_CHARS, parseable
from metrics.cdm.nodes import Node, macro_arguments
from metrics.cdm.structure import to_atoms
from metrics.cdm.vocabulary import OPERATOR_NAMES

_CJK_GLUED_TO_MACRO = re.compile(r"(\\[A-Za-z]+)(?=[\u4e00-\u9fff])")
_OPERATOR = re.compile(r"\\operatorname\s*\{([^{}]*)\}")
_HSKIP = re.compile(r"hskip(.*?)(cm|in|pt|mm|em)")
_ROW_CONTEXTS = ("matrix", "cases", "array", "begin")
_MAX_FORMULA_CHARS = 2 * MAX_CHARS  # no rewriting before the guard shortens a formula by half

logging.getLogger("pylatexenc").setLevel(logging.ERROR)  # it warns of every malformed formula


def tokenize(text: str) -> str | None:
    """Token text of a formula (or of a table, when "tabular" occurs in it); None when it cannot be parsed."""
    try:
        spaced = _tabular_tokens(text) if "tabular" in text else _formula_tokens(text)
    except RecursionError:
        return None
    return spaced or None


# --- formulas ---


def _formula_tokens(text: str) -> str:
    if len(text) > _MAX_FORMULA_CHARS and "%" not in text:
        return ""
    text = _rename_environments(text, ("split", "align", "alignedat", "alignat", "eqnarray"), "aligned")
    text = _rename_environments(text, ("smallmatrix",), "matrix")
    line = _clean_line(_CJK_GLUED_TO_MACRO.sub(r"\1 ", _before_comment(text)))
    if not parseable(line):
        return ""
    line = line.replace("$", " ")
    trailing_backslash = line.endswith("\\")
    written = " ".join(tokens(to_atoms(_parse(_roman_as_mathrm(line)), Mode())))
    written = _without_labels(written.replace("SSSSSS", "$").replace(" S S S S S S", "$"), r"\label { ", " }").strip()
    if not written:
        return "\\" if line.strip() == "\\" else ""
    if trailing_backslash and written.split()[-1:] != ["\\"]:
        written += " \\"
    return _finish_formula(" ".join(written.split()))


def _finish_formula(text: str) -> str:
    text = _OPERATOR.sub(_known_operator, text)
    if r"\left" in text or r"\right" in text:
        text = " ".join(_glued_delimiters(text.split()))
    return text.replace(r"\\ \end{array}", r"\end{array}")


def _known_operator(found: re.Match[str]) -> str:
    name = "".join(found[1].split())
    return f"\\{name}" if name in OPERATOR_NAMES else found[0]


def _glued_delimiters(row: Sequence[str]) -> Iterator[str]:
    r"""`\left` and `\right` with the token after them as one token."""
    pending = iter(row)
    for token in pending:
        yield token + next(pending, "") if token in (r"\left", r"\right") else token


def _before_comment(text: str) -> str:
    """The text up to the first `%` that is not the very first character."""
    return text.removeprefix("%").split("%", 1)[0].replace(r"\~", " ")


def _clean_line(line: str) -> str:
    line = line.replace(r"\>", " ")
    line = _without_labels(line, r"\label{", "}")
    if not any(context in line for context in _ROW_CONTEXTS):
        line = line.replace(r"\\", r"\,")
    return line


def _roman_as_mathrm(line: str) -> str:
    for old in (r"{\rm", r"{ \rm", r"\rm{"):
        line = line.replace(old, r"\mathrm{")
    return line


def _without_labels(text: str, opening: str, closing: str) -> str:
    """The text without `opening … closing` stretches."""
    kept: list[str] = []
    position = 0
    while (start := text.find(opening, position)) >= 0 and (end := text.find(closing, start + len(opening))) >= 0:
        kept.append(text[position:start])
        position = end + len(closing)
    return "".join(kept) + text[position:]


def _rename_environments(text: str, names: Sequence[str], new_name: str) -> str:
    """Outermost environments of these names, starred or not, under a new name; an environment that never ends stays."""
    ends = {name: [found.start() for found in re.finditer(rf"\\end\{{{name}\*?\}}", text)] for name in names}
    if not any(ends.values()):
        return text
    pieces: list[str] = []
    done = 0
    for begin in re.finditer(rf"\\begin\{{({'|'.join(names)})\*?\}}", text):
        if begin.start() < done:
            continue
        candidates = ends[begin[1]]
        index = bisect_left(candidates, begin.end() + 1)
        if index == len(candidates):
            continue
        end = candidates[index]
        pieces += [
            text[done : begin.start()],
            rf"\begin{{{new_name}}}",
            text[begin.end() : end],
            rf"\end{{{new_name}}}",
        ]
        done = text.index("}", end) + 1
    return "".join(pieces) + text[done:]


# --- tables ---


def _tabular_tokens(text: str) -> str:
    code = text.replace(r"\\%", r"\\ %").replace(r"\%", "<PERCENTAGE_TOKEN>")
    code = code.split("%")[0].replace("<PERCENTAGE_TOKEN>", r"\%")
    if len(code) > _MAX_FORMULA_CHARS:
        return ""
    if r"\end{tabular}" not in code:
        code += r"\end{tabular}"
    code = _HSKIP.sub(r"hspace{\1\2}", code).replace("\r", " ").replace("\n", " ")
    line = _clean_line(code.removeprefix("%").replace(r"\~", " "))
    if not parseable(line, tabular=True):
        return ""
    return " ".join(" ".join(_flat_tokens(_parse(line))).split())


def _flat_tokens(nodes: Sequence[Node] | None) -> Iterator[str]:
    """Every macro, character and brace as it stands, in order."""
    for node in nodes or ():
        if isinstance(node, LatexCharsNode | LatexSpecialsNode):
            chars = node.chars if isinstance(node, LatexCharsNode) else node.specials_chars
            yield from (char for char in chars or "" if not char.isspace())
        elif isinstance(node, LatexGroupNode):
            left, right = node.delimiters
            yield left
            yield from _flat_tokens(node.nodelist)
            yield right
        elif isinstance(node, LatexMathNode):
            yield "$"
            yield from _flat_tokens(node.nodelist)
            yield "$"
        elif isinstance(node, LatexEnvironmentNode):
            yield from (r"\begin", f"{{{node.environmentname}}}")
            yield from _flat_tokens(macro_arguments(node))
            yield from _flat_tokens(node.nodelist)
            yield from (r"\end", f"{{{node.environmentname}}}")
        elif isinstance(node, LatexMacroNode):
            yield f"\\{node.macroname}"
            yield from _flat_tokens(macro_arguments(node))


def _parse(text: str) -> list[Node]:
    nodes, _, _ = LatexWalker(text).get_latex_nodes()
    return list(nodes)
