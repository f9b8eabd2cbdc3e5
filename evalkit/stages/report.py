"""The report stage: intervals and published rows put beside the runs' own files, and handed to the site builder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit import registry
from evalkit.comparison import Comparison
from evalkit.errors import EvalkitError, UserError
from evalkit.protocols.omnidocbench_v16.cdm_text import CdmTexts, as_rendered
from evalkit.ranking import Standing, standings
from evalkit.store import read_json, read_jsonl, to_plain
from evalkit.types import PageScore, Provenance

FOLDER = "report"
MOST_PICTURES = 200
RUN_FILES = ("evaluate/summary.json", "bench/summary.json", "problem.json")


def make_report(runs: Sequence[Path], out: Path, *, worst_pages: int | None = None) -> Path:
    """Write the HTML report of some runs and return its first page. Raises UserError when no run can be shown."""
    page: Path = registry.load("report", "builder")(
        runs,
        out,
        standings=standings_of(runs),
        published=published_rows(),
        worst_pages=worst_pages,
        picture=FormulaPictures(MOST_PICTURES),
    )
    return page


def serve_report(runs: Sequence[Path], port: int = 0) -> None:
    """Serve the report of some runs on the loopback address until interrupted; its URL goes to stdout."""
    registry.load("report", "server")(
        runs,
        port,
        standings=standings_of(runs),
        published=published_rows(),
        announce=lambda url: print(url, flush=True),
        picture=FormulaPictures(),
    )


def write_comparison(found: Comparison, sides: Sequence[Path], out: Path) -> Path:
    """Write the page of a comparison and return it. Sides that are run folders get views of the pages that moved."""
    folders = [side for side in sides if side.is_dir()]
    page: Path = registry.load("report", "comparison")(to_plain(found), out, folders, FormulaPictures(MOST_PICTURES))
    return page


class FormulaPictures:
    """Draws what CDM compared of an imperfect pair, up to a number of pictures; None for others and without TeX."""

    def __init__(self, most: int | None = None) -> None:
        self._left = most

    def __call__(self, pair: Mapping[str, Any], score: Mapping[str, Any]) -> str | None:
        """SVG of a pair of evaluate/pairs.jsonl with its row of pair_scores.jsonl."""
        texts = (pair.get("details") or {}).get("cdm")
        scored = (score.get("scores") or {}).get("formula_cdm") or {}
        matched = pair.get("gt_idx") and pair.get("pred_idx")
        if self._left == 0 or not texts or not matched or scored.get("value") in (None, 1.0):
            return None
        rendered = as_rendered(CdmTexts(**texts))
        better = (scored.get("details") or {}).get("alternative")
        pred = rendered.pred_alternative if better and rendered.pred_alternative else rendered.pred
        try:
            svg: str = registry.load("metric", "formula_cdm").svg(rendered.gt, pred)
        except EvalkitError:
            self._left = 0
            return None
        self._left = None if self._left is None else self._left - 1
        return svg


def published_rows() -> Mapping[str, list[dict[str, Any]]]:
    """Published results as plain rows: `scores` a row a system, `speed` and `layout` a row a figure."""
    rows: Mapping[str, list[dict[str, Any]]] = registry.load("catalog", "published_rows")()
    return {**rows, "layout": registry.load("catalog", "published_layout")()}


def standings_of(runs: Sequence[Path]) -> dict[Path, Standing]:
    """Standing of every evaluated run among those of the same signature; runs that cannot be read have none."""
    groups: dict[tuple[str, bool], dict[Path, list[PageScore]]] = {}
    for run in runs:
        try:
            signature, emulated, pages = _scores(run)
        except (EvalkitError, TypeError, AttributeError):
            continue
        groups.setdefault((signature, emulated), {})[run] = pages
    found: dict[Path, Standing] = {}
    for members in groups.values():
        by_name = standings({str(run): pages for run, pages in members.items()})
        found |= {run: by_name[str(run)] for run in members}
    return found


def _scores(run: Path) -> tuple[str, bool, list[PageScore]]:
    summary = read_json(run / "evaluate" / "summary.json")
    record = read_json(run / "run.json") if (run / "run.json").exists() else {}
    rows = read_jsonl(run / "evaluate" / "page_scores.jsonl", "evalkit.page_scores", 1)
    pages = [PageScore(row["page_id"], row["values"], groups=row.get("groups") or {}) for row in rows]
    return str(summary.get("signature")), bool(record.get("emulated")) or _answered_by_a_model(run), pages


def _answered_by_a_model(run: Path) -> bool:
    """Whether the server told of itself that it is emulated, as one given by its address does."""
    figures = run / "bench" / "summary.json"
    return figures.exists() and read_json(figures).get("provenance") == Provenance.EMULATED


def find_runs(paths: Sequence[Path]) -> list[Path]:
    """The run folders among or one level below some folders. Raises UserError for a path that holds none."""
    found: list[Path] = []
    problems: list[str] = []
    for path in paths:
        below = [path] if _is_run(path) else sorted(child for child in _children(path) if _is_run(child))
        found += below
        if not below:
            problems.append(f"{path}: neither a run folder nor a folder of runs")
    if problems:
        raise UserError("\n".join([*problems, "A run folder holds evaluate/summary.json or bench/summary.json"]))
    return list(dict.fromkeys(run.absolute() for run in found))


def _is_run(path: Path) -> bool:
    return any((path / name).is_file() for name in RUN_FILES)


def _children(path: Path) -> list[Path]:
    return [child for child in path.iterdir() if child.is_dir()] if path.is_dir() else []
