"""How formulas are normalised before they are compared by edit distance."""

from __future__ import annotations

import re

from evalkit.protocols.omnidocbench_v16.normalize.braces import (
    remove_command_with_group,
    remove_starred_command_with_group,
)
from evalkit.protocols.omnidocbench_v16.normalize.circled import uncircle
from evalkit.protocols.omnidocbench_v16.normalize.delimiters import Delimiter, delimited_spans, remove_delimited
from evalkit.protocols.omnidocbench_v16.normalize.groups import simplify_groups
from evalkit.protocols.omnidocbench_v16.normalize.latex_text import latex_to_text
from evalkit.protocols.omnidocbench_v16.rules import rule

_WRAPPERS = (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$"))
_INNER_FORMULA = (
    Delimiter(r"\\\[", "\\]", multiline=False, min_content=1, unescaped=True),
    Delimiter(r"\\\(", "\\)", multiline=False, min_content=1, unescaped=True),
)
_LAYOUT_COMMANDS = (
    (Delimiter(r"\\hspace\{", "}", multiline=False),),
    (Delimiter(r"\\begin\{", "}", multiline=False),),
    (Delimiter(r"\\end\{", "}", multiline=False),),
    (Delimiter(r"\\arraycolsep", "}", multiline=False),),
)
_SMALL_SPACE = re.compile(r"\\[!,;:]")
_UNESCAPED_AMPERSAND = re.compile(r"(?<!\\)&")
_COLUMN_SPEC = re.compile(r"\{[lcr| ]+\}")
_WHITESPACE = re.compile(r"\s+")
_BARS_AND_ESCAPES = (("\\mid", "|"), ("\\vert", "|"), ("\\{", ""), ("\\}", ""), ("~", ""))
"""Replaced in this order: `\\mid` first, so that `\\midrule` becomes `|rule`."""

_DROPPED = (
    "\\mathbf", "\\mathrm", "\\mathnormal", "\\mathit", "\\mathbb", "\\mathcal", "\\mathscr", "\\mathfrak",
    "\\mathsf", "\\mathtt",
    "\\textbf", "\\text", "\\boldmath", "\\boldsymbol", "\\operatorname", "\\bm",
    "\\symbfit", "\\mathbfcal", "\\symbf", "\\scriptscriptstyle", "\\notag",
    "\\setlength", "\\coloneqq", "\\space", "\\thickspace", "\\thinspace",
    "\\medspace", "\\nobreakspace", "\\negmedspace",
    "\\quad", "\\qquad", "\\enspace", "\\substackw",
    " ", "$$", "\\left", "\\right", "\\displaystyle", "\\text",
)  # fmt: skip
"""Dropped one after the other, wherever they occur: what one leaves may form the next."""


def normalize_formula(text: str) -> str:
    """A formula as it is compared: no layout, no fonts, no spaces, few braces, lower case.

    Source: data_preprocess.py, normalized_formula.
    """
    text = strip_formula_tags(strip_formula_delimiters(uncircle(text)))
    text = inner_formula(text)
    text = remove_command_with_group(text, "\\phantom")
    text = drop_layout(text)
    text = drop_fonts_and_spaces(text)
    text = simplify_groups(text)
    return _WHITESPACE.sub("", text.lower())


@rule(stage="normalize", order=10, example=r"'$$ \\[x\\] $$' -> 'x'")
def strip_formula_delimiters(text: str) -> str:
    """Remove the delimiters around a formula, as often as there are any.

    Source: data_preprocess.py, strip_formula_delimiters.
    """
    start, end = 0, len(text)
    while True:
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        for left, right in _WRAPPERS:
            fits = end - start >= len(left) + len(right)
            if fits and text.startswith(left, start) and text.endswith(right, start, end):
                start, end = start + len(left), end - len(right)
                break
        else:
            return text[start:end]


@rule(stage="normalize", order=11, example=r"'x \\tag{1}\\nonumber' -> 'x '")
def strip_formula_tags(text: str) -> str:
    """Remove equation numbers: \\tag{...}, \\tag*{...}, \\notag and \\nonumber.

    Source: data_preprocess.py, strip_formula_tags.
    """
    text = remove_starred_command_with_group(text, "\\tag")
    return text.replace("\\notag", "").replace("\\nonumber", "")


@rule(stage="normalize", order=16, example=r"'\\[x^{2}\\tag{1}\\]' -> 'x^2'")
def formula_to_text(text: str) -> str:
    """A formula as the plain text that text is compared with.

    Source: data_preprocess.py, formula_to_text.
    """
    text = strip_formula_tags(strip_formula_delimiters(uncircle(text)))
    return latex_to_text(text, fallback=text)


@rule(stage="normalize", order=12, example=r"'area \\(a+b\\) is' -> 'a+b'")
def inner_formula(text: str) -> str:
    """The first formula in inner delimiters, if there is one on a line, else the text.

    Source: data_preprocess.py, normalized_formula.
    Quirk: what stands around that first formula is dropped.
    """
    for span in delimited_spans(text, _INNER_FORMULA):
        return span.inner(text).strip()
    return text


@rule(stage="normalize", order=13, example=r"'\\begin{array}{cc} a & b \\end{array}.' -> ' a  b '")
def drop_layout(text: str) -> str:
    """Remove spacing, alignment, environments, column specifications, escaped braces and outer full stops.

    Source: data_preprocess.py, normalized_formula.
    """
    text = _UNESCAPED_AMPERSAND.sub("", _SMALL_SPACE.sub("", text))
    for old, new in _BARS_AND_ESCAPES:
        text = text.replace(old, new)
    for delimiters in _LAYOUT_COMMANDS:
        text = remove_delimited(text, delimiters)
    return _COLUMN_SPEC.sub("", text).strip(".")


@rule(stage="normalize", order=14, example=r"'\\mathbf{x} \\leftarrow \\text{y}' -> '{x}arrow{y}'")
def drop_fonts_and_spaces(text: str) -> str:
    """Remove font, spacing and size commands and blanks.

    Source: data_preprocess.py, normalized_formula.
    Quirk: names are cut wherever they occur, so that `\\leftarrow` becomes `arrow` and `\\textit` `it`.
    """
    for dropped in _DROPPED:
        text = text.replace(dropped, "")
    return text
