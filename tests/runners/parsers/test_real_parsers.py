"""The parsers that run here, on drawn pages and, when asked (EVALKIT_SLOW=1), on the 18 real pages of the study."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from evalkit.dataset import Dataset, load_dataset
from evalkit.page_jobs import page_jobs
from evalkit.stages.convert import convert_outputs
from evalkit.stages.evaluate import evaluate
from evalkit.stages.infer import infer
from evalkit.types import FinishState, InferSettings, Load, Summary
from runners.parsers.doctor import check_liteparse, check_rapid_stack, check_tesseract
from runners.systems import load_system

pytestmark = pytest.mark.ocr
CHECKS = {"tesseract": check_tesseract, "rapid-stack": check_rapid_stack, "liteparse": check_liteparse}

# Greatest text edit and order edit, least TEDS: loose, since OCR output moves with versions.
MINI = [
    ("tesseract", ("en_article_terraces.png", "en_book_ledger.png"), 0.15, 0.6, None),
    ("liteparse", ("en_book_ledger.png",), 0.6, 0.7, None),
    ("rapid-stack", ("en_report_sales.png",), 0.2, 0.6, 0.3),
]
# Floors of the study on these pages: text edit 0.186, TEDS 0.607, order 0.269 (rapid-stack), 0.367 (tesseract), 0.621.
REAL = [("tesseract", 0.38, 0.36, 0.0), ("liteparse", 0.64, 0.58, 0.12), ("rapid-stack", 0.186, 0.269, 0.607)]


def scored(name: str, dataset: Dataset, run: Path) -> Summary:
    check = CHECKS[name]()
    if check.state != "ok":
        pytest.skip(f"{name}: {check.message}. Cure: {check.remedy}")
    system = load_system(name)
    report = infer(run, page_jobs(dataset), InferSettings(system=system, load=Load(in_flight=2), timeout_s=600))
    assert report.states == {FinishState.OK.value: len(dataset.pages)}
    convert_outputs(run, [truth.page for truth in dataset.pages], system.output.converter)
    return evaluate(run, dataset, run, cdm=False, workers=1)


def value(summary: Summary, metric: str) -> float:
    found = summary.metrics[metric].page_avg
    assert found is not None
    return found


@pytest.mark.parametrize(("name", "pages", "text", "order", "teds"), MINI, ids=[case[0] for case in MINI])
def test_on_drawn_pages(
    name: str, pages: tuple[str, ...], text: float, order: float, teds: float | None, tmp_path: Path
) -> None:
    summary = scored(name, load_dataset("mini").select(pages), tmp_path)
    assert value(summary, "text_edit") < text
    assert value(summary, "read_order_edit") < order
    assert teds is None or value(summary, "table_teds") > teds
    assert (tmp_path / "evaluate" / "layout" / "layout.json").is_file()


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("EVALKIT_SLOW"), reason="takes minutes; set EVALKIT_SLOW=1")
@pytest.mark.parametrize(("name", "text", "order", "teds"), REAL, ids=[case[0] for case in REAL])
def test_on_real_pages(name: str, text: float, order: float, teds: float, shared: Path, tmp_path: Path) -> None:
    dataset = load_dataset(shared / "omnidocbench_demo" / "OmniDocBench_demo.json")
    summary = scored(name, dataset, tmp_path)
    assert value(summary, "text_edit") <= text
    assert value(summary, "read_order_edit") <= order
    assert value(summary, "table_teds") >= teds


def test_a_missing_program_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    check = check_tesseract()
    assert check.state == "missing"
    assert "apt-get install" in (check.remedy or "")
