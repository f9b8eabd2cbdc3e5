r"""Which multi-line environments are lists of formulas, to be scored row by row, and which are one formula."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evalkit.protocols.omnidocbench_v16.formula_rows.environments import ALIGNED, Opening, opening_at
from evalkit.protocols.omnidocbench_v16.formula_rows.latex_rows import first_cell, split_rows
from evalkit.protocols.omnidocbench_v16.normalize.formula import strip_formula_tags
from evalkit.protocols.omnidocbench_v16.rules import rule

# Arrows, quantifiers and words that turn the rows of a brace into statements.
_LOGIC_MARK = re.compile(
    r"\\(?:Rightarrow|Leftrightarrow|Longrightarrow|Longleftrightarrow|longrightarrow|longleftrightarrow|implies"
    r"|therefore|because|uparrow|downarrow|Updownarrow|forall|exists)\b|单调|否定"
)
_INNER_ENVIRONMENT = re.compile(
    r"\\begin\{(?:array|aligned|align\*?|alignedat\*?|split|gathered?|multline\*?|flalign\*?|eqnarray\*?|cases)\}"
)
# A row that begins with a number or an arrow continues a list of cases.
_CASE_LEAD = re.compile(
    r"\(?\d+\)?|\\(?:Rightarrow|Leftrightarrow|Longrightarrow|Longleftrightarrow|implies|therefore|uparrow"
    r"|downarrow|Updownarrow|leftarrow|rightarrow)"
)
_WORDS = re.compile(r"\\(?:text|mathrm|operatorname)\s*\{")


def is_list_of_formulas(opening: Opening, body: str, rows: Sequence[str], *, braced: bool) -> bool:
    r"""Whether an environment is split into its rows; `braced` says that it stands in `\left\{ … \right.`."""
    if opening.name == "cases":
        return cases_are_statements(body, rows)
    if opening.name in ALIGNED:
        return not aligned_is_one_formula(body, rows, braced=braced)
    if opening.name == "array":
        return array_is_column_of_formulas(opening.column_spec, body, rows, braced=braced)
    return True


@rule(stage="match", order=11, example=r"\begin{cases} a \\ \Rightarrow b \end{cases} -> two formulas")
def cases_are_statements(body: str, rows: Sequence[str]) -> bool:
    """Cases are split only when they list statements: a logic mark, and no condition column.

    Source: match_quick.py _should_split_cases_block.
    """
    if len(rows) < 2 or _has_columns(rows) or not _LOGIC_MARK.search(body):
        return False
    return bool(
        _INNER_ENVIRONMENT.search(body)
        or any(_LOGIC_MARK.search(_past_alignment(row)) for row in rows)
        or any(_has_words(row) for row in rows[1:])
    )


@rule(stage="match", order=12, example=r"\left\{ \begin{aligned} x &= 1 \\ y &= 2 \end{aligned} \right. -> one formula")
def aligned_is_one_formula(body: str, rows: Sequence[str], *, braced: bool) -> bool:
    """Aligned rows stay together when a brace joins them to a system, or when they list cases with environments.

    Source: match_quick.py _should_keep_aligned_block_together.
    """
    nested = _INNER_ENVIRONMENT.search(body) is not None
    lists_cases = any(_leads_a_case(row) for row in rows[1:])
    if nested and lists_cases:
        return True
    if not braced:
        return False
    with_left_side = sum(1 for row in rows if _has_left_side(row))
    return nested or lists_cases or with_left_side >= 2 or any(_has_words(row) for row in rows[1:])


@rule(
    stage="match", order=13, example=r"\begin{array}{l} a \\ b \end{array} -> two formulas; columns ccc -> one formula"
)
def array_is_column_of_formulas(column_spec: str, body: str, rows: Sequence[str], *, braced: bool) -> bool:
    """An array is split when it has one column, or two of which one is flush; not as a braced left-aligned list.

    Source: match_quick.py is_all_l and _should_keep_array_block_together.
    """
    columns = re.sub(r"[\s|]+", "", column_spec)
    if not columns or set(columns) - set("lcr"):
        return False
    if len(columns) > 2 or columns == "cc":
        return False
    if _INNER_ENVIRONMENT.search(body) and any(_leads_a_case(row) for row in rows[1:]):
        return False
    return not (braced and set(columns) == {"l"} and len(rows) > 1)


@rule(stage="match", order=14, example=r"\begin{cases} a \Rightarrow b \\ c \end{cases} -> a braced array")
def cases_read_as_braced_array(body: str, after: str) -> bool:
    """Cases without a condition column are a braced list when a logic mark is in them or follows them.

    `after` is the text behind them. A multi-line environment right behind them counts as a mark.
    Source: match_quick.py _should_normalize_cases_block.
    """
    after = after.lstrip()
    if not (_LOGIC_MARK.search(body) or _LOGIC_MARK.search(after) or opening_at(after)):
        return False
    rows = split_rows(body)
    return len(rows) > 1 and not _has_columns(rows)


def _has_columns(rows: Sequence[str]) -> bool:
    return any(first_cell(row) is not None for row in rows)


def _has_left_side(row: str) -> bool:
    cell = first_cell(row)
    return bool(cell and strip_formula_tags(cell).strip())


def _leads_a_case(row: str) -> bool:
    return _CASE_LEAD.match(strip_formula_tags(_past_alignment(row)).strip()) is not None


def _has_words(row: str) -> bool:
    return _WORDS.search(_past_alignment(row)) is not None


def _past_alignment(row: str) -> str:
    stripped = row.lstrip()
    while stripped.startswith("&"):
        stripped = stripped[1:].lstrip()
    return stripped
