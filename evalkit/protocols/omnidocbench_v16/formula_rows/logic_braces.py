"""Braces over rows of statements, written as `cases` by one author and as a braced array by another."""

from __future__ import annotations

from dataclasses import dataclass, field

from evalkit.protocols.omnidocbench_v16.formula_rows.environments import Opening, closings, opening_at
from evalkit.protocols.omnidocbench_v16.formula_rows.row_rules import cases_read_as_braced_array
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.rules import rule
from evalkit.protocols.omnidocbench_v16.work_limits import LOGIC_BRACES, limit_met

_BEGIN = "\\begin{"
_CHARACTERS_AFTER = 200


@dataclass(slots=True)
class _Frame:
    """A stretch [cursor, end) being rewritten; `opening` and `start` are those of the environment whose body it is."""

    cursor: int
    end: int
    start: int = 0
    opening: Opening | None = None
    pieces: list[str] = field(default_factory=list)


@rule(
    stage="match",
    order=18,
    example=r"\begin{cases} a \\ \forall b \end{cases} -> \left\{ \begin{array}{l} a \\ \forall b \end{array} \right.",
)
def normalize_logic_braces(latex: str) -> str:
    r"""The formula with `cases` that list statements rewritten as a braced left-aligned array, inner ones first.

    Source: match_quick.py _normalize_logic_brace_blocks, which fails on about 1,000 nested environments. Here it is
    their work that has a limit: every level is read again by the level around it, and a formula in which this adds
    up to more than the policy's nested_characters is left as it is.
    Quirk: behind an environment that is never closed nothing is rewritten.
    """
    ends = closings(latex)
    stack = [_Frame(0, len(latex))]
    budget = POLICY.match.nested_characters
    while budget >= 0:
        frame = stack[-1]
        inner = _next_environment(latex, frame, ends)
        if inner is not None:
            stack.append(inner)
            continue
        text = "".join(frame.pieces)
        if frame.opening is None:
            return text
        stack.pop()
        budget -= len(text)
        parent = stack[-1]
        parent.pieces.append(_rewritten(latex, frame, frame.opening, text, parent.end))
        parent.cursor = frame.end + len(frame.opening.closing)
    limit_met(LOGIC_BRACES)
    return latex


def _next_environment(latex: str, frame: _Frame, ends: dict[int, int]) -> _Frame | None:
    """Copy text up to the next multi-line environment of a stretch; None, with all copied, when there is none."""
    while frame.cursor < frame.end:
        start = latex.find(_BEGIN, frame.cursor, frame.end)
        if start < 0:
            break
        opening = opening_at(latex, start)
        if opening is None:
            frame.pieces.append(latex[frame.cursor : start + len(_BEGIN)])
            frame.cursor = start + len(_BEGIN)
            continue
        end = ends.get(start, -1)
        if not 0 <= end < frame.end:
            break
        frame.pieces.append(latex[frame.cursor : start])
        return _Frame(opening.body_start, end, start, opening)
    frame.pieces.append(latex[frame.cursor : frame.end])
    frame.cursor = frame.end
    return None


def _rewritten(latex: str, frame: _Frame, opening: Opening, body: str, stretch_end: int) -> str:
    after_at = frame.end + len(opening.closing)
    after = latex[after_at : min(stretch_end, after_at + _CHARACTERS_AFTER)]
    if opening.name == "cases" and cases_read_as_braced_array(body, after):
        return "\\left\\{ \\begin{array}{l} " + body.strip() + " \\end{array} \\right."
    return latex[frame.start : opening.body_start] + body + opening.closing
