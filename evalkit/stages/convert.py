"""The convert stage: raw outputs of a run, or markdown of any tool, to predictions in RUN/convert."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalkit import registry
from evalkit.converters.folder import folder_predictions
from evalkit.errors import InvalidFileError, unknown_name
from evalkit.progress import progress
from evalkit.requests_log import FILE as REQUESTS_FILE
from evalkit.requests_log import read_requests
from evalkit.store import (
    STAMP,
    is_current,
    locked,
    read_jsonl,
    sha256_file,
    sha256_json,
    write_jsonl,
    write_stamp,
    write_text,
)
from evalkit.types import BBox, Block, FinishState, Page, Prediction, RawOutput

STAGE_VERSION = 1
FOLDER = "convert"
PREDICTIONS_FILE = "predictions.jsonl"
MARKDOWN_FOLDER = "markdown"
SCHEMA = "evalkit.predictions"
VERSION = 1
WITHOUT_ANSWER = frozenset({FinishState.ERROR, FinishState.TIMEOUT})
"""States whose text, if any, is a fragment of unknown length: such a page counts as empty."""


@dataclass(frozen=True, slots=True)
class ConvertReport:
    """What the stage wrote: pages by outcome (converted, empty, failed), and why pages failed or are empty."""

    pages: int
    outcomes: Mapping[str, int]
    reasons: Mapping[str, str]


def convert_outputs(run: Path, pages: Sequence[Page], converter: str, variant: str | None = None) -> ConvertReport:
    """Convert RUN/infer/requests.jsonl with a registered converter; a stage that is current is not repeated.

    `variant` None is the converter's first. Raises UserError for unknown names and when there are no outputs.
    """
    chosen = registry.load("converter", converter)
    variant = variant or chosen.variants[0]
    if variant not in chosen.variants:
        raise unknown_name(f"variant of converter {converter}", variant, chosen.variants)
    requests = run / "infer" / REQUESTS_FILE
    outputs = {output.page_id: output for output in read_requests(requests)}
    inputs = {"requests": sha256_file(requests)}
    parameters = {"converter": converter, "variant": variant, "pages": _pages_digest(pages)}
    predictions = (_converted(chosen, outputs.get(page.page_id), page, variant) for page in pages)
    return _write(run, pages, predictions, inputs, parameters)


def convert_folder(run: Path, pages: Sequence[Page], folder: Path) -> ConvertReport:
    """Take the `<page>.md` files of a folder as the predictions of a run."""
    predictions = list(folder_predictions(folder, pages))
    inputs = {"folder": sha256_json([[item.markdown, item.reason] for item in predictions])}
    parameters = {"converter": "folder", "variant": None, "pages": _pages_digest(pages)}
    return _write(run, pages, predictions, inputs, parameters)


def read_predictions(run: Path) -> list[Prediction]:
    """The predictions of a run's convert stage, in the order of its pages."""
    path = run / FOLDER / PREDICTIONS_FILE
    return [_prediction(path, number, row) for number, row in enumerate(read_jsonl(path, SCHEMA, VERSION), start=2)]


def _converted(converter: Any, raw: RawOutput | None, page: Page, variant: str) -> Prediction:
    if raw is None:
        return Prediction(page.page_id, None, reason="not asked for: no row in the request log")
    if raw.state in WITHOUT_ANSWER:
        raw = replace(raw, text=None, reason=raw.reason or f"no output ({raw.state})")
    prediction: Prediction = converter.convert(raw, page, variant)
    return prediction


def _write(
    run: Path,
    pages: Sequence[Page],
    predictions: Iterable[Prediction],
    inputs: Mapping[str, str],
    parameters: Mapping[str, Any],
) -> ConvertReport:
    folder = run / FOLDER
    with locked(folder):
        if is_current(folder, STAGE_VERSION, inputs, parameters):
            return _report(read_predictions(run))
        for name in (STAMP, PREDICTIONS_FILE):  # cut short, the stage leaves no predictions rather than a mixture
            (folder / name).unlink(missing_ok=True)
        made: list[Prediction] = []
        with progress("convert", len(pages)) as shown:
            for page, prediction in zip(pages, predictions, strict=True):
                made.append(prediction)
                if prediction.markdown is not None:
                    write_text(_markdown_file(folder, page), _writable(prediction.markdown))
                shown.advance()
        _remove_stale(folder, pages, made)
        write_jsonl(folder / PREDICTIONS_FILE, SCHEMA, VERSION, made)
        write_stamp(folder, STAGE_VERSION, inputs, parameters)
    return _report(made)


def _markdown_file(folder: Path, page: Page) -> Path:
    return folder / MARKDOWN_FOLDER / f"{page.stem}.md"


def _remove_stale(folder: Path, pages: Sequence[Page], predictions: Sequence[Prediction]) -> None:
    """Remove markdown of an earlier conversion that this one did not write: it must never be scored."""
    kept = {
        _markdown_file(folder, page)
        for page, prediction in zip(pages, predictions, strict=True)
        if prediction.markdown is not None
    }
    for path in sorted((folder / MARKDOWN_FOLDER).rglob("*.md")):
        if path not in kept:
            path.unlink()


def _writable(text: str) -> str:
    """The text with lone surrogates, which no UTF-8 file can hold, as question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _report(predictions: Sequence[Prediction]) -> ConvertReport:
    outcomes = Counter(
        "failed" if item.markdown is None else "converted" if item.markdown.strip() else "empty" for item in predictions
    )
    reasons = {item.page_id: item.reason for item in predictions if item.reason is not None}
    return ConvertReport(len(predictions), dict(outcomes), reasons)


def _pages_digest(pages: Sequence[Page]) -> str:
    facts = [[page.page_id, page.stem, page.width_px, page.height_px] for page in pages]
    return hashlib.sha256(repr(facts).encode("utf-8", "replace")).hexdigest()


def _prediction(path: Path, number: int, row: Mapping[str, Any]) -> Prediction:
    try:
        blocks = tuple(_block(item) for item in row["blocks"])
        return Prediction(row["page_id"], row["markdown"], blocks, row["reason"])
    except (KeyError, TypeError) as error:
        raise InvalidFileError(str(path), [f"line {number}: not a prediction row ({error})"]) from error


def _block(row: Mapping[str, Any]) -> Block:
    known = dict(row)
    known["bbox"] = BBox(**known["bbox"]) if known.get("bbox") else None
    known["source"] = tuple(known["source"]) if known.get("source") else None
    known["spans"] = ()
    return Block(**known)
