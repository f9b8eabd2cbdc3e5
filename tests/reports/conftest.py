"""Reports of made runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.stages.report import make_report
from evalkit.store import write_json
from tests.fakes.made_layout import layout_file
from tests.fakes.made_runs import SIGNATURE, MadeRun, Words, made_dataset, make_run


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Five runs over one data set: two measured ones that differ, one invalid, one emulated, one of other options.

    Three of them have layout scores.
    """
    folder = tmp_path_factory.mktemp("made")
    dataset = made_dataset(folder, 12)
    made = [
        MadeRun("good", good=0.95, words=Words("Good parser")),
        MadeRun("poor", good=0.3, seed=1, words=Words("Poor parser")),
        MadeRun("broken", good=0.7, seed=2, broken_rules=("coverage",), words=Words("Broken rules")),
        MadeRun("model", good=0.99, seed=3, emulated=True, words=Words("Emulated parser")),
        MadeRun("other", good=0.9, seed=4, signature=f"{SIGNATURE}|tables:own", words=Words("Other options")),
    ]
    runs = [make_run(folder / one.name, dataset, one) for one in made]
    for run, iou in ((runs[0], 0.9), (runs[1], 0.4), (runs[3], 0.99)):
        layout = layout_file(iou, unmapped={"stamp": 2} if iou < 0.5 else {})
        write_json(run / "evaluate" / "layout" / "layout.json", layout)
    return runs


@pytest.fixture(scope="session")
def report(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of their report."""
    return make_report(runs, tmp_path_factory.mktemp("report")).parent
