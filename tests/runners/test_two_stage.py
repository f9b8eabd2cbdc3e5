"""Two-stage parsers: layout grammars, crops, and whole pages against a server that answers by prompt."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from evalkit.converters.two_stage import CONVERTER
from evalkit.errors import UserError
from evalkit.types import FinishState, InferSettings, Load, Page, PageJob, RawOutput, System
from runners.systems import load_system
from runners.two_stage.crops import crop, layout_image
from runners.two_stage.layouts import Region, read_dolphin, read_labelled_boxes, read_mineru
from runners.two_stage.runner import RUNNER
from tests.fakes.prompt_server import Asked, prompt_server

MINERU = (
    "<|box_start|>88 70 900 110<|box_end|><|ref_start|>title<|ref_end|><|rotate_up|>\n"
    "<|box_start|>088 128 488 240<|box_end|><|ref_start|>text<|ref_end|><|rotate_up|>\n"
    "<|box_start|>500 128 900 240<|box_end|><|ref_start|>text<|ref_end|><|rotate_right|>txt_contd_tgt\n"
    "<|box_start|>88 260 900 400<|box_end|><|ref_start|>table<|ref_end|><|rotate_up|>\n"
    "<|box_start|>88 410 900 450<|box_end|><|ref_start|>equation<|ref_end|><|rotate_up|>\n"
    "<|box_start|>88 460 900 990<|box_end|><|ref_start|>image<|ref_end|><|rotate_up|>\n"
    "<|box_start|>88 460 1200 990<|box_end|><|ref_start|>text<|ref_end|>\n"
)


def test_mineru_layout() -> None:
    regions = read_mineru(MINERU, (1036, 1036))
    assert [region.label for region in regions] == ["title", "text", "text", "table", "equation", "image"]
    assert regions[2] == Region("text", (500, 128, 900, 240), turn=90, continues=True)


def test_dolphin_layout_is_in_px_of_the_image_seen() -> None:
    text = "[80,70,400,110][sec_0][PAIR_SEP][80, 128, 400, 240][para][PAIR_SEP][0,0,9000,10][fig][RELATION_SEP]"
    regions = read_dolphin(text, (800, 1600))
    assert regions == [Region("sec_0", (100, 43.75, 500, 68.75)), Region("para", (100, 80, 500, 150))]


def test_labelled_boxes_keep_complete_items() -> None:
    text = 'Here: [{"bbox": [0, 0, 100, 50], "label": "Text"}, {"bbox": [1, 2], "label": "x"}, {"bbox": [0, 60'
    assert read_labelled_boxes(text, (1, 1)) == [Region("Text", (0, 0, 100, 50))]


@pytest.mark.parametrize("read", [read_mineru, read_dolphin, read_labelled_boxes])
def test_layout_readers_survive_anything(read: object) -> None:
    assert callable(read)
    for text in (
        "",
        MINERU[:77],
        "[" * 100_000,
        "{" * 100_000,
        "<|box_start|>" * 20_000,
        "\x00",
        "[1,2,3,4][para]" * 9_000,
    ):
        assert len(read(text, (0, 0))) <= 500


def test_crops_are_upright_large_enough_and_not_too_long() -> None:
    page = Image.new("RGB", (1000, 2000), "white")
    assert crop(page, Region("text", (0, 0, 500, 100)), {}).size == (500, 200)
    assert crop(page, Region("text", (0, 0, 500, 100), turn=90), {}).size == (200, 500)
    assert min(crop(page, Region("text", (0, 0, 10, 1)), {"min_edge_px": 28}).size) == 28
    assert crop(page, Region("text", (0, 0, 1000, 5)), {"min_edge_px": 1, "max_aspect": 50}).size == (1000, 20)


@pytest.mark.parametrize(
    ("limits", "size"),
    [
        ({}, (1000, 2000)),
        ({"layout_width_px": 1036, "layout_height_px": 1036}, (1036, 1036)),
        ({"longest_px": 1600, "factor": 28}, (784, 1596)),
        ({"max_px": 500_000}, (500, 1000)),
    ],
)
def test_layout_image_sizes(limits: dict[str, int], size: tuple[int, int]) -> None:
    assert layout_image(Image.new("RGB", (1000, 2000)), limits).size == size


def answer(asked: Asked) -> str | int:
    kind = asked.prompt.strip()
    return {
        "Layout Detection:": MINERU,
        "Text Recognition:": f"words of {asked.size_px[0]}x{asked.size_px[1]}",
        "Table Recognition:": "<fcel>a<fcel>b<nl>",
        "Formula Recognition:": "\\[ E = 1 \\]",
    }[kind]


def jobs(tmp_path: Path, count: int = 1) -> list[PageJob]:
    found = []
    for number in range(count):
        path = tmp_path / f"{number}.png"
        Image.new("RGB", (1000, 1000), "white").save(path)
        found.append(PageJob(Page(path.name, path.stem, 1000, 1000), str(path)))
    return found


def run(system: System, url: str, pages: list[PageJob], timeout_s: float = 20) -> list[RawOutput]:
    outputs: list[RawOutput] = []
    settings = InferSettings(system=system, endpoints=(url,), load=Load(in_flight=2), timeout_s=timeout_s)
    facts = RUNNER.run(pages, settings, outputs.append)
    assert facts.mode == "server"
    return outputs


def test_a_page_is_read_region_by_region_and_merged(tmp_path: Path) -> None:
    with prompt_server(answer) as server:
        outputs = run(load_system("mineru2.5"), server.url, jobs(tmp_path, 3))
    assert [output.state for output in outputs] == [FinishState.OK] * 3
    first = outputs[0]
    assert first.tokens.output == 60  # a layout request and five regions, ten tokens each
    assert {"layout_s", "recognition_s", "merge_s"} <= first.extra.keys()
    found = CONVERTER.convert(first, jobs(tmp_path)[0].page)
    assert found.markdown == (
        "# words of 812x40\n\nwords of 400x112 words of 112x400\n\n<table><tr><td>a</td><td>b</td></tr></table>"
        "\n\n\\[\nE = 1\n\\]"
    )
    assert [block.kind for block in found.blocks] == ["title", "text", "text", "table", "equation", "image"]
    asked = {item.prompt: item for item in server.asked}
    assert asked["\nLayout Detection:"].size_px == (1036, 1036)
    assert asked["\nLayout Detection:"].body["messages"][0] == {
        "role": "system",
        "content": "You are a helpful assistant.",
    }


@pytest.mark.parametrize(
    ("fails", "state", "reason"),
    [
        ("Layout Detection:", FinishState.ERROR, "layout: http_status: 500"),
        ("Table Recognition:", FinishState.INVALID, "1 of 6 regions have no answer (http_status: 500"),
    ],
)
def test_a_failing_request_costs_its_page_only(tmp_path: Path, fails: str, state: FinishState, reason: str) -> None:
    broken: list[str] = []

    def sometimes(asked: Asked) -> str | int:
        if asked.prompt.strip() == fails and not broken:
            broken.append(fails)
            return 500
        return answer(asked)

    with prompt_server(sometimes) as server:
        outputs = run(load_system("mineru2.5"), server.url, jobs(tmp_path, 2))
    assert sorted(output.state for output in outputs) == sorted([state, FinishState.OK])
    failed = next(output for output in outputs if output.state is not FinishState.OK)
    assert (failed.reason or "").startswith(reason)


def test_a_layout_without_regions_is_no_page(tmp_path: Path) -> None:
    with prompt_server(lambda _: "nothing of the kind") as server:
        (output,) = run(load_system("mineru2.5"), server.url, jobs(tmp_path))
    assert (output.state, output.reason) == (FinishState.INVALID, "layout: no region in the answer")


def test_an_unreadable_image_costs_its_page(tmp_path: Path) -> None:
    (tmp_path / "0.png").write_bytes(b"not an image")
    job = PageJob(Page("0.png", "0", 10, 10), str(tmp_path / "0.png"))
    with prompt_server(answer) as server:
        (output,) = run(load_system("mineru2.5"), server.url, [job])
    assert output.state is FinishState.ERROR
    assert (output.reason or "").startswith("image: ")


def test_an_unknown_layout_grammar_is_a_users_mistake(tmp_path: Path) -> None:
    system = load_system("mineru2.5")
    system = replace(system, serve=replace(system.serve, details={"layout": "nope"}))
    with pytest.raises(UserError, match="one of mineru, dolphin, labelled_boxes"):
        run(system, "http://127.0.0.1:1", jobs(tmp_path))


@pytest.mark.parametrize("text", ["", "[]", '{"regions": 7}', '{"regions": [7, {"bbox": "x"}]}', "{" * 10_000])
def test_the_converter_never_raises(text: str) -> None:
    page = Page("a.png", "a", 100, 100)
    assert CONVERTER.convert(RawOutput("a.png", text, FinishState.OK), page).page_id == "a.png"


def test_cut_raw_outputs_never_raise() -> None:
    text = json.dumps(
        {"regions": [{"label": "text", "kind": "text", "bbox": [0, 0, 1, 1], "content": "中", "continues": True}]}
    )
    for end in range(len(text)):
        CONVERTER.convert(RawOutput("a.png", text[:end], FinishState.OK), Page("a.png", "a", 100, 100))


def test_pages_go_to_the_server_where_the_fewest_wait(tmp_path: Path) -> None:
    """The first server holds its page until the second has answered all others."""
    others = threading.Event()

    def waits(asked: Asked) -> str | int:
        assert others.wait(20)
        return answer(asked)

    with prompt_server(waits) as slow, prompt_server(answer) as quick:
        system = load_system("mineru2.5")
        settings = InferSettings(system=system, endpoints=(slow.url, quick.url), load=Load(in_flight=2), timeout_s=30)
        outputs: list[RawOutput] = []

        def on_result(output: RawOutput) -> None:
            outputs.append(output)
            if len(outputs) == 3:
                others.set()

        RUNNER.run(jobs(tmp_path, 4), settings, on_result)
    assert [output.extra["endpoint"] for output in outputs] == [1, 1, 1, 0]
    assert [output.state for output in outputs] == [FinishState.OK] * 4


def test_timed_arrivals_are_refused(tmp_path: Path) -> None:
    settings = InferSettings(load_system("mineru2.5"), ("http://127.0.0.1:1",), Load("poisson", rate_per_s=1.0))
    with pytest.raises(UserError, match=r"mineru2\.5 is driven in a closed loop only"):
        RUNNER.run(jobs(tmp_path), settings, lambda output: None)
