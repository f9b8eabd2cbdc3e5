r"""Matrices cleaned for rendering: braces and styles that change nothing to the eye are taken away."""

from __future__ import annotations

import re

from evalkit.protocols.omnidocbench_v16.normalize.braces import closing_braces
from evalkit.protocols.omnidocbench_v16.normalize.formula import strip_formula_delimiters, strip_formula_tags
from evalkit.protocols.omnidocbench_v16.rules import rule

MATRICES = ("matrix", "bmatrix", "pmatrix", "vmatrix", "Vmatrix", "smallmatrix")
STYLES = ("boldsymbol", "mathbf", "mathrm", "mathit", "mathsf", "mathtt", "textbf")

_MATRIX = "|".join(MATRICES)
_STYLED = re.compile(rf"\\(?:{'|'.join(STYLES)})\s*\{{([^{{}}]+)\}}")
_DETERMINANT = re.compile(r"\\operatorname\s*\{\s*det\s*\}")
_NO_COLUMNS = re.compile(r"\\begin\{array\}\s*\{\s*\}")
_DOUBLE_SUBSCRIPT = re.compile(r"_\{_\{([^{}]+)\}\}")
_ARRAY_OPENING = re.compile(r"\\begin\{(?P<name>array)\}\s*(?P<columns>\{[^}]*\})")
_MATRIX_OPENING = re.compile(rf"\\begin\{{(?P<name>{_MATRIX})\}}(?P<columns>)")
_LEADING_BREAK = re.compile(rf"(\\begin\{{(?:{_MATRIX})\}})\s*\\\\")
_TRAILING_BREAK = re.compile(rf"\\\\\s*(\\end\{{(?:{_MATRIX})\}})")
_ONE_COLUMN = re.compile(r"\s*\\begin\{array\}\s*\{\s*l\s*\}(.*)\\end\{array\}\s*", re.S)
_ALIGNED_MATRIX = re.compile(
    rf"\s*\\begin\{{aligned\*?\}}\s*&?\s*(\\begin\{{(?:{_MATRIX})\}}.*?\\end\{{(?:{_MATRIX})\}})"
    r"\s*(?:\\\\\s*)?\\end\{aligned\*?\}\s*",
    re.S,
)
_TOKEN = re.compile(r"\\begin\{[^}]*\}|\\end\{[^}]*\}|\\\\|&|[{}]")
_ROW_OPTIONS = re.compile(r"\s*\*?(?:\[[^\]]*\])?")


def without_wrappers(text: str) -> str:
    """A formula without delimiters and tags."""
    return strip_formula_tags(strip_formula_delimiters(text).strip())


def has_matrix(formula: str) -> bool:
    """Whether a formula holds a matrix, or an array that stands for one."""
    if any(f"\\begin{{{name}}}" in formula for name in MATRICES):
        return True
    return "\\begin{array}" in formula and any(sign in formula for sign in ("\\left[", "\\right]", "&"))


def has_unspecified_array(formula: str) -> bool:
    r"""Whether a formula holds an array without column letters, which TeX cannot set."""
    return _NO_COLUMNS.search(formula) is not None


@rule(
    stage="score",
    order=12,
    example=r"\begin{bmatrix} {\mathbf{a}} & {b} \\ \end{bmatrix} -> \begin{bmatrix}a&b\end{bmatrix}",
)
def sanitize_for_cdm(formula: str, other_side: str) -> str:
    """A formula with its matrices cleaned, and unchanged where neither it nor the other side has one.

    Source: formula_cdm.py sanitize_formula_for_cdm.
    """
    formula = without_wrappers(formula)
    if not has_matrix(formula) and not has_matrix(strip_formula_tags(other_side)):
        return formula.strip()
    formula = _clean(formula)
    column = _ONE_COLUMN.fullmatch(formula)
    if column:
        rows = [_clean(row) for row in _rows(column[1])]
        if any(has_matrix(row) for row in rows):
            formula = r" \qquad ".join(rows)
    return _clean(formula)


def _clean(formula: str) -> str:
    text = without_outer_braces(formula)
    text = _NO_COLUMNS.sub(r"\\begin{array}{l}", text).replace(r"\dfrac", r"\frac")
    text = _without_styles(_DOUBLE_SUBSCRIPT.sub(r"_{\1}", text))
    text = _with_clean_cells(_with_clean_cells(text, _ARRAY_OPENING), _MATRIX_OPENING)
    text = _TRAILING_BREAK.sub(r" \1", _LEADING_BREAK.sub(r"\1 ", text))
    aligned = _ALIGNED_MATRIX.fullmatch(text)
    return (aligned[1] if aligned else text).strip()


def without_outer_braces(text: str) -> str:
    """Text without the braces that enclose all of it; a text of empty braces keeps one pair."""
    partner = closing_braces(text)
    start, end = _trimmed(text, 0, len(text))
    while start < end and text[start] == "{" and partner.get(start) == end - 1:
        inner_start, inner_end = _trimmed(text, start + 1, end - 1)
        if inner_start == inner_end:
            break
        start, end = inner_start, inner_end
    return text[start:end]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def _without_styles(text: str) -> str:
    before = None
    while before != text:
        before, text = text, _STYLED.sub(r"\1", text)
    return _DETERMINANT.sub(r"\\det", text)


def _with_clean_cells(text: str, opening: re.Pattern[str]) -> str:
    """Text in which every cell of the environments has lost its outer braces; each ends at its first closing."""
    pieces: list[str] = []
    at = search_from = 0
    closed_at: dict[str, int] = {}
    while found := opening.search(text, search_from):
        closing = f"\\end{{{found['name']}}}"
        if closed_at.get(closing) != -1:
            closed_at[closing] = text.find(closing, found.end())
        end = closed_at[closing]
        if end < 0:
            search_from = found.end()
            continue
        start = f"\\begin{{{found['name']}}}{found['columns']}"
        pieces += [text[at : found.start()], start, _clean_rows(text[found.end() : end]), closing]
        at = search_from = end + len(closing)
    return "".join([*pieces, text[at:]])


def _clean_rows(body: str) -> str:
    rows = _without_empty_tail(_parts(body, r"\\"))
    return r"\\".join(
        "&".join(without_outer_braces(cell) for cell in _without_empty_tail(_parts(row, "&"))) for row in rows
    )


def _without_empty_tail(parts: list[str]) -> list[str]:
    return parts if parts[-1] else parts[:-1]


def _rows(body: str) -> list[str]:
    rows = [row for row in _parts(body, r"\\", after=_ROW_OPTIONS) if row]
    return rows


def _parts(text: str, separator: str, after: re.Pattern[str] | None = None) -> list[str]:
    """Trimmed parts between separators that stand outside braces and environments."""
    parts: list[str] = []
    braces = environments = at = search_from = 0
    while token := _TOKEN.search(text, search_from):
        search_from = token.end()
        if token[0].startswith("\\begin"):
            environments += 1
        elif token[0].startswith("\\end"):
            environments = max(0, environments - 1)
        elif token[0] == "{":
            braces += 1
        elif token[0] == "}":
            braces = max(0, braces - 1)
        elif token[0] == separator and not braces and not environments:
            parts.append(text[at : token.start()].strip())
            options = after.match(text, search_from) if after else None
            at = search_from = options.end() if options else search_from
        elif token[0] == r"\\":
            search_from = token.start() + 1
    return [*parts, text[at:].strip()]
