"""Runs a user's own checkout of the official evaluator on the same predictions and lists every difference."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.errors import ToolchainError, UserError
from evalkit.store import read_json, write_text

ELEMENTS = ("text_block", "display_formula", "table", "reading_order")
SAVE_NAME = "predictions_quick_match"
TOLERANCE = 1e-9
# Facts of a run, not results: worker counts, time-outs met, numbering of files.
NOT_RESULTS = frozenset({"metric_debug", "match_debug", "img_id_cdm"})
ABSENT: tuple[Any, ...] = (None, "NaN", {}, [])
LOG_LINES = 15


@dataclass(frozen=True, slots=True)
class Difference:
    """One value in which the two results differ."""

    where: str
    ours: Any
    official: Any

    def __str__(self) -> str:
        return f"{self.where}: ours {_short(self.ours)}, official {_short(self.official)}"


def run_official(
    checkout: Path,
    python: Path,
    predictions: Path,
    dataset: Path,
    scratch: Path,
    *,
    cdm: bool,
    workers: int,
    time_limits: bool = False,
) -> Path:
    """Run the checkout in a scratch folder and return the folder of its results.

    Without `time_limits` those of the official evaluator are lifted, since what they change depends on the machine.
    Raises ToolchainError with the end of its output when it fails.
    """
    program = checkout / "pdf_validation.py"
    if not program.is_file():
        raise UserError(f"{checkout}: no pdf_validation.py; expected a checkout of OmniDocBench v1.6")
    config = scratch / "end2end.json"
    linked = scratch / "predictions"
    shutil.copytree(predictions, linked, dirs_exist_ok=True)
    write_text(config, json.dumps(official_config(dataset.resolve(), linked, cdm=cdm, workers=workers), indent=2))
    environment = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    if not time_limits:
        environment["OMNIDOCBENCH_LATEX_TO_TEXT_TIMEOUT_SEC"] = "0"
    done = subprocess.run(
        [str(python), str(program.resolve()), "--config", str(config)],
        cwd=scratch,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    results = scratch / "result"
    if done.returncode or not (results / f"{SAVE_NAME}_metric_result.json").is_file():
        end = "\n".join((done.stdout + done.stderr).splitlines()[-LOG_LINES:])
        raise ToolchainError(f"the official evaluator failed (exit code {done.returncode}); its last lines:\n{end}")
    return results


def official_config(dataset: Path, predictions: Path, *, cdm: bool, workers: int) -> dict[str, Any]:
    """The configuration of an end-to-end run (YAML reads JSON)."""
    endless_s = 10**6  # the official polls in milliseconds of 32 bits: much more would overflow
    return {
        "end2end_eval": {
            "metrics": {
                "text_block": {"metric": ["Edit_dist"]},
                "display_formula": {"metric": ["Edit_dist", *(["CDM"] if cdm else [])], "cdm_workers": workers},
                "table": {"metric": ["TEDS", "Edit_dist"], "teds_workers": workers, "timeout_sec": endless_s},
                "reading_order": {"metric": ["Edit_dist"]},
            },
            "dataset": {
                "dataset_name": "end2end_dataset",
                "ground_truth": {"data_path": str(dataset)},
                "prediction": {"data_path": str(predictions)},
                "match_method": "quick_match",
                "match_workers": workers,
                "quick_match_truncated_timeout_sec": endless_s,
                "match_timeout_sec": endless_s,
            },
        }
    }


def compare_results(ours: Path, official: Path) -> list[Difference]:
    """Differences of all result files, pairs first, then metrics. `ours` is a run's evaluate/official."""
    found: list[Difference] = []
    for element in ELEMENTS:
        theirs = read_json(official / f"{SAVE_NAME}_{element}_result.json")
        found += differences(read_json(ours / f"{element}_result.json"), theirs, element)
    theirs = read_json(official / f"{SAVE_NAME}_metric_result.json")
    return [*found, *differences(read_json(ours / "metric_result.json"), theirs, "metrics")]


def differences(ours: Any, official: Any, where: str) -> Iterator[Difference]:
    """Every place in which two JSON values differ: numbers by more than 1e-9, anything else at all."""
    if isinstance(ours, Mapping) and isinstance(official, Mapping):
        for key in sorted((ours.keys() | official.keys()) - NOT_RESULTS):
            yield from differences(ours.get(key), official.get(key), f"{where}.{key}")
    elif isinstance(ours, list) and isinstance(official, list) and len(ours) == len(official):
        for index, (mine, theirs) in enumerate(zip(ours, official, strict=True)):
            yield from differences(mine, theirs, f"{where}[{_name(index, theirs)}]")
    elif not _same(ours, official):
        yield Difference(where, ours, official)


def _name(index: int, row: Any) -> str:
    """A pair is named by its page and blocks, so that it can be found."""
    if isinstance(row, Mapping) and "img_id" in row:
        return f"{row['img_id']} gt {row.get('gt_idx', row.get('gt'))}"
    return str(index)


def _same(ours: Any, official: Any) -> bool:
    if isinstance(ours, int | float) and isinstance(official, int | float):
        return abs(ours - official) <= TOLERANCE or (ours != ours and official != official)
    return bool(ours == official) or (_absent(ours) and _absent(official))


def _absent(value: Any) -> bool:
    return value in ABSENT or value != value


def _short(value: Any) -> str:
    text = f"a list of {len(value)}" if isinstance(value, list) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else text[:97] + "…"
