"""A folder of `<page>.md` files, written by any tool, as predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from evalkit.prediction_files import PredictionFolder, PredictionState
from evalkit.types import Page, Prediction


def folder_predictions(folder: Path, pages: Iterable[Page]) -> Iterator[Prediction]:
    """The prediction of each page; one that is missing, unreadable or too large has a reason instead of markdown."""
    files = PredictionFolder(folder)
    for page in pages:
        found = files.read(page)
        if found.state is PredictionState.OK:
            yield Prediction(page.page_id, found.markdown)
        elif found.state is PredictionState.EMPTY:
            yield Prediction(page.page_id, found.markdown, reason=f"{found.file} is empty")
        else:
            yield Prediction(page.page_id, None, reason=f"{found.state}: {found.reason or 'no prediction file'}")
