"""Layout coverage of annotated by predicted boxes: the PageIoU of the PaDoc paper, in its four modes."""

from metrics.page_iou.boxes import BoxError, PageLayout, check_label_map
from metrics.page_iou.categories import LayoutClass
from metrics.page_iou.metric import METRIC, PageIoU, plain_scores
from metrics.page_iou.scores import ClassAverage, ClassScore, Mode, PageScores, average_scores

__all__ = [
    "METRIC",
    "BoxError",
    "ClassAverage",
    "ClassScore",
    "LayoutClass",
    "Mode",
    "PageIoU",
    "PageLayout",
    "PageScores",
    "average_scores",
    "check_label_map",
    "plain_scores",
]
