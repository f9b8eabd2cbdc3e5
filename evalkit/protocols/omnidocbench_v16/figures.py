"""The figures of a data set under the protocol: per metric by averaging rule, by page group and by block group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalkit.aggregate import block_label_means, label_means, page_means, page_ratios, summarize
from evalkit.protocols.omnidocbench_v16.elements import DISTANCES, EXPECTED_KIND, element_metrics
from evalkit.protocols.omnidocbench_v16.gt_items import has_scored_block
from evalkit.protocols.omnidocbench_v16.labels import block_labels, page_labels
from evalkit.protocols.omnidocbench_v16.rules import rule
from evalkit.protocols.result import PageResult, ScoredPair
from evalkit.types import GroundTruth, MetricSummary


@dataclass(frozen=True, slots=True)
class ElementFigures:
    """Everything about one element. The maps are by metric; `block_groups` holds (mean, pairs) by label."""

    pairs: tuple[ScoredPair, ...]
    page_values: Mapping[str, Mapping[str, float | None]]
    summaries: Mapping[str, MetricSummary]
    page_groups: Mapping[str, Mapping[str, float]]
    block_groups: Mapping[str, Mapping[str, tuple[float, int]]]


def element_figures(
    element: str, truths: Sequence[GroundTruth], results: Sequence[PageResult], *, cdm: bool
) -> ElementFigures:
    """Figures of one element over all pages."""
    by_page = {
        result.page_id: [scored for scored in result.pairs if scored.pair.element == element] for result in results
    }
    pairs = tuple(scored for found in by_page.values() for scored in found)
    labels = {truth.page.page_id: page_labels(truth.page.attributes) for truth in truths}
    labelled = [(scored, block_labels(scored.pair.details.get("gt_attribute", []))) for scored in pairs]
    expected = expected_pages(element, truths)
    page_values: dict[str, Mapping[str, float | None]] = {}
    summaries: dict[str, MetricSummary] = {}
    for metric in element_metrics(element, cdm=cdm):
        distance = metric == DISTANCES[element]
        page_values[metric] = page_distances(by_page, metric) if distance else page_means(by_page, metric, expected)
        summaries[metric] = summarize(pairs, metric, page_values[metric], whole=distance)
    return ElementFigures(
        pairs=pairs,
        page_values=page_values,
        summaries=summaries,
        page_groups={metric: label_means(values, labels) for metric, values in page_values.items()},
        block_groups={metric: block_label_means(labelled, metric) for metric in page_values},
    )


@rule(stage="aggregate", order=1, example="pairs of 1 edit in 10 and 9 edits in 90 characters -> page value 10 / 100")
def page_distances(pairs: Mapping[str, Sequence[ScoredPair]], metric: str) -> dict[str, float | None]:
    """A page's edit distance is that of its pairs joined: all edits over all lengths.

    Source: cal_metric.py call_Edit_dist and core/metrics.py get_page_split.
    """
    return page_ratios(pairs, metric)


@rule(stage="aggregate", order=10, example="a page with a table of which nothing was matched -> TEDS 0 for the page")
def expected_pages(element: str, truths: Sequence[GroundTruth]) -> tuple[str, ...]:
    """Pages that count 0 in the page averages of TEDS and CDM when they have no pair.

    Quirk: edit distances have no such rule; a page without pairs is left out of their page average.
    Source: core/metrics.py _append_missing_page_rows.
    """
    kind = EXPECTED_KIND[element]
    if kind is None:
        return ()
    return tuple(truth.page.page_id for truth in truths if has_scored_block(truth, kind))


@rule(stage="aggregate", order=30, example="TextEdit 0.1, TEDS 0.8, CDM 0.9 -> (90 + 80 + 90) / 3 = 86.67")
def overall(text_edit: float | None, teds: float | None, cdm: float | None) -> float | None:
    """The leaderboard's figure from page averages, 0 to 100; None when a part is not scored.

    Source: runtime/eval_report.py build_notebook_metric_summary.
    """
    if text_edit is None or teds is None or cdm is None:
        return None
    return ((1.0 - text_edit) * 100.0 + cdm * 100.0 + teds * 100.0) / 3.0
