"""Layout scores of a run whose predictions carry boxes: evaluate/layout.json, by PageIoU in its four modes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit import registry
from evalkit.dataset import Dataset
from evalkit.errors import InvalidFileError
from evalkit.page_sizes import with_image_sizes
from evalkit.run_record import FILE as RUN_FILE
from evalkit.run_record import read_run
from evalkit.signature import Signature
from evalkit.stages.convert import FOLDER as CONVERT_FOLDER
from evalkit.stages.convert import PREDICTIONS_FILE, read_predictions
from evalkit.store import is_current, read_json, sha256_file, sha256_json, write_json, write_stamp
from evalkit.types import Prediction

STAGE_VERSION = 2
FOLDER = "evaluate/layout"
METRIC = "page_iou"


def score_layout(run: Path, dataset: Dataset, out: Path) -> dict[str, Any] | None:
    """Score the boxes of a run's predictions and write out/evaluate/layout/layout.json; None without any box.

    Labels are mapped as the system's row says; labels that it does not map are listed under `unmapped`. A page
    without a prediction is an empty layout.
    """
    source = run / CONVERT_FOLDER / PREDICTIONS_FILE
    if not source.is_file():
        return None
    label_map = _label_map(run)
    inputs = {"dataset": dataset.sha256, "predictions": sha256_file(source), "labels": sha256_json(label_map)}
    parameters = {"pages": len(dataset.pages)}
    target = out / FOLDER
    if is_current(target, STAGE_VERSION, inputs, parameters):
        found: dict[str, Any] = read_json(target / "layout.json")
        return found
    predictions = read_predictions(run)
    if not _has_boxes(predictions):
        return None
    result = _scores(dataset, predictions, label_map)
    write_json(target / "layout.json", result)
    write_stamp(target, STAGE_VERSION, inputs, parameters)
    return result


def _has_boxes(predictions: Sequence[Prediction]) -> bool:
    return any(block.bbox is not None for prediction in predictions for block in prediction.blocks)


def _scores(dataset: Dataset, predictions: Sequence[Prediction], label_map: Mapping[str, str]) -> dict[str, Any]:
    by_page = {prediction.page_id: prediction for prediction in predictions}
    pages = ((truth, by_page.get(truth.page.page_id)) for truth in with_image_sizes(dataset).pages)
    metric = registry.load("metric", METRIC)
    scores: dict[str, Any] = metric.score_pages(pages, label_map)
    signature = Signature(METRIC, "page", "page_iou", dataset.name, dataset.sha256)
    return {
        "metric": METRIC,
        "signature": str(signature),
        "labels": dict(label_map),
        "membership": metric.membership,
        **scores,
    }


def _label_map(run: Path) -> dict[str, str]:
    """The label map of the run's system; {} for a run of unknown origin, whose labels are then all unmapped."""
    if not (run / RUN_FILE).is_file():
        return {}
    found = (read_run(run).system or {}).get("layout", {})
    if not isinstance(found, dict):
        raise InvalidFileError(str(run / RUN_FILE), ["system.layout must map labels to classes"])
    return {str(label): str(target) for label, target in found.items()}
