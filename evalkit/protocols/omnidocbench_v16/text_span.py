"""A second look for badly matched titles and paragraphs: is there a better run of predicted pieces nearby?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from evalkit.protocols.omnidocbench_v16.cross_category import as_text
from evalkit.protocols.omnidocbench_v16.edit import normalized_edit
from evalkit.protocols.omnidocbench_v16.formula_rows import sort_inline_last
from evalkit.protocols.omnidocbench_v16.match.pair import PairRecord
from evalkit.protocols.omnidocbench_v16.normalize.text import normalize_text, text_with_normalized_formulas
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.records import PredItem
from evalkit.protocols.omnidocbench_v16.rules import rule

TEXT = "text_all"
FORMULA = "equation_isolated"
INLINE_MATH = re.compile(r"\$[^$]+\$|\\\([^)]*\\\)")
MATH_COMMANDS = (r"\frac", r"\sum", r"\int", r"\sqrt", r"\left", r"\right")
NEARBY_TEXT = "nearby_text"


@dataclass(slots=True)
class _Pool:
    """Predicted text and formulas in the order of matching, and the normalised text of every run asked for."""

    items: list[PredItem]
    texts: list[str]
    _runs: dict[tuple[int, int], str] = field(default_factory=dict)

    def normalized_run(self, start: int, end: int) -> str:
        """Pieces start … end - 1 joined without blanks and normalised."""
        key = (start, end)
        if key not in self._runs:
            self._runs[key] = normalize_text("".join(self.texts[start:end]))
        return self._runs[key]


@dataclass(frozen=True, slots=True)
class _Run:
    """Pieces start … end - 1 as a replacement for what a pair had."""

    start: int
    end: int
    norm_pred: str
    edit: float
    away: int

    def beats(self, other: _Run) -> bool:
        """Lower distance, then fewer pieces, then nearer to what the pair had."""
        tolerance = POLICY.text_span.tie_tolerance
        if self.edit + tolerance < other.edit:
            return True
        if self.edit > other.edit + tolerance:
            return False
        return (self.end - self.start, self.away) < (other.end - other.start, other.away)


@rule(
    stage="match",
    order=61,
    example="a title at distance 0.8 whose words stand in an unused piece two lines further -> that piece",
)
def prefer_nearby_text(pairs: Sequence[PairRecord], items: Sequence[PredItem]) -> list[PairRecord]:
    """Badly matched titles and paragraphs get a much better run of unused pieces, the largest gain first.

    Source: end2end_dataset.py _maybe_apply_local_text_span_fallback.
    """
    pool = _pool(items)
    owned = [owned_pieces(pair, pool.items) for pair in pairs]
    if not pool.items:
        return list(pairs)
    owners = Counter(piece for pair, pieces in zip(pairs, owned, strict=True) if pair.gt_idx for piece in pieces)
    found: list[tuple[float, int, _Run]] = []
    for index, (pair, pieces) in enumerate(zip(pairs, owned, strict=True)):
        if not deserves_second_look(pair):
            continue
        taken = owners - Counter(pieces)
        run = _best_run(pair, pool, pieces, frozenset(taken))
        if run is not None:
            found.append((float(pair.edit) - run.edit, index, run))
    return _replaced(pairs, pool, found)


def _replaced(pairs: Sequence[PairRecord], pool: _Pool, found: list[tuple[float, int, _Run]]) -> list[PairRecord]:
    result = list(pairs)
    used: set[int] = set()
    for _, index, run in sorted(found, key=lambda one: one[0], reverse=True):
        pieces = range(run.start, run.end)
        if used.isdisjoint(pieces):
            used.update(pieces)
            result[index] = _with_run(pairs[index], pool, run)
    return result


def _with_run(pair: PairRecord, pool: _Pool, run: _Run) -> PairRecord:
    return replace(
        pair,
        pred_idx=tuple(range(run.start, run.end)),
        pred="".join(item.content for item in pool.items[run.start : run.end]),
        pred_position=pool.items[run.start].position[0],
        pred_category="text_block",
        norm_pred=run.norm_pred,
        edit=run.edit,
        rule=NEARBY_TEXT,
    )


def _pool(items: Sequence[PredItem]) -> _Pool:
    kept = [item for item in sort_inline_last(items) if item.category in (TEXT, FORMULA)]
    return _Pool(kept, [as_text(item.category, item.content) for item in kept])


@rule(
    stage="match",
    order=62,
    example="pieces 3 and 4 of the matched list -> entries 3 and 4 here, though formulas were split there",
)
def owned_pieces(pair: PairRecord, items: Sequence[PredItem]) -> list[int]:
    """The pieces that a pair has, by number, or by position where no number fits.

    Quirk: the numbers count split formula rows, the list here does not, so after a multi-line formula they point
    at later pieces.
    Source: end2end_dataset.py _match_item_pred_pool_indices.
    """
    numbered = sorted({piece for piece in pair.pred_idx if 0 <= piece < len(items)})
    if numbered:
        return numbered
    position = pair.pred_position
    if position is None:
        return []
    return [index for index, item in enumerate(items) if item.position[0] <= position <= item.position[1]]


@rule(stage="match", order=63, example="a title at distance 0.5 -> yes; a paragraph of 30 letters at 0.9 -> no")
def deserves_second_look(pair: PairRecord) -> bool:
    """Titles, and paragraphs that are long or hold math, at a large distance.

    Source: end2end_dataset.py _should_try_local_text_span_fallback.
    """
    if not pair.gt_idx or pair.gt_category not in ("title", "text_block"):
        return False
    if float(pair.edit) <= POLICY.text_span.bad_edit:
        return False
    return (
        pair.gt_category == "title" or has_math(pair.gt) or len(pair.norm_gt) >= POLICY.text_span.long_paragraph_chars
    )


@rule(stage="match", order=64, example="'the value $x$' -> True")
def has_math(text: str) -> bool:
    """Whether a text seems to hold a formula.

    Source: end2end_dataset.py _text_contains_formula_hint.
    """
    if INLINE_MATH.search(text) or any(command in text for command in MATH_COMMANDS):
        return True
    return ("^" in text or "_" in text) and ("$" in text or "\\" in text)


def _best_run(pair: PairRecord, pool: _Pool, owned: list[int], taken: frozenset[int]) -> _Run | None:
    policy = POLICY.text_span
    math = has_math(pair.gt)
    norm_gt = normalize_text(text_with_normalized_formulas(pair.gt) if math else as_text(pair.gt_category, pair.gt))
    if not norm_gt:
        return None
    limit = policy.max_edit_with_math if math else policy.max_edit
    best: _Run | None = None
    for start, end in _runs_near(pool, owned, taken, math=math):
        norm_pred = pool.normalized_run(start, end)
        if not norm_pred or _least_edit(norm_gt, norm_pred) > limit + policy.margin:
            continue
        edit = normalized_edit(norm_gt, norm_pred)
        if edit > limit + policy.margin:
            continue
        run = _Run(start, end, norm_pred, edit, abs(start - owned[0]) if owned else 0)
        if best is None or run.beats(best):
            best = run
    if best is None or best.edit > limit or best.edit >= float(pair.edit) - policy.min_gain:
        return None
    return best


def _least_edit(gt: str, pred: str) -> float:
    return abs(len(gt) - len(pred)) / max(len(gt), len(pred))


def _runs_near(pool: _Pool, owned: list[int], taken: frozenset[int], *, math: bool) -> Iterator[tuple[int, int]]:
    policy = POLICY.text_span
    allowed = (TEXT, FORMULA) if math else (TEXT,)
    first, last = 0, len(pool.items)
    if owned:
        first, last = max(0, owned[0] - policy.reach), min(last, owned[-1] + policy.reach + 1)
    span = policy.pieces_with_math if math else policy.pieces
    for start in range(first, last):
        for end in range(start + 1, min(last, start + span) + 1):
            if pool.items[end - 1].category not in allowed or end - 1 in taken:
                break
            yield start, end
