"""From pair scores to page values to the figures of a data set; what is absent is left out, never counted as 0."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import fsum

from evalkit.protocols.result import ScoredPair
from evalkit.types import MetricSummary

PageValues = Mapping[str, float | None]
Labels = Mapping[str, Sequence[str]]


def page_ratios(pairs: Mapping[str, Sequence[ScoredPair]], metric: str) -> dict[str, float | None]:
    """Edits over lengths of each page's pairs; None for a page of which every text is empty."""
    return {page: edit_ratio(found, metric) for page, found in pairs.items() if found}


def edit_ratio(pairs: Iterable[ScoredPair], metric: str) -> float | None:
    """Summed edits over summed lengths, None when there is no length."""
    edits = length = 0
    for pair in pairs:
        details = pair.scores[metric].details if metric in pair.scores else {}
        edits += details.get("edits", 0)
        length += details.get("length", 0)
    return edits / length if length else None


def page_means(
    pairs: Mapping[str, Sequence[ScoredPair]], metric: str, expected: Iterable[str] = ()
) -> dict[str, float | None]:
    """Mean of each page's pairs; an expected page without pairs has 0."""
    means: dict[str, float | None] = {}
    for page, found in pairs.items():
        values = [value for pair in found if (value := pair.value(metric)) is not None]
        if found:
            means[page] = mean(values)
    for page in expected:
        means.setdefault(page, 0.0)
    return means


def mean(values: Iterable[float | None]) -> float | None:
    """Mean of what is there, None when nothing is."""
    present = [value for value in values if value is not None]
    return fsum(present) / len(present) if present else None


def summarize(pairs: Iterable[ScoredPair], metric: str, pages: PageValues, *, whole: bool) -> MetricSummary:
    """One metric over a data set."""
    found = list(pairs)
    values = [value for pair in found if (value := pair.value(metric)) is not None]
    return MetricSummary(
        page_avg=mean(pages.values()),
        sample_avg=mean(values),
        whole=edit_ratio(found, metric) if whole else None,
        pages=sum(value is not None for value in pages.values()),
        samples=len(values),
        unscored=len(found) - len(values),
    )


def label_means(pages: PageValues, labels: Labels) -> dict[str, float]:
    """Mean page value of the pages that carry each label, by label."""
    grouped: dict[str, list[float]] = defaultdict(list)
    for page, value in pages.items():
        if value is not None:
            for label in dict.fromkeys(labels.get(page, ())):
                grouped[label].append(value)
    return {label: fsum(values) / len(values) for label, values in sorted(grouped.items())}


def block_label_means(
    labelled: Iterable[tuple[ScoredPair, Sequence[str]]], metric: str
) -> dict[str, tuple[float, int]]:
    """Mean of the pairs that carry each label, and how many they are, by label."""
    grouped: dict[str, list[float]] = defaultdict(list)
    for pair, labels in labelled:
        value = pair.value(metric)
        if value is not None:
            for label in dict.fromkeys(labels):
                grouped[label].append(value)
    return {label: (fsum(values) / len(values), len(values)) for label, values in sorted(grouped.items())}
