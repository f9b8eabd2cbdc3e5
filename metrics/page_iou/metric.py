"""PageIoU: how well predicted boxes cover the annotated ones, class by class, without matching boxes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from evalkit.types import GroundTruth, Prediction
from metrics.page_iou.boxes import BoxError, PageLayout, layout_from_blocks, layout_from_record
from metrics.page_iou.categories import MEMBERSHIP
from metrics.page_iou.scores import PageScores, average_scores, score_layout


class PageIoU:
    """Layout coverage in four modes (PaDoc paper, appendix B); higher is better."""

    name = "page_iou"
    higher_is_better = True
    membership: Mapping[str, Mapping[str, Sequence[str]]] = {
        str(name): {"include": sorted(members.include), "accept": sorted(members.accept)}
        for name, members in MEMBERSHIP.items()
    }
    """Annotated categories by class, as JSON values."""

    def score_record(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Scores of a line {page, width, height, gt, pred} as {page, scores}, or {page, reason} for mistakes in it."""
        page = record.get("page")
        try:
            return {"page": page, "scores": plain_scores(score_layout(layout_from_record(record)))}
        except BoxError as error:
            return {"page": page, "reason": str(error)}

    def score_blocks(
        self, gt: GroundTruth, prediction: Prediction | None, label_map: Mapping[str, str]
    ) -> tuple[PageScores, PageLayout]:
        """Scores of one page in records, and its layout, whose `unmapped` lists labels without a class.

        Raises BoxError for boxes that cannot be used.
        """
        layout = layout_from_blocks(gt, prediction, label_map)
        return score_layout(layout), layout

    def score_pages(
        self, pages: Iterable[tuple[GroundTruth, Prediction | None]], label_map: Mapping[str, str]
    ) -> dict[str, Any]:
        """Layout of a data set as JSON values.

        `averages` by mode and class (see average_scores), `pages` by page id, `unmapped` the predicted labels without
        a class and their boxes, `unscored` the reasons of pages whose boxes cannot be used.
        """
        found: dict[str, PageScores] = {}
        unscored: dict[str, str] = {}
        unmapped: Counter[str] = Counter()
        for gt, prediction in pages:
            try:
                found[gt.page.page_id], layout = self.score_blocks(gt, prediction, label_map)
                unmapped.update(layout.unmapped)
            except BoxError as error:
                unscored[gt.page.page_id] = str(error)
        averages = {
            str(mode): {name: None if average is None else asdict(average) for name, average in by_class.items()}
            for mode, by_class in average_scores(list(found.values())).items()
        }
        return {
            "averages": averages,
            "pages": {page_id: plain_scores(scores) for page_id, scores in found.items()},
            "unmapped": dict(sorted(unmapped.items())),
            "unscored": unscored,
        }


def plain_scores(scores: PageScores) -> dict[str, dict[str, dict[str, float] | None]]:
    """Page scores as JSON values: mode, class, then iou, precision and recall, or null without support."""
    return {
        str(mode): {
            str(layout_class): None
            if score is None
            else {"iou": score.iou, "precision": score.precision, "recall": score.recall}
            for layout_class, score in by_class.items()
        }
        for mode, by_class in scores.items()
    }


METRIC = PageIoU()
