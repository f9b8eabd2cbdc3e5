"""The evaluate stage: predictions matched with the truth and scored under a protocol, in RUN/evaluate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from evalkit import registry
from evalkit.bench_summary import page_groups
from evalkit.collector import fewer_collections
from evalkit.dataset import Dataset
from evalkit.errors import InvalidFileError, NotComparableError, UserError
from evalkit.prediction_files import PredictionFolder, PredictionState, PredictionText
from evalkit.progress import progress, say
from evalkit.protocols.result import Figures, PageResult
from evalkit.signature import Signature
from evalkit.stages import convert as convert_stage
from evalkit.stages.layout import score_layout
from evalkit.stages.page_scoring import (
    DEFAULT_PROTOCOL,
    PageWorks,
    ScoredPage,
    convert_folder,
    page_workers,
    score_pages,
)
from evalkit.store import (
    STAMP,
    dump_line,
    is_current,
    locked,
    read_json,
    sha256_json,
    write_bytes,
    write_json,
    write_jsonl,
    write_lines,
    write_stamp,
)
from evalkit.types import GroundTruth, MetricSummary, PageScore, Summary
from evalkit.workers import worker_count

STAGE_VERSION = 1
FOLDER = "evaluate"
OFFICIAL_FOLDER = "official"


def evaluate(
    predictions: Path,
    dataset: Dataset,
    out: Path,
    *,
    cdm: bool = True,
    workers: int | None = None,
    protocol: str = DEFAULT_PROTOCOL,
    options: Mapping[str, str] | None = None,
    pool: Any = None,
) -> Summary:
    """Score a folder of `<page>.md` files (or the folder of a run) and write out/evaluate; returns the summary.

    Pages without a prediction count as empty pages. A stage that is current is not repeated. `pool` is an open
    `page_workers` of these predictions; without one they are opened here.
    """
    rules = registry.load("protocol", protocol).configured(options or {})
    texts = read_texts(predictions, dataset.pages)
    count = worker_count(workers)
    target = out / FOLDER
    inputs = {"dataset": dataset.sha256, "predictions": sha256_json([text.digest for text in texts])}
    parameters = {"protocol": protocol, "cdm": cdm, "pages": len(dataset.pages), **rules.options()}
    with locked(out), fewer_collections():
        score_layout(predictions, dataset, out)
        if is_current(target, STAGE_VERSION, inputs, parameters):
            with suppress(UserError):  # a summary that was removed or spoilt since is made again
                return read_summary(target / "summary.json")
        (target / STAMP).unlink(missing_ok=True)  # from here on the folder may hold a mixture
        with nullcontext(pool) if pool is not None else page_workers(predictions, count, protocol) as running:
            pages, crashed = score_pages(PageWorks(rules, dataset.pages, texts), running)
        results = [page.result for page in pages]
        if cdm:
            with progress("CDM", _formula_rows(results)) as bar:
                results = rules.score_formulas(results, workers=count, progress=bar.update)
        figures = rules.figures(dataset.pages, results, cdm=cdm)
        states = [
            PredictionState.CRASHED if truth.page.page_id in crashed else text.state
            for text, truth in zip(texts, dataset.pages, strict=True)
        ]
        reasons = {
            truth.page.page_id: text.reason for text, truth in zip(texts, dataset.pages, strict=True) if text.reason
        }
        summary = _summary(rules, dataset, figures, results, states, reasons | crashed)
        _write_lines(target, pages)
        _write(target, results, figures, states, page_groups(dataset), summary)
        write_stamp(target, STAGE_VERSION, inputs, parameters)
    return summary


def read_texts(predictions: Path, truths: Sequence[GroundTruth]) -> list[PredictionText]:
    """Each page's prediction, from a folder of markdown files or from the convert stage of a run.

    Raises NotComparableError for a run whose conversion is missing or was cut short.
    """
    convert = convert_folder(predictions)
    if not (convert / convert_stage.PREDICTIONS_FILE).is_file():
        if convert.is_dir() or (predictions / "infer").is_dir():
            raise NotComparableError(f"{predictions} is not converted to the end; go on with: evalkit convert RUN")
        bare = PredictionFolder(predictions)
        texts = [bare.read(truth.page) for truth in truths]
        for note in _oddities(predictions, texts, bare.others(texts), truths):
            say(f"note: {note}")
        return texts
    reasons = {found.page_id: found.reason for found in convert_stage.read_predictions(convert.parent)}
    markdown = convert / convert_stage.MARKDOWN_FOLDER
    folder = PredictionFolder(markdown) if markdown.is_dir() else None
    missing = PredictionText("", PredictionState.MISSING)
    read = [(truth, folder.read(truth.page) if folder else missing) for truth in truths]
    return [_with_reason(text, reasons.get(truth.page.page_id)) for truth, text in read]


def _oddities(
    folder: Path, texts: Sequence[PredictionText], others: Sequence[str], truths: Sequence[GroundTruth]
) -> Iterator[str]:
    """What hints at the wrong folder or data set: files of no page, and no file of any page."""
    if others:
        shown = ", ".join(others[:3]) + (" …" if len(others) > 3 else "")
        yield f"of the markdown files in {folder}, {len(others)} belong to no page and are not scored: {shown}"
    if all(text.state is PredictionState.MISSING for text in texts):
        yield f"no page has a prediction in {folder}; expected names such as {truths[0].page.stem}.md"


def _with_reason(text: PredictionText, reason: str | None) -> PredictionText:
    """A page that a run could not convert: the state that its reason begins with, else failed."""
    if text.state is not PredictionState.MISSING or reason is None:
        return text
    named = reason.split(":")[0]
    state = PredictionState(named) if named in set(PredictionState) else PredictionState.FAILED
    return replace(text, state=state, reason=reason)


def _formula_rows(results: Sequence[PageResult]) -> int:
    return sum(scored.pair.element == "display_formula" for result in results for scored in result.pairs)


def _summary(
    rules: Any,
    dataset: Dataset,
    figures: Figures,
    results: Sequence[PageResult],
    states: Sequence[PredictionState],
    reasons: Mapping[str, str],
) -> Summary:
    signature = Signature("overall", "page", rules.name, dataset.name, dataset.sha256, rules.options())
    return Summary(
        overall=figures.overall,
        pages=len(dataset.pages),
        protocol=rules.name,
        signature=str(signature),
        metrics=figures.metrics,
        groups={"page": figures.page_groups, "block": figures.block_groups},
        counts=_counts(results, states),
        details={
            "pages_by_state": _pages_by_state(results, states),
            "reasons": dict(reasons),
            "flagged_pages": _flagged(results),
            **figures.details,
        },
    )


def _counts(results: Sequence[PageResult], states: Sequence[PredictionState]) -> dict[str, int]:
    by_state = Counter(states)
    counts = {f"{state}_pages": by_state[state] for state in PredictionState}
    for result in results:
        for name, count in result.counts.items():
            counts[name] = counts.get(name, 0) + count
    return counts


def _pages_by_state(results: Sequence[PageResult], states: Sequence[PredictionState]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for result, state in zip(results, states, strict=True):
        if state != PredictionState.OK:
            found.setdefault(state, []).append(result.page_id)
    return found


def _flagged(results: Sequence[PageResult]) -> dict[str, list[str]]:
    """Pages by the counts that name pages (`…_pages`)."""
    found: dict[str, list[str]] = {}
    for result in results:
        for name, count in result.counts.items():
            if count and name.endswith("_pages"):
                found.setdefault(name, []).append(result.page_id)
    return found


def _write(
    target: Path,
    results: Sequence[PageResult],
    figures: Figures,
    states: Sequence[PredictionState],
    groups: Mapping[str, Mapping[str, str]],
    summary: Summary,
) -> None:
    write_jsonl(target / "pair_scores.jsonl", "evalkit.pair_scores", 1, _score_rows(results))
    write_jsonl(target / "page_scores.jsonl", "evalkit.page_scores", 1, _page_rows(results, figures, states, groups))
    for name, value in figures.official.items():
        _write_official(target / OFFICIAL_FOLDER / f"{name}.json", value)
    write_json(target / "summary.json", summary)


def _write_lines(target: Path, pages: Sequence[ScoredPage]) -> None:
    """What was written page by page."""
    write_lines(target / "pairs.jsonl", "evalkit.pairs", 1, chain.from_iterable(page.pair_lines for page in pages))
    for name in pages[0].official_lines if pages else ():
        lines = chain.from_iterable(page.official_lines[name] for page in pages)
        _write_rows(target / OFFICIAL_FOLDER / f"{name}.json", lines)


def _write_official(path: Path, value: Any) -> None:
    if isinstance(value, list):
        _write_rows(path, map(dump_line, value))
    else:
        write_json(path, value)


def _write_rows(path: Path, lines: Iterable[bytes]) -> None:
    """A JSON list with a line a row, which is read as easily as an indented one and written much faster."""
    write_bytes(path, b"[\n" + b",\n".join(lines) + b"\n]\n")


def _score_rows(results: Sequence[PageResult]) -> Iterator[dict[str, Any]]:
    """One row a pair, in the order of pairs.jsonl."""
    number = 0
    for result in results:
        for scored in result.pairs:
            yield {
                "pair": number,
                "page_id": result.page_id,
                "element": scored.pair.element,
                "scores": scored.scores,
            }
            number += 1


def _page_rows(
    results: Sequence[PageResult],
    figures: Figures,
    states: Sequence[PredictionState],
    groups: Mapping[str, Mapping[str, str]],
) -> Iterator[PageScore]:
    for result, state in zip(results, states, strict=True):
        values = {name: found.get(result.page_id) for name, found in figures.page_values.items()}
        yield PageScore(result.page_id, values, state, result.notes, groups.get(result.page_id, {}))


def read_summary(path: Path) -> Summary:
    """The summary of a finished stage. Raises UserError when there is none, InvalidFileError when it is broken."""
    row = read_json(path)
    try:
        return Summary(**{**row, "metrics": {name: MetricSummary(**found) for name, found in row["metrics"].items()}})
    except (TypeError, KeyError, AttributeError) as error:
        raise InvalidFileError(str(path), [f"not the summary of an evaluation ({error})"]) from error
