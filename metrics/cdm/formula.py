"""From a formula to what TeX is given: which preamble, which coloured LaTeX, which first paper size."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from metrics.cdm.braces import UnreadableError
from metrics.cdm.colour import Coloured, colour
from metrics.cdm.normalize import normalize
from metrics.cdm.tokenize import tokenize

MAX_INPUT_CHARS = 200_000  # longer input is not given to TeX

_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_CJK_RUN = re.compile(r"[\u4e00-\u9fff\u3400-\u4dbf]+")
_BRACED_MATHRM = re.compile(r"\\mathrm\s*\{([^{}]*)\}")
_BRACED_TEXT = re.compile(r"\\text\s*\{([^{}]*)\}")
_CLOSING = re.compile(r"\s*\}")
_PERCENT = "<PERCENTAGETOKEN>"


class Kind(StrEnum):
    """The preamble a formula needs."""

    PLAIN = "plain"
    CHINESE = "chinese"
    TABULAR = "tabular"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A formula ready for TeX. `parsed` is False when its text could only be split at blanks."""

    kind: Kind
    coloured: Coloured
    parsed: bool

    @property
    def first_paper(self) -> int:
        """ISO A size to begin with; it grows while the formula is too wide."""
        count = len(self.coloured.tokens)
        return 3 if count > 1300 else 4 if count > 600 else 5


def prepare(latex: str) -> Prepared:
    """Tokenise, normalise and colour a formula. Raises UnreadableError when it cannot be drawn."""
    if len(latex) > MAX_INPUT_CHARS:
        raise UnreadableError(f"longer than {MAX_INPUT_CHARS} characters")
    kind = _kind(latex)
    if kind is Kind.CHINESE:
        latex = _wrap_chinese(latex.replace("，", ", ").replace("：", ": ").replace("；", "; "))
    latex = latex.replace("\n", " ").replace("\\%", _PERCENT)
    spaced = tokenize(latex)
    text = latex if spaced is None else spaced
    if _CHINESE.search(text):
        text = _BRACED_MATHRM.sub(_chinese_as_text, text)
        text = _BRACED_TEXT.sub(_chinese_spaced_out, text)
    text = text.replace(" ".join(_PERCENT), "\\%")
    return Prepared(kind, colour(normalize(text)), parsed=spaced is not None)


def _kind(latex: str) -> Kind:
    if "tabular" in latex:
        return Kind.TABULAR
    return Kind.CHINESE if _CHINESE.search(latex) else Kind.PLAIN


def _wrap_chinese(latex: str) -> str:
    """Chinese outside `\\text{…}` gets a `\\text{…}` of its own."""
    latex = re.sub(r"\\text\s*\{", r"\\text{", latex)

    def wrapped(run: re.Match[str]) -> str:
        opened = latex.endswith(("\\text{", "\\text{\n"), 0, run.start())
        closed = _CLOSING.match(latex, run.end()) is not None
        return run[0] if opened and closed else f"\\text{{{run[0]}}}"

    return _CJK_RUN.sub(wrapped, latex)


def _chinese_as_text(found: re.Match[str]) -> str:
    return f"\\text{{{found[1]}}}" if _CJK_RUN.search(found[1]) else found[0]


def _chinese_spaced_out(found: re.Match[str]) -> str:
    content = found[1].strip()
    return f"\\text {{ {content} }}" if content and _CJK_RUN.search(content) else found[0]
