"""A formula taken apart into rows that are scored one by one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from evalkit.protocols.omnidocbench_v16.formula_rows.end_labels import strip_end_labels
from evalkit.protocols.omnidocbench_v16.formula_rows.environments import closings, opening_at
from evalkit.protocols.omnidocbench_v16.formula_rows.latex_rows import split_rows
from evalkit.protocols.omnidocbench_v16.formula_rows.row_rules import is_list_of_formulas
from evalkit.protocols.omnidocbench_v16.normalize.formula import strip_formula_delimiters, strip_formula_tags
from evalkit.protocols.omnidocbench_v16.rules import rule

_BRACE_BEFORE = re.compile(r"\\left\s*\\\{|\\left\.")
_BRACE_AFTER = ("\\right.", "\\right\\}")
_CACHED_FORMULAS = 4096


@dataclass(frozen=True, slots=True)
class FormulaRow:
    """A row without delimiters and tags, and its inclusive span in the formula it comes from."""

    latex: str
    start: int
    last: int


@dataclass(frozen=True, slots=True)
class _Block:
    """What is split: `body` begins at `start` of the formula; `suffix` follows the environment, up to `suffix_end`."""

    body: str
    start: int
    rows: Sequence[str]
    suffix: str = ""
    suffix_end: int = -1


@rule(stage="match", order=10, example=r"\[\begin{aligned} a &= b \\ c &= d \end{aligned}\] -> a &= b and c &= d")
@lru_cache(maxsize=_CACHED_FORMULAS)
def formula_rows(latex: str) -> tuple[FormulaRow, ...]:
    r"""The rows of a formula that is a multi-line environment or has bare `\\` breaks; () for a single formula.

    What follows the environment goes to the last row. Source: match_quick.py _split_multiline_formula_lines.
    """
    block = _environment_block(latex) or _bare_block(latex)
    if block is None:
        return ()
    texts = [(raw, text) for raw in block.rows if (text := _bare_row(raw))]
    if len(texts) < 2:
        return ()
    rows: list[FormulaRow] = []
    search_from = 0
    for _, text in texts:
        found = block.body.find(text, search_from)
        offset = found if found >= 0 else search_from
        search_from = offset + len(text)
        rows.append(FormulaRow(text, block.start + offset, block.start + offset + len(text) - 1))
    rows[-1] = _with_suffix(rows[-1], block)
    return tuple(rows)


def _with_suffix(row: FormulaRow, block: _Block) -> FormulaRow:
    suffix = _bare_row(block.suffix)
    latex = f"{row.latex} {suffix}".strip() if suffix else row.latex
    return FormulaRow(latex, row.start, block.suffix_end - 1 if block.suffix_end > 0 else row.last)


def _bare_row(latex: str) -> str:
    return strip_formula_tags(latex).strip()


def _environment_block(latex: str) -> _Block | None:
    """The environment that a formula consists of, when it is a list of formulas."""
    core, braced = _without_outer_brace(strip_formula_delimiters(latex).strip())
    opening = opening_at(core)
    end = closings(core).get(0, -1) if opening else -1
    if opening is None or end < opening.body_start:
        return None
    body = core[opening.body_start : end]
    rows = split_rows(body)
    suffix = strip_end_labels(core[end + len(opening.closing) :]).strip()
    if not is_list_of_formulas(opening, body, rows, braced=braced) or len(split_rows(suffix)) > 1:
        return None
    start = max(0, latex.find(body))
    return _Block(body, start, rows, suffix, _suffix_end(latex, start + len(body), opening.closing, suffix))


def _bare_block(latex: str) -> _Block | None:
    r"""A formula with `\\` breaks of its own."""
    body = strip_formula_delimiters(latex).strip()
    rows = split_rows(body) if "\\\\" in body else []
    return _Block(body, max(0, latex.find(body)), rows) if len(rows) > 1 else None


def _without_outer_brace(latex: str) -> tuple[str, bool]:
    r"""The formula without an outer `\left\{` or `\left.` and `\right.` or `\right\}`, and whether it had one."""
    before = _BRACE_BEFORE.match(latex)
    core = latex[before.end() :].lstrip() if before else latex
    after = next((mark for mark in _BRACE_AFTER if core.endswith(mark)), "")
    if after:
        core = core[: -len(after)].rstrip()
    return core, bool(before or after)


def _suffix_end(latex: str, body_end: int, closing: str, suffix: str) -> int:
    closing_at = latex.find(closing, body_end) if suffix else -1
    suffix_at = latex.find(suffix, closing_at + len(closing)) if closing_at >= 0 else -1
    return suffix_at + len(suffix) if suffix_at >= 0 else -1
