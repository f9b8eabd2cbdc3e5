"""Rewriting of formulas in HPD's cleaning: tall pairs, ellipses, Unicode signs, lines of arithmetic.

Behaviour as published with the HPD-Parsing model; every pass is linear in its text, up to sorting.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

OPERATORS = {
    "≈": r"\approx ", "≠": r"\neq ", "≥": r"\geq ", "≤": r"\leq ", "×": r"\times ", "÷": r"\div ", "±": r"\pm ",
    "∓": r"\mp ", "·": r"\cdot ", "⋅": r"\cdot ", "∙": r"\cdot ", "≡": r"\equiv ", "∝": r"\propto ", "∞": r"\infty ",
    "√": r"\sqrt ", "→": r"\to ", "≪": r"\ll ", "≫": r"\gg ", "∗": "*", "−": "-",
}  # fmt: skip
FUNCTIONS = frozenset(
    "sin cos tan cot sec csc log ln exp lim max min det mod arcsin arccos arctan sqrt".split()  # noqa: SIM905
)
SPAN_ENDS = {"\\[": "\\]", "\\(": "\\)", "$$": "$$", "$": "$"}
CLOSERS = ("\\]", "\\)", "$$")
ELLIPSES = ("\\dots", "\\cdots", "\\ldots", "\\dotsb", "\\dotsc")
QUADS = ("\\qquad", "\\quad")
BEFORE_ELLIPSIS = ("\\right.", "}", "]", ")")

_OPENER = re.compile(r"\\\[|\\\(|\$\$|\$")
_OPERATOR = re.compile("[" + "".join(OPERATORS) + "]")
_CHINESE = re.compile(r"[一-鿿]+")
_BLANKS = re.compile(r"[ \t]{2,}")
_PAIR = re.compile(r"\\left\(|\\right\)")
_TALL = re.compile(
    r"\\\\|\\begin\{|\\(?:[dtc]?frac|[dt]?binom|sqrt|sum|(?:co)?prod|i{0,4}int|oi{0,2}int|big(?:cup|cap|oplus|otimes|sqcup)"
    r"|overbrace|underbrace|overset|underset|stackrel|substack|atop)(?![A-Za-z])"
)
_ELLIPSIS = r"\\(?:dotsb|dotsc|dots|cdots|ldots)(?![A-Za-z])"
_ELLIPSIS_RUN = re.compile(rf"({_ELLIPSIS})(?:\s*{_ELLIPSIS})+")
_ARITHMETIC = re.compile(r"[0-9A-Za-z \t=+\-*/^_().,:;>|%!一-鿿" + "".join(OPERATORS) + "]+")
_SIGN = re.compile(r"[=+\-*/" + "".join(OPERATORS) + "]")
_LETTERS = re.compile(r"[A-Za-z]{2,}")


def loosen_flat_pairs(text: str) -> str:
    r"""`\left( … \right)` as plain brackets where nothing tall stands inside."""
    tall = [found.start() for found in _TALL.finditer(text)]
    opened: list[re.Match[str]] = []
    flat: dict[int, str] = {}
    for found in _PAIR.finditer(text):
        if found[0] == "\\left(":
            opened.append(found)
        elif opened:
            opener = opened.pop()
            at = bisect_left(tall, opener.end())
            if at == len(tall) or tall[at] >= found.start():
                flat |= {opener.start(): "(", found.start(): ")"}
    return _PAIR.sub(lambda found: flat.get(found.start(), found[0]), text)


def trim_tail(text: str) -> str:
    """Runs of ellipses as one; without the spaces and ellipses that fill the end of a formula."""
    text = _ELLIPSIS_RUN.sub(r"\1", text)
    body, closing = _split_closer(text)
    return body[: _tail_start(body)] + closing


def _split_closer(text: str) -> tuple[str, str]:
    stripped = text.rstrip()
    closer = next((mark for mark in CLOSERS if stripped.endswith(mark)), "")
    body = stripped[: len(stripped) - len(closer)].rstrip() if closer else stripped
    return body, text[len(body) :] if closer else ""


def _tail_start(body: str) -> int:
    """Where the filling at the end begins; len(body) when there is none."""
    end = len(body)
    while True:
        core = _without_ellipsis(body, end)
        before = _without_quads(body, core)
        if before < core:
            end = _without_blanks(body, before)
        elif core < end and body.endswith(BEFORE_ELLIPSIS, 0, core):
            end = core
        else:
            return end


def _without_ellipsis(body: str, end: int) -> int:
    mark = next((mark for mark in ELLIPSES if body.endswith(mark, 0, end)), None)
    return end if mark is None else _without_blanks(body, end - len(mark))


def _without_quads(body: str, end: int) -> int:
    while True:
        mark = next((mark for mark in QUADS if body.endswith(mark, 0, end)), None)
        if mark is None:
            return end
        end = _without_blanks(body, end - len(mark))


def _without_blanks(body: str, end: int) -> int:
    while end and body[end - 1].isspace():
        end -= 1
    return end


def math_spans(text: str) -> Iterator[tuple[int, int, int]]:
    r"""Start, end and length of the delimiters of each span between `\[ \]`, `\( \)`, `$$ $$` or `$ $`."""
    position = 0
    hopeless: set[str] = set()
    while found := _OPENER.search(text, position):
        opener = found[0]
        end = -1 if opener in hopeless else text.find(SPAN_ENDS[opener], found.end())
        if end < 0:
            hopeless.add(opener)
            position = found.end()
            continue
        yield found.start(), end + len(opener), len(opener)
        position = end + len(opener)


def to_latex_signs(formula: str) -> str:
    r"""Unicode operators as LaTeX commands, Chinese in `\text{}`, blanks single."""
    signs = _OPERATOR.sub(lambda found: OPERATORS[found[0]], formula)
    return _BLANKS.sub(" ", _CHINESE.sub(lambda found: f"\\text{{{found[0]}}}", signs))


def rewrite_formulas(text: str) -> str:
    """Unicode signs inside formulas as LaTeX; lines outside that hold nothing but arithmetic as formulas."""
    parts: list[str] = []
    done = 0
    for start, end, mark in math_spans(text):
        parts.append(_outside(text[done:start], after_formula=done > 0, before_formula=True))
        inner = to_latex_signs(text[start + mark : end - mark])
        parts.append(text[start : start + mark] + inner + text[end - mark : end])
        done = end
    parts.append(_outside(text[done:], after_formula=done > 0, before_formula=False))
    return "".join(parts)


def wrap_arithmetic(line: str) -> str:
    r"""A line that holds nothing but arithmetic as `\( … \)`; any other line as it is."""
    return f"\\( {to_latex_signs(line.strip())} \\)" if is_arithmetic(line.strip()) else line


def is_arithmetic(line: str) -> bool:
    """Whether a line has a sign of arithmetic and else only numbers, single letters, function names and Chinese."""
    if not line or _ARITHMETIC.fullmatch(line) is None or _SIGN.search(line) is None:
        return False
    return all(found[0] in FUNCTIONS for found in _LETTERS.finditer(line))


def _outside(text: str, *, after_formula: bool, before_formula: bool) -> str:
    """Wrap lines of arithmetic in a part between formulas; the lines that a formula shares are left alone."""
    lines = text.split("\n")
    last = len(lines) - 1
    return "\n".join(
        line if (number == 0 and after_formula) or (number == last and before_formula) else wrap_arithmetic(line)
        for number, line in enumerate(lines)
    )
