"""How text is normalised before it is compared: inline formulas as Unicode, then letters and digits only."""

from __future__ import annotations

import re

from evalkit.protocols.omnidocbench_v16.normalize.circled import uncircle
from evalkit.protocols.omnidocbench_v16.normalize.delimiters import Delimiter, delimited_spans, replace_delimited
from evalkit.protocols.omnidocbench_v16.normalize.formula import normalize_formula
from evalkit.protocols.omnidocbench_v16.normalize.latex_text import latex_to_text
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.rules import rule

INLINE_FORMULA = (Delimiter(r"\$", "$", multiline=False), Delimiter(r"\\\(", "\\)", multiline=False))

_ESCAPED_SIGN = re.compile(r"\\[\\_&%^]")
_STRUCTURED = ("\\begin{", "\\end{", "\\array", "\\matrix", "\\tabular", "\\cases", "\\align", "\\\\", "&")
_SPELLED_BREAKS = ("\\t", "\\n", "\t", "\n", "/t", "/n")
_NOT_WORD = re.compile(r"[^\w\u4e00-\u9fff]")


def normalize_text(text: str) -> str:
    """Text as it is compared.

    Source: data_preprocess.py, normalized_text.
    """
    return clean_string(inline_formulas_to_unicode(text))


@rule(stage="normalize", order=2, example=r"'where $x^2$ and $y$' -> 'where x^2 and $y$'")
def inline_formulas_to_unicode(text: str) -> str:
    """Inline formulas with a command, a superscript or a subscript are read as plain text.

    Source: data_preprocess.py, textblock2unicode.
    Quirk: an inline formula without any of these keeps its dollar signs here.
    """
    text = uncircle(text)
    if "$" not in text and "\\(" not in text:
        return text
    pieces: list[str] = []
    last_end = 0
    for span in delimited_spans(text, INLINE_FORMULA):
        plain = inline_formula_to_unicode(span.inner(text))
        if plain is not None:
            pieces += text[last_end : span.start], plain
            last_end = span.end
    pieces.append(text[last_end:])
    return "".join(pieces)


def inline_formula_to_unicode(formula: str) -> str | None:
    """The text of one inline formula, None when it stays as it is."""
    formula = _ESCAPED_SIGN.sub("", formula)
    if not any(sign in formula for sign in "\\^_"):
        return None
    if formula.endswith("\\"):
        formula += " "
    if is_structured_formula(formula):
        return None
    return latex_to_text(formula, fallback=formula).strip()


@rule(stage="normalize", order=3, example=r"'a & b' -> True")
def is_structured_formula(formula: str) -> bool:
    """Long inline formulas, those with an environment or rows, and those with unequal braces stay LaTeX.

    Source: data_preprocess.py, _should_skip_inline_textblock_formula.
    """
    formula = formula.strip()
    if not formula:
        return False
    if len(formula) > POLICY.normalize.inline_formula_chars or any(part in formula for part in _STRUCTURED):
        return True
    return formula.count("{") != formula.count("}")


@rule(stage="normalize", order=4, example=r"'let $\\mathbf{x}$ be' -> 'let x be'")
def text_with_normalized_formulas(text: str) -> str:
    """Text in which every inline formula is replaced by its normalised form.

    Source: data_preprocess.py, textblock_with_norm_formula.
    """
    return replace_delimited(text, INLINE_FORMULA, lambda formula: normalize_formula(formula).strip())


@rule(stage="normalize", order=5, example=r"'Two words,\n1/no' -> 'Twowords1o'")
def clean_string(text: str) -> str:
    """Letters, digits and underscores only.

    Source: data_preprocess.py, clean_string.
    Quirk: the two characters `/n`, `/t`, `\\n` or `\\t` go as well, so that `and/not` loses its n.
    """
    text = uncircle(text)
    for spelled in _SPELLED_BREAKS:
        text = text.replace(spelled, "")
    return _NOT_WORD.sub("", text)
