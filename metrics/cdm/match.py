"""Which token of the prediction is which token of the truth: assignment by cost, then a test of position.

Source: CDM paper (arXiv 2409.03643), with the weights, limits and quirks of the OmniDocBench 1.6 scorer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from metrics.cdm.boxes import PixelBox

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

POSITION_WEIGHT = 0.05
ORDER_WEIGHT = 0.15
SYNONYM_COST = 0.005  # tokens that look alike but are written differently
DISTANCE_LIMIT_PX = 30.0
SAMPLE_SIZE = 2
TRIALS = 500
ROUNDS = 5
SEED = 2026
_TINY = 1e-10
_TRIALS_AT_ONCE = 1 << 21  # array cells worked on at a time

_SYNONYMS = {
    **dict.fromkeys(("\\dot", "\\Dot", "\\cdot", "\\cdotp", "\\ldotp"), "."),
    **dict.fromkeys(("\\mid", "\\vert", "\\lvert", "\\rvert"), "|"),
    **dict.fromkeys(("\\Vert", "\\lVert", "\\rVert", "\\parallel"), "\\|"),
    **dict.fromkeys(("\\textlangle", "\\textless"), "<"),
    **dict.fromkeys(("\\textrangle", "\\textgreater"), ">"),
    **dict.fromkeys(("\\blackslash", "\\slash"), "/"),
    **dict.fromkeys(("\\textunderscore", "\\="), "_"),
    "\\rightarrow": "\\to",
    "\\top": "T",
    "\\Tilde": "\\tilde",
    "\\prime": "'",
    "\\ast": "*",
    "\\left<": "\\langle",
    "\\right>": "\\rangle",
    "\\lbrace": "\\{",
    "\\rbrace": "\\}",
    "\\lbrack": "[",
    "\\rbrack": "]",
    "\\leq": "\\le",
    "\\geq": "\\ge",
    "\\colon": ":",
    "\\Ddot": "\\ddot",
    "\\Bar": "\\bar",
    "\\Vec": "\\vec",
    "\\dag": "\\dagger",
    "\\ddag": "\\ddagger",
    "\\textbackslash": "n",
    "\\neg": "\\lnot",
    "\\neq": "\\not=",
}


@dataclass(frozen=True, slots=True)
class DrawnToken:
    """A token that can be seen, with its box."""

    token: str
    box: PixelBox


@dataclass(frozen=True, slots=True)
class Side:
    """The visible tokens of one formula and the size of its picture."""

    tokens: tuple[DrawnToken, ...]
    width_px: int
    height_px: int


@dataclass(frozen=True, slots=True)
class Match:
    """Token pairs that were assigned to each other, (gt index, pred index), and which of them count."""

    pairs: tuple[tuple[int, int], ...]
    hits: tuple[bool, ...]

    @property
    def hit_count(self) -> int:
        """Number of matched tokens."""
        return sum(self.hits)


def match(gt: Side, pred: Side) -> Match:
    """Match two non-empty sides."""
    from scipy.optimize import linear_sum_assignment  # half of the start-up time of a worker that only draws

    token_cost = _token_cost(gt.tokens, pred.tokens)
    cost = token_cost + POSITION_WEIGHT * _position_cost(gt, pred) + ORDER_WEIGHT * _order_cost(gt, pred)
    rows, columns = linear_sum_assignment(cost)
    source, target = _centres(gt.tokens)[rows], _centres(pred.tokens)[columns]
    hits = consistent(source, target) & (token_cost[rows, columns] != 1.0)
    pairs = tuple(zip(rows.tolist(), columns.tolist(), strict=True))
    return Match(pairs, tuple(hits.tolist()))


def look(token: str) -> str:
    """The form in which tokens that look alike are equal."""
    if token.startswith(("\\left", "\\right")) and not any(part in token for part in ("arrow", "<", ">", "harpoon")):
        token = token.replace("\\left", "").replace("\\right", "")
    if token.startswith(("\\big", "\\Big")):
        rest = token[4:]
        token = "\\" + rest.split("\\")[-1] if "\\" in rest else token[-1]
    token = _SYNONYMS.get(token, token)
    for prefix, dropped in (("\\wide", "wide"), ("\\var", "var"), ("\\string", "\\string")):
        if token.startswith(prefix):
            return token.replace(dropped, "")
    return token


# --- costs ---


def _token_cost(gt: Sequence[DrawnToken], pred: Sequence[DrawnToken]) -> Floats:
    """0 for equal tokens, SYNONYM_COST for those that look alike, 1 for others."""
    same = _equal(gt, pred, lambda token: token)
    alike = _equal(gt, pred, look)
    return np.where(same, 0.0, np.where(alike, SYNONYM_COST, 1.0))


def _equal(gt: Sequence[DrawnToken], pred: Sequence[DrawnToken], form: Callable[[str], str]) -> Flags:
    numbers: dict[str, int] = {}
    left, right = (
        np.array([numbers.setdefault(form(drawn.token), len(numbers)) for drawn in side]) for side in (gt, pred)
    )
    equal: Flags = left[:, None] == right[None, :]
    return equal


def _position_cost(gt: Side, pred: Side) -> Floats:
    """Mean distance of the four edges, each side measured in its own picture."""
    return _mean_distance(_relative_boxes(gt), _relative_boxes(pred))


def _relative_boxes(side: Side) -> Floats:
    boxes = np.array([drawn.box for drawn in side.tokens], dtype=float)
    size = np.array([side.width_px, side.height_px] * 2, dtype=float)
    relative: Floats = boxes / size
    return relative


def _order_cost(gt: Side, pred: Side) -> Floats:
    longest = max(len(gt.tokens), len(pred.tokens))
    left, right = (np.arange(len(side.tokens), dtype=float)[:, None] / longest for side in (gt, pred))
    return _mean_distance(left, right)


def _mean_distance(left: Floats, right: Floats) -> Floats:
    total: Floats = np.zeros((len(left), len(right)))
    for axis in range(left.shape[1]):
        total += np.abs(left[:, axis, None] - right[None, :, axis])
    total /= left.shape[1]
    return total


# --- positions ---


def consistent(source: Floats, target: Floats) -> Flags:
    """Which points keep their place under a shift and a change of scale: several are sought one after the other."""
    kept = np.zeros(len(source), dtype=bool)
    if len(source) <= SAMPLE_SIZE:
        return ~kept
    for _ in range(ROUNDS):
        rest = np.flatnonzero(~kept)
        if len(rest) <= SAMPLE_SIZE:
            break
        found = best_consensus(source[rest], target[rest])
        if not found.any():
            break
        kept[rest[found]] = True
    return kept


def best_consensus(source: Floats, target: Floats) -> Flags:
    """The largest set of points that one of the sampled transformations brings within the distance limit.

    Ties go to the smaller sum of distances, then to the earlier sample.
    Quirk: a transformation scales about the mean of all points, not of the sample it was estimated from.
    """
    samples = sample_table(len(source))
    chunk = max(1, _TRIALS_AT_ONCE // len(source))
    best: Flags = np.zeros(len(source), dtype=bool)
    best_count, best_sum = 0, np.inf
    for start in range(0, len(samples), chunk):
        distances = _distances(source, target, samples[start : start + chunk])
        inside = distances < DISTANCE_LIMIT_PX
        counts = inside.sum(axis=1)
        for trial in np.flatnonzero(counts >= max(best_count, 1)):
            count = int(counts[trial])
            total = float(np.sum(distances[trial][inside[trial]]))
            if count > best_count or (count == best_count and total < best_sum):
                best, best_count, best_sum = inside[trial], count, total
    return best


def _distances(source: Floats, target: Floats, samples: NDArray[np.int64]) -> Floats:
    """Distance of each point from where it should be, one row a sample."""
    from_points, to_points = source[samples], target[samples]
    from_centre, to_centre = from_points.mean(axis=1), to_points.mean(axis=1)
    from_spread = np.linalg.norm(from_points - from_centre[:, None], axis=2).mean(axis=1)
    to_spread = np.linalg.norm(to_points - to_centre[:, None], axis=2).mean(axis=1)
    scale = (to_spread / (from_spread + _TINY))[:, None, None]
    centre = source.mean(axis=0)
    moved = scale * (source - centre) + centre + (to_centre - from_centre)[:, None]
    distances: Floats = np.sqrt(np.sum((moved - target) ** 2, axis=2))
    return distances


@lru_cache(maxsize=512)
def sample_table(count: int) -> NDArray[np.int64]:
    """The point pairs that are tried for this many points, in order; always the same."""
    generator = np.random.default_rng(SEED)
    points = np.arange(count)
    table: NDArray[np.int64] = np.stack(
        [generator.choice(points, size=SAMPLE_SIZE, replace=False) for _ in range(TRIALS)]
    )
    return table


def _centres(tokens: Sequence[DrawnToken]) -> Floats:
    """Box centres as (y, x)."""
    boxes = np.array([drawn.box for drawn in tokens], dtype=float)
    return np.stack([(boxes[:, 1] + boxes[:, 3]) / 2, (boxes[:, 0] + boxes[:, 2]) / 2], axis=1)
