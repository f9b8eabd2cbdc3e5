"""`evalkit score`: one metric over a file of pairs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

HELP = """
example: evalkit score table_teds pairs.jsonl > scores.jsonl

Scores each line {"gt": …, "pred": …} of a file with one metric and prints one JSON line each, in order: `value`,
or null with a `reason`, and what the metric knows besides. Extra keys of a line are ignored. table_teds and
table_teds_s read documents, <html><body><table>…, as the official scorer does; --normalize makes them of bare tables.
page_iou takes lines of
{"page", "width", "height", "gt": [{"category", "bbox"|"poly"}], "pred": [{"category", "bbox"}]}.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("metric", metavar="METRIC", help="a name from `evalkit list metrics`")
    parser.add_argument("pairs", metavar="PAIRS.jsonl", type=Path, help="file of pairs, - for standard input")
    parser.add_argument(
        "--normalize",
        action="store_true",
        help="put both sides through the protocol's normaliser for this metric first",
    )
    parser.add_argument("--cdm-backend", metavar="NAME", help="what computes formula_cdm (native, official)")
    parser.add_argument(
        "--workers", type=int, default=None, metavar="N", help="worker processes, where the metric uses them"
    )


def run(args: argparse.Namespace) -> int:
    """Score the file and print a line a pair."""
    from evalkit import registry
    from evalkit.pairs_file import read_rows
    from evalkit.store import dumps

    metric = registry.load("metric", args.metric)
    if args.cdm_backend is not None:
        metric = _with_backend(metric, args.cdm_backend)
    rows = read_rows(args.pairs)
    if hasattr(metric, "score_record"):
        for row in rows:
            print(dumps(metric.score_record(row)))
        return 0
    for score in _score_pairs(metric, args, rows):
        print(dumps({"value": score.value} | _reason(score) | _further(score)))
    return 0


def _with_backend(metric: Any, name: str) -> Any:
    from evalkit import registry
    from evalkit.errors import UserError

    if not hasattr(metric, "using"):
        raise UserError(f"--cdm-backend is for formula_cdm, not for {metric.name}")
    return metric.using(registry.load("cdm_backend", name))


def _reason(score: Any) -> dict[str, Any]:
    return {"reason": score.reason} if score.reason is not None else {}


def _further(score: Any) -> dict[str, Any]:
    return {key: value for key, value in score.details.items() if key not in {"value", "reason"}}


def _score_pairs(metric: Any, args: argparse.Namespace, rows: list[dict[str, Any]]) -> list[Any]:
    from evalkit.pairs_file import pairs_of
    from evalkit.progress import progress
    from evalkit.workers import worker_count

    pairs = pairs_of(args.pairs, rows, raw=args.normalize)
    if args.normalize:
        pairs = _normalized(args.metric, pairs)
    with progress(args.metric, len(pairs)) as shown:
        if hasattr(metric, "score_many"):
            return list(metric.score_many(pairs, workers=worker_count(args.workers), progress=shown.update))
        scores = []
        for gt, pred in pairs:
            scores.append(metric.score(gt, pred))
            shown.advance()
        return scores


def _normalized(metric_name: str, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    from evalkit import registry

    normalize = registry.load("normalizer", metric_name)
    return [(normalize(gt), normalize(pred)) for gt, pred in pairs]
