"""Every system's row works: its facts are sound, and those with a server give scored pages against the emulated one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from evalkit import registry
from evalkit.dataset import Dataset, load_dataset
from evalkit.page_jobs import page_jobs
from evalkit.stages.convert import convert_outputs
from evalkit.stages.evaluate import evaluate
from evalkit.stages.infer import infer
from evalkit.types import FinishState, InferSettings, Load, System
from runners.emulator.deployments import deployment
from runners.emulator.server import EmulatorServer
from runners.launchers.emulated import deployment_of, emulated_options
from runners.system_contract import problems_of
from runners.systems import load_system, system_names
from runners.two_stage.crops import crop, layout_image, png
from runners.two_stage.runner import KINDS, region_prompt
from tests.fakes.raw_answers import PAGE_ANSWERS, layout_answer

PAPER_SYSTEMS = """
hpd-parsing hpd-ar hpd-fork-only hpd-mtp-only padoc hunyuanocr-1.0 hunyuanocr-1.5 hunyuanocr-1.5-dflash hsd
glm-ocr paddleocr-vl paddleocr-vl-1.5 paddleocr-vl-1.6 mineru2.5 mineru2.5-pro mineru-pipeline deepseek-ocr
deepseek-ocr-2 unlimited-ocr dots.ocr dots.mocr qianfan-ocr firered-ocr logics-parsing-v2 youtu-parsing dolphin-v2
monkeyocr-pro-3b monkeyocr-v2 ovis2.6 ovisocr2 olmocr-2 internvl3.5-241b qwen3-vl-235b gemini-3-pro gemini-3-flash
gpt-5.2 docling marker tesseract rapid-stack liteparse"""
PAGES = ("en_article_table.png", "zh_report_harvest.png", "en_textbook_spring.png")
SYSTEMS = [load_system(name) for name in system_names()]
SERVED = [system for system in SYSTEMS if system.runner in {"openai", "two_stage"}]


def test_every_parser_of_the_papers_has_a_row() -> None:
    assert set(PAPER_SYSTEMS.split()) <= set(system_names())


@pytest.mark.parametrize("name", system_names())
def test_every_row_keeps_the_contract(name: str) -> None:
    known = {kind: registry.names(kind) for kind in ("runner", "launcher", "converter")}
    variants = {converter: registry.load("converter", converter).variants for converter in known["converter"]}
    assert problems_of(name, known, variants) == []


@pytest.mark.parametrize("system", SERVED, ids=lambda system: system.name)
def test_every_served_system_has_an_emulated_deployment(system: System) -> None:
    assert deployment(deployment_of(system)) is not None


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load_dataset("mini").select(PAGES, "mini[3]")


def answer_rows(system: System, dataset: Dataset) -> Iterator[dict[str, object]]:
    for truth in dataset.pages:
        image = dataset.image_path(truth)
        assert image is not None
        page_id = truth.page.page_id
        if system.runner == "openai":
            yield row(page_id, image.read_bytes(), PAGE_ANSWERS[system.output.converter](truth), system.request.prompt)
            continue
        with Image.open(image) as opened:
            page = opened.convert("RGB")
        seen = layout_image(page, system.request.image)
        layout, regions = layout_answer(system, truth, seen.size)
        yield row(page_id, png(seen), layout, system.request.prompt)
        for region, text in regions:
            prompt = region_prompt(system, KINDS.get(region.label, "text"))
            yield row(page_id, png(crop(page, region, system.request.image)), text, prompt)


def row(page_id: str, image: bytes, text: str, prompt: str) -> dict[str, object]:
    tokens = {"input": 1000, "output": max(len(text) // 4, 1)}
    digest = hashlib.sha256(image).hexdigest()
    return {"page_id": page_id, "image_sha256": digest, "text": text, "tokens": tokens, "prompt": prompt.strip()}


@pytest.mark.parametrize("system", SERVED, ids=lambda system: system.name)
def test_a_served_system_gives_scored_pages(system: System, dataset: Dataset, tmp_path: Path) -> None:
    book = tmp_path / "answers.jsonl"
    book.write_text("".join(json.dumps(item) + "\n" for item in answer_rows(system, dataset)), encoding="utf-8")
    with EmulatorServer(book, **emulated_options(system), speed=200.0) as server:
        settings = InferSettings(system=system, endpoints=(server.url,), load=Load(in_flight=3), timeout_s=60)
        report = infer(tmp_path, page_jobs(dataset), settings)
    assert report.states == {FinishState.OK.value: 3}
    pages = [truth.page for truth in dataset.pages]
    convert_outputs(tmp_path, pages, system.output.converter, system.output.variant)
    summary = evaluate(tmp_path, dataset, tmp_path, cdm=False, workers=1)
    values = {name: metric.page_avg for name, metric in summary.metrics.items()}
    assert values["text_edit"] is not None
    assert values["text_edit"] < 0.05
    assert values["table_teds"] is not None
    assert values["table_teds"] > 0.95
    assert values["formula_edit"] is not None
    assert values["formula_edit"] < 0.2
