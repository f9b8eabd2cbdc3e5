"""Every way to cut the multi-line predicted formulas of a page into groups of neighbouring rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product

from evalkit.protocols.omnidocbench_v16.formula.prepare import ISOLATED, PredFormula, split_into_rows
from evalkit.protocols.omnidocbench_v16.formula.rows import stack_rows
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.rules import rule

DELIMITERS = (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"))


@rule(stage="match", order=77, example="one formula of rows a, b, c -> {abc} {a}{bc} {ab}{c} {a}{b}{c}")
def partitions(ordered: Sequence[PredFormula]) -> list[list[PredFormula]]:
    """All pages that arise from cutting the multi-line formulas; [] when none has rows, or when there are too many.

    Source: end2end_dataset.py _build_formula_partitioned_pred_candidates.
    """
    options: list[list[list[PredFormula]]] = []
    total = 1
    for formula in ordered:
        rows = split_into_rows([formula])
        if not 1 < len(rows) <= POLICY.formula.partition_rows:
            options.append([[formula]])
            continue
        total *= 1 << (len(rows) - 1)
        if total > POLICY.formula.partition_count:
            return []
        options.append([[_joined(group) for group in groups] for groups in _cuts(rows)])
    if all(len(option) == 1 for option in options):
        return []
    return [[formula for part in choice for formula in part] for choice in product(*options)]


def _cuts(rows: Sequence[PredFormula]) -> list[list[Sequence[PredFormula]]]:
    """Groups of neighbouring rows: bit i of a counting number cuts after row i, so uncut comes first."""
    found = []
    for mask in range(1 << (len(rows) - 1)):
        bounds = [0, *(place + 1 for place in range(len(rows) - 1) if mask >> place & 1), len(rows)]
        found.append([rows[start:end] for start, end in pairwise(bounds)])
    return found


def _joined(rows: Sequence[PredFormula]) -> PredFormula:
    first, last = rows[0], rows[-1]
    if len(rows) == 1:
        return first
    item = replace(
        first.item,
        content=_delimited(stack_rows(row.item.content for row in rows)),
        position=(first.item.position[0], last.item.position[1]),
        fine_category=ISOLATED,
    )
    return replace(first, item=item)


def _delimited(content: str) -> str:
    stripped = content.strip()
    if not stripped or any(stripped.startswith(left) and stripped.endswith(right) for left, right in DELIMITERS):
        return stripped
    return f"\\[{stripped}\\]"
