"""Text in the margins of display formulas: a number in front, captions behind."""

from __future__ import annotations

import re

from evalkit.protocols.omnidocbench_v16.normalize.latex_text import latex_to_text
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.records import PredItem
from evalkit.protocols.omnidocbench_v16.rules import rule

_WRAPPERS = (("\\[", "\\]"), ("\\(", "\\)"), ("$$", "$$"), ("$", "$"))
_SPACES = ("\\qquad", "\\quad", "\\enspace", "\\,", "\\;", "\\:")
_SPACE = r"(?:\\qquad|\\quad|\\enspace|\\,|\\;|\\:)\s*"
_LEADING_NUMBER = re.compile(rf"\s*(\\left\(\s*[0-9IVXivx]+\s*\\right\)|\(\s*[0-9IVXivx]+\s*\))\s*(?:{_SPACE})*")
_TEXT_CAPTION_HEAD = re.compile(rf"{_SPACE}(\\text\s*)\Z")
_TEXT_CAPTION_HEAD_CHARS = 20
_PARENTHESIS_HEAD = re.compile(rf"{_SPACE}(\()")
_LETTER = re.compile(r"[A-Za-z]")
_WORD = re.compile(r"[A-Za-z]{2,}")
_DIGIT = re.compile(r"\d")
_MATH = re.compile(r"\\[A-Za-z]+|[=<>≤≥÷×±∑∫√_^{}]")
_NUMBER = re.compile(r"[0-9IVXivx]+")
_WHITESPACE = re.compile(r"\s+")


@rule(stage="extract", order=21, example=r"\[ (1) \; x \quad \text{for all real numbers} \] -> \[ x \] and two texts")
def split_margin_text(formula: str, position: tuple[int, int]) -> tuple[str, list[PredItem]]:
    """Take a leading number and trailing captions off a formula and give them as text items.

    `\\[ (1) \\; x \\quad \\text{for all real numbers} \\]` gives `\\[ x \\]` and two text items.

    Source: extract.py, _append_display_formula_item and _split_display_formula_margin_text.
    """
    left, right, inner = unwrap_formula(formula)
    body, prefix = _split_number(inner)
    body, captions = _split_captions(body)
    if not (prefix or captions):
        return formula, []
    body = _drop_trailing_spaces(body).strip()
    if not body:
        return " ".join(formula.split()), []
    start, end = position
    texts = [(prefix, (start, min(end, start + max(len(prefix), 1))))] if prefix else []
    texts += [(caption, (max(start, end - max(len(caption), 1)), end)) for caption in captions]
    items = [
        PredItem("text_all", plain, at, "equation_caption") for text, at in texts if (plain := fragment_to_text(text))
    ]
    return wrap_formula(body, left, right), items


def _split_number(inner: str) -> tuple[str, str]:
    """The formula without a leading number, and the number with its parentheses ("" for none)."""
    found = _LEADING_NUMBER.match(inner)
    if found is None:
        return inner, ""
    return inner[found.end() :].strip(), found.group(1).strip()


def _split_captions(body: str) -> tuple[str, list[str]]:
    """The formula without trailing captions, and the captions, last one first."""
    captions: list[str] = []
    while found := _text_caption(body) or _parenthesis_caption(body):
        space_start, caption_start = found
        captions.append(body[caption_start:].strip())
        body = body[:space_start].rstrip()
    return body, captions


def _text_caption(body: str) -> tuple[int, int] | None:
    """Where a trailing \\text{...} caption and the space before it begin."""
    end = len(body) - body.endswith(".")
    opening = body.rfind("{", 0, end)
    if not body.endswith("}", 0, end) or opening < 0 or body.find("}", opening) != end - 1:
        return None
    head_start = max(0, opening - _TEXT_CAPTION_HEAD_CHARS)
    head = _TEXT_CAPTION_HEAD.search(body[head_start:opening])
    if head is None or not is_equation_caption(body[head_start + head.start(1) :]):
        return None
    return head_start + head.start(), head_start + head.start(1)


def _parenthesis_caption(body: str) -> tuple[int, int] | None:
    """Where a trailing caption in parentheses and the space before it begin."""
    end = len(body) - body.endswith(".")
    if not body.endswith(")", 0, end):
        return None
    head = _PARENTHESIS_HEAD.search(body, body.rfind(")", 0, end - 1) + 1)
    if head is None or _LETTER.search(body, head.end()) is None or not is_equation_caption(body[head.start(1) :]):
        return None
    return head.start(), head.start(1)


@rule(stage="extract", order=24, example=r"'\\text{for all real numbers}' -> True")
def is_equation_caption(text: str) -> bool:
    """Whether what stands behind a formula is words, not math.

    Source: extract.py, _looks_like_equation_caption.
    """
    raw = text.strip()
    plain = fragment_to_text(raw) if raw else ""
    if not plain:
        return False
    core = plain[1:-1] if plain.startswith("(") and plain.endswith(")") else plain
    if _NUMBER.fullmatch(core.strip().replace(" ", "")):
        return False
    letters, math = len(_LETTER.findall(plain)), len(_MATH.findall(raw))
    limits = POLICY.extract
    is_worded = letters >= limits.caption_letters and len(_WORD.findall(plain)) >= limits.caption_words
    if is_worded and math <= limits.caption_math:
        return True
    if letters < limits.wordless_caption_letters or math > limits.wordless_caption_math:
        return False
    return _DIGIT.search(plain) is None


def fragment_to_text(latex: str) -> str:
    """A piece of LaTeX as one line of plain text.

    Source: extract.py, _latex_fragment_to_plain_text.
    """
    latex = latex.strip()
    return _WHITESPACE.sub(" ", latex_to_text(latex, fallback=latex).replace("\u00a0", " ")).strip()


def _drop_trailing_spaces(body: str) -> str:
    """The text without spacing commands at its end."""
    stripped = body.rstrip()
    while (space := next(filter(stripped.endswith, _SPACES), None)) is not None:
        body = stripped.removesuffix(space)
        stripped = body.rstrip()
    return body


def unwrap_formula(text: str) -> tuple[str, str, str]:
    """Delimiters of a formula ("" for none) and what is between them, on one line."""
    text = " ".join(text.split())
    for left, right in _WRAPPERS:
        if text.startswith(left) and text.endswith(right) and len(text) >= len(left) + len(right):
            return left, right, text[len(left) : len(text) - len(right)].strip()
    return "", "", text


def wrap_formula(inner: str, left: str, right: str) -> str:
    """The formula between its delimiters, set off by blanks; "" for a blank one."""
    inner = inner.strip()
    return f"{left} {inner} {right}" if inner and left else inner
