"""Layout scores of a page in four modes, and their averages over a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from metrics.page_iou.boxes import Boxes, PageLayout
from metrics.page_iou.categories import OVERALL_CLASSES, LayoutClass
from metrics.page_iou.coverage import CoverageAreas, exact_areas

AreaBackend = Callable[[Boxes, Boxes, Boxes], tuple[CoverageAreas, CoverageAreas]]


class Mode(StrEnum):
    """How overlaps count (each box, or the union), and how accepted regions do (may be predicted, or are ignored)."""

    COUNTABLE_ACCEPTABLE = "countable-acceptable"
    BINARY_ACCEPTABLE = "binary-acceptable"
    COUNTABLE_IGNORE = "countable-ignore"
    BINARY_IGNORE = "binary-ignore"


HEADLINE_MODE = Mode.COUNTABLE_ACCEPTABLE


@dataclass(frozen=True, slots=True)
class ClassScore:
    """One class on one page, 0 to 1, best 1."""

    iou: float
    precision: float
    recall: float


@dataclass(frozen=True, slots=True)
class ClassAverage:
    """One class over a data set: means over its support pages, and F1 of the mean precision and recall."""

    iou: float
    f1: float
    precision: float
    recall: float
    pages: int


PageScores = Mapping[Mode, Mapping[LayoutClass, ClassScore | None]]


def score_layout(layout: PageLayout, backend: AreaBackend = exact_areas) -> PageScores:
    """Scores of a page by mode and class; None where the page has no included, accepted or predicted box of a class."""
    scores: dict[Mode, dict[LayoutClass, ClassScore | None]] = {mode: {} for mode in Mode}
    for layout_class in LayoutClass:
        include, accept, pred = layout.of_class(layout_class)
        supported = len(include) + len(accept) + len(pred) > 0
        found = _by_mode(*backend(include, accept, pred)) if supported else dict.fromkeys(Mode)
        for mode in Mode:
            scores[mode][layout_class] = found[mode]
    return scores


def _by_mode(countable: CoverageAreas, binary: CoverageAreas) -> Mapping[Mode, ClassScore | None]:
    return {
        Mode.COUNTABLE_ACCEPTABLE: _acceptable(countable),
        Mode.BINARY_ACCEPTABLE: _acceptable(binary),
        Mode.COUNTABLE_IGNORE: _ignore(countable),
        Mode.BINARY_IGNORE: _ignore(binary),
    }


def _acceptable(areas: CoverageAreas) -> ClassScore:
    """Accepted regions count as annotated as far as they are predicted, so that omitting them costs nothing.

    Source: PaDoc paper, equation 26, with min(a + b, c) = common + pardoned and max(a, c) = a + c - common.
    """
    found = areas.common + areas.pardoned
    union = areas.gt + areas.pred - areas.common
    return ClassScore(_ratio(found, union), _ratio(found, areas.pred), _ratio(found, areas.gt + areas.pardoned))


def _ignore(areas: CoverageAreas) -> ClassScore:
    """Places that only accepted regions cover leave the IoU; precision pardons what falls on accepted regions.

    Source: PaDoc paper, equations 27 and 28.
    """
    union = areas.gt + areas.pred - areas.common - areas.loose
    return ClassScore(
        _ratio(areas.common, union),
        _ratio(areas.common, areas.pred - areas.pardoned),
        _ratio(areas.common, areas.gt),
    )


_ROUNDING = 1e-12


def _ratio(part: float, whole: float) -> float:
    """part / whole, and 1 where there is nothing to cover; differences within rounding count as nothing."""
    return min(part / whole, 1.0) if whole > _ROUNDING else 1.0


def average_scores(pages: Sequence[PageScores]) -> Mapping[Mode, Mapping[str, ClassAverage | None]]:
    """Averages by mode, for each class and for `overall`, the mean of text, image, table and formula.

    A class without a support page has None, and then so has overall.
    """
    return {mode: _averages([page[mode] for page in pages]) for mode in Mode}


def _averages(pages: Sequence[Mapping[LayoutClass, ClassScore | None]]) -> dict[str, ClassAverage | None]:
    averages: dict[str, ClassAverage | None] = {
        str(layout_class): _class_average([score for page in pages if (score := page[layout_class]) is not None])
        for layout_class in LayoutClass
    }
    parts = [average for name in OVERALL_CLASSES if (average := averages[name]) is not None]
    complete = len(parts) == len(OVERALL_CLASSES)
    averages["overall"] = _overall(parts, len(pages)) if complete else None
    return averages


def _class_average(scores: Sequence[ClassScore]) -> ClassAverage | None:
    if not scores:
        return None
    precision, recall = _mean(score.precision for score in scores), _mean(score.recall for score in scores)
    total = precision + recall
    f1 = 2 * precision * recall / total if total > 0 else 0.0
    return ClassAverage(_mean(score.iou for score in scores), f1, precision, recall, len(scores))


def _overall(parts: Sequence[ClassAverage], pages: int) -> ClassAverage:
    return ClassAverage(
        _mean(part.iou for part in parts),
        _mean(part.f1 for part in parts),
        _mean(part.precision for part in parts),
        _mean(part.recall for part in parts),
        pages,
    )


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)
