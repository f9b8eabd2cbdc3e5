"""Pieces of text, image captions and table cells that may be a formula of the page in disguise."""

from __future__ import annotations

import re

from evalkit.protocols.omnidocbench_v16.extract.cleaning import images
from evalkit.protocols.omnidocbench_v16.normalize.delimiters import Delimiter, delimited_spans, replace_delimited
from evalkit.protocols.omnidocbench_v16.normalize.html_reading import Reading
from evalkit.protocols.omnidocbench_v16.normalize.html_tree import parse_html
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.records import PredItem
from evalkit.protocols.omnidocbench_v16.rules import rule

_WRAPPERS = tuple(
    (Delimiter(opening, closing),)
    for opening, closing in ((r"\$\$", "$$"), (r"\\\[", "\\]"), (r"\\\(", "\\)"), (r"\$", "$"))
)
_INLINE = (Delimiter(r"\$", "$", multiline=False), Delimiter(r"\\\(", "\\)", multiline=False))
_DISPLAY = (Delimiter(r"\$\$", "$$"), Delimiter(r"\\\[", "\\]"))
_FORMULA_SIGN = re.compile(
    r"\\(?:frac|sqrt|sum|int|prod|times|div|square|cdots|left|right|approx|xrightarrow|rightarrow|longrightarrow)"
    r"|[=<>≤≥≈÷×±∑∫√→^_□△…%/+\-]"
)
_COMMAND_OR_SIGN = re.compile(r"\\[A-Za-z]+|[=<>≤≥÷×±∑∫√^_□△…%/()+\-]")
_DIGIT = re.compile(r"\d")
_CJK = re.compile(r"[\u4e00-\u9fff]")
_WORD = re.compile(r"[A-Za-z]{4,}")
_WHITESPACE = re.compile(r"\s+")
_FRACTION = re.compile(r"\d+\s*/\s*\d+")
_CELL_OPERATORS = ("=", "+", "-", "×", "÷", "/", "≈", "\\times", "\\div", "\\approx")

_TO_LATEX = (
    ("……", " \\cdots \\cdots "), ("…", " \\cdots "), ("×", " \\times "), ("÷", " \\div "), ("≤", " \\leq "),
    ("≥", " \\geq "), ("≠", " \\neq "), ("≈", " \\approx "), ("□", " \\square "), ("△", " \\triangle "),
    ("（", "("), ("）", ")"), ("［", "["), ("］", "]"), ("｛", "{"), ("｝", "}"),
)  # fmt: skip
_LABELLED_ARROW = re.compile(r"\\xrightarrow\s*\{([^{}]+)\}")
_REDOX = "氧化还原反应"
_UNESCAPED_SIGN = re.compile(r"(?<!\\)[%&]")


@rule(stage="extract", order=1, example="![x = 1 + 2](a.png) -> a formula_rescue item")
def image_formula_candidates(markdown: str) -> list[PredItem]:
    """Alternative texts of images that look like a formula.

    Source: extract.py, md_tex_filter.
    """
    items: list[PredItem] = []
    for image in images(markdown):
        items += formula_candidate(image.alternative.strip(), (image.start, image.end), "image_formula")
    return items


@rule(stage="extract", order=53, example="3 + 4 = 7 -> a formula_rescue item")
def formula_candidate(text: str, position: tuple[int, int], fine_category: str) -> list[PredItem]:
    """One item when the text looks like a formula, else none; a reaction arrow makes it a formula at once.

    Source: extract.py, _append_formula_rescue_candidate.
    """
    if not is_formula_like(text):
        return []
    formula = sanitize_formula_candidate(text)
    if not formula:
        return []
    has_arrow = "\\xrightarrow" in formula or "\\longrightarrow" in formula
    return [PredItem("equation_isolated" if has_arrow else "formula_rescue", formula, position, fine_category)]


@rule(stage="extract", order=13, example="<td>3 + 4 = 7</td> -> the item 3 + 4 = 7 as a formula")
def table_formula_candidates(table: str, start: int) -> list[PredItem]:
    """Formulas that fill cells of an HTML table; positions are made up from the table's start.

    A table that the official parser refuses gives none.

    Source: extract.py, _build_html_table_formula_rescue_items.
    """
    items: list[PredItem] = []
    document = parse_html(table)
    if document.malformed:
        return items
    reading = Reading(document.root)
    for cell in reading.spans_of("td", "th"):
        text = reading.short_text(cell, POLICY.extract.table_formula_chars)
        if text and is_cell_formula(text) and (formula := sanitize_formula_candidate(text)):
            end = start + len(text)
            items.append(PredItem("equation_isolated", formula, (start, end), "table_formula_rescue"))
            start = end + 1
    return items


