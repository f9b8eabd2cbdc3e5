"""How the text of one table cell is normalised."""

from __future__ import annotations

import re
import unicodedata

from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.rules import rule

_COMMANDS = (
    ("\\checkmark", "√"), ("\\checked", "√"), ("\\surd", "√"),
    ("\\times", "×"), ("\\xmark", "×"), ("\\crossmark", "×"),
    ("\\pm", "±"), ("\\mp", "∓"),
    ("\\alpha", "α"), ("\\beta", "β"), ("\\gamma", "γ"), ("\\gama", "γ"), ("\\mu", "μ"), ("\\lambda", "λ"),
    ("\\theta", "θ"), ("\\eta", "η"), ("\\pi", "π"), ("\\rho", "ρ"), ("\\sigma", "σ"), ("\\omega", "ω"),
    ("\\delta", "δ"), ("\\Delta", "Δ"), ("\\epsilon", "ε"), ("\\varepsilon", "ε"), ("\\phi", "φ"), ("\\varphi", "φ"),
    ("\\tau", "τ"), ("\\partial", "∂"), ("\\varnothing", "∅"), ("\\emptyset", "∅"), ("\\sim", "～"),
)  # fmt: skip
_ESCAPES = (("\\%", "%"), ("\\#", "#"), ("\\&", "&"), ("\\_", "_"))
_SYMBOLS = str.maketrans(
    dict.fromkeys("✓✔☑✅🗸", "√") | dict.fromkeys("✗✘✕✖☒❌╳⨯", "×") | {"Ø": "∅", "∼": "～", "〜": "～"}
)
_LONE_DASHES = frozenset("-–−－—")
_WRAPPERS = (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$"))
_WHITESPACE = re.compile(r"\s+")


@rule(stage="normalize", order=30, example=r"' 5\u00a0 $\\alpha$ ✓ ' -> '5 $α$ √'")
def normalize_cell_text(text: str) -> str:
    """A cell's text: compatibility forms, symbols, no delimiters around a short formula, single blanks.

    Source: data_preprocess.py, normalize_table_cell_text.
    """
    text = unicodedata.normalize("NFKC", text).replace("\u00a0", " ").replace("\u200b", "")
    text = replace_cell_symbols(strip_cell_math(replace_cell_symbols(text)))
    if text.strip() in _LONE_DASHES:
        return "—"
    return _WHITESPACE.sub(" ", text).strip()


@rule(stage="normalize", order=31, example=r"'5\\% \\pm ✗' -> '5% ± ×'")
def replace_cell_symbols(text: str) -> str:
    """Commands and look-alikes of ticks, crosses, Greek letters and a few signs become one character.

    Source: data_preprocess.py, _apply_table_symbol_replacements.
    Quirk: command names are cut wherever they occur, so that `\\multicolumn` becomes `μlticolumn`.
    """
    if "\\" in text:
        for command, symbol in _COMMANDS:
            text = text.replace(command, symbol)
    if not text.isascii():
        text = text.translate(_SYMBOLS)
    if "\\" in text:
        for escaped, plain in _ESCAPES:
            text = text.replace(escaped, plain)
    return text


@rule(stage="normalize", order=32, example=r"'$ \\(x\\) $' -> 'x'")
def strip_cell_math(text: str) -> str:
    """Remove the delimiters around a short formula that fills the cell.

    Source: data_preprocess.py, _strip_simple_table_math_wrappers.
    """
    text = text.strip()
    while (inner := _inside_wrapper(text)) is not None:
        text = inner
    return text


def _inside_wrapper(text: str) -> str | None:
    for left, right in _WRAPPERS:
        if text.startswith(left) and text.endswith(right) and len(text) >= len(left) + len(right):
            inner = text[len(left) : len(text) - len(right)].strip()
            if 0 < len(inner) <= POLICY.normalize.table_math_chars and not any(sign in inner for sign in "<>$"):
                return inner
    return None
