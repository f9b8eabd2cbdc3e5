"""The protocol equals the official evaluator on whole prediction sets: every figure, group and pair."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.api import evaluate
from evalkit.errors import ToolchainError
from evalkit.store import read_json
from tests.protocols.official import differences

# Facts of the official run itself.
RUN_FACTS = ("metric_debug", "match_debug")
CDM_FIELDS = ("CDM", "img_id_cdm", "pred_cdm", "gt_cdm", "pred_cdm_alt")
FILES = ("text_block_result", "display_formula_result", "table_result", "reading_order_result", "metric_result")
DEMO = ("omnidocbench_demo/OmniDocBench_demo.json", "omnidocbench_demo/predictions/{}", "golden/v16/{}")
WORKLOAD = ("golden/v16/workload198/gt.json", "golden/v16/workload198/pred", "golden/v16/workload198/official")


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "places"),
    [
        pytest.param("demo-end2end", DEMO, id="demo-end2end"),
        pytest.param("gt-markdown", DEMO, id="gt-markdown"),
        pytest.param("rapid-stack", DEMO, id="rapid-stack"),
        pytest.param("workload198", WORKLOAD, id="workload198"),
    ],
)
def test_equals_the_official_evaluator(name: str, places: tuple[str, str, str], shared: Path, tmp_path: Path) -> None:
    dataset, predictions, golden = (shared / place.format(name) for place in places)
    evaluate(predictions, dataset, out=tmp_path, cdm=False, workers=2)
    # The workload was scored without CDM, so that its formulas are as they were before it.
    compare(tmp_path, golden, RUN_FACTS if name == "workload198" else RUN_FACTS + CDM_FIELDS)


@pytest.mark.tex
@pytest.mark.shared
@pytest.mark.parametrize("name", ["demo-end2end", "gt-markdown", "rapid-stack"])
def test_equals_the_official_evaluator_with_cdm(name: str, shared: Path, tmp_path: Path) -> None:
    dataset, predictions, golden = (shared / place.format(name) for place in DEMO)
    try:
        summary = evaluate(predictions, dataset, out=tmp_path, cdm=True, workers=2)
    except ToolchainError as error:
        pytest.skip(f"no working TeX: {error}")
    compare(tmp_path, golden, RUN_FACTS)
    assert summary.overall is not None


def compare(run: Path, golden: Path, skipped: tuple[str, ...]) -> None:
    for file in FILES:
        ours = read_json(run / "evaluate" / "official" / f"{file}.json")
        assert differences(ours, read_json(golden / f"{file}.json"), skipped) == [], file