@rule(stage="extract", order=12, example="'3 + 4 = 7' -> True")
def is_cell_formula(text: str) -> bool:
    """Whether a cell's text is arithmetic: an operator with two digits or a fraction.

    Source: extract.py, _looks_like_table_formula_cell.
    """
    text = " ".join(text.split())
    if not text or len(text) > POLICY.extract.table_formula_chars or not is_formula_like(text):
        return False
    if not any(operator in text for operator in _CELL_OPERATORS):
        return False
    return len(_DIGIT.findall(text)) >= 2 or "\\frac" in text or _FRACTION.search(text) is not None


@rule(stage="extract", order=50, example="'See the text.' -> False")
def is_formula_like(text: str) -> bool:
    """Whether a short text has more of a formula than of a sentence.

    Source: extract.py, _formula_like_text.
    """
    text = " ".join(text.split())
    if not text or len(text) > POLICY.extract.formula_like_chars:
        return False
    bare = drop_formula_delimiters(text)
    length = len(_WHITESPACE.sub("", bare))
    signs = len(_FORMULA_SIGN.findall(bare))
    if length == 0 or signs == 0:
        return False
    words, cjk, digits = len(_WORD.findall(bare)), len(_CJK.findall(bare)), len(_DIGIT.findall(bare))
    limits = POLICY.extract
    return (
        (_has_formula(text) and _prose_length(bare) <= limits.wrapped_prose_chars)
        or (_has_blank_box(bare) and words <= limits.blank_box_words and length <= limits.blank_box_chars)
        or (_has_reaction_arrow(bare) and cjk <= limits.reaction_cjk and length <= limits.reaction_chars)
        or _is_arithmetic(signs, digits, words, cjk, length)
        or _is_symbolic(signs, words, cjk, length)
    )


def _is_arithmetic(signs: int, digits: int, words: int, cjk: int, length: int) -> bool:
    limits = POLICY.extract
    if signs < limits.arithmetic_signs or digits < limits.arithmetic_digits:
        return False
    return words <= limits.arithmetic_words and cjk <= limits.arithmetic_cjk and length <= limits.arithmetic_chars


def _is_symbolic(signs: int, words: int, cjk: int, length: int) -> bool:
    limits = POLICY.extract
    if signs < limits.symbolic_signs or words:
        return False
    return cjk <= limits.symbolic_cjk and length <= limits.symbolic_chars


def _has_blank_box(bare: str) -> bool:
    return "□" in bare or "\\square" in bare


def _has_formula(text: str) -> bool:
    return any(True for _ in delimited_spans(text, _INLINE)) or any(True for _ in delimited_spans(text, _DISPLAY))


def _prose_length(bare: str) -> int:
    """Characters besides commands, signs, digits and blanks."""
    return len(_WHITESPACE.sub("", _DIGIT.sub("", _COMMAND_OR_SIGN.sub("", bare))))


def _has_reaction_arrow(bare: str) -> bool:
    return any(arrow in bare for arrow in ("\\xrightarrow", "\\longrightarrow", "→"))


@rule(stage="extract", order=51, example=r"'a $x$ b' -> 'a  x  b'")
def drop_formula_delimiters(text: str) -> str:
    """Formula delimiters become blanks, one kind after the other.

    Source: extract.py, _strip_formula_wrappers_keep_content.
    """
    if "$" not in text and "\\[" not in text and "\\(" not in text:
        return text
    for wrapper in _WRAPPERS:
        text = replace_delimited(text, wrapper, lambda inner: f" {inner} ")
    return text


@rule(stage="extract", order=52, example=r"'3 × 4 = 12%' -> '\\[ 3 \\times 4 = 12\\% \\]'")
def sanitize_formula_candidate(text: str) -> str:
    """A candidate as a display formula, its Unicode signs as commands; "" for blank text.

    Source: extract.py, _sanitize_formula_candidate.
    Quirk: one phrase of Chinese chemistry behind an arrow is set under it.
    """
    text = drop_formula_delimiters(" ".join(text.replace("\u3000", " ").split()))
    for sign, command in _TO_LATEX:
        text = text.replace(sign, command)
    text = _UNESCAPED_SIGN.sub(r"\\\g<0>", _label_arrow(text))
    text = _WHITESPACE.sub(" ", text).strip()
    if not text or text.startswith(("\\begin{", "$$", "\\[")):
        return text
    return f"\\[ {text} \\]"


def _label_arrow(text: str) -> str:
    """The first reaction arrow with its label as text."""
    arrow = _LABELLED_ARROW.search(text)
    if arrow is None:
        return text
    before, label, after = text[: arrow.start()].strip(), arrow.group(1).strip(), text[arrow.end() :].strip()
    if label and "\\" not in label:
        label = f"\\text{{{label}}}"
    if after.endswith(_REDOX):
        rest = after.removesuffix(_REDOX).strip()
        return f"{before} \\underset{{{_REDOX}}}{{\\xrightarrow{{{label}}}}} {rest}".strip()
    return f"{before} \\xrightarrow{{{label}}} {after}".strip()
