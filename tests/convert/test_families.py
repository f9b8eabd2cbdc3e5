"""Converters by family: documented formats, answers cut at every byte, and hostile input."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import registry
from evalkit.converters.element_json import Resize
from evalkit.converters.json_objects import objects_in
from evalkit.converters.otsl import otsl_to_html
from evalkit.converters.wrapped_markdown import without_endless_tail
from evalkit.types import BBox, FinishState, Page, Prediction, RawOutput

PAGE = Page("a.png", "a", width_px=1000, height_px=2000)

GROUNDING = """<|ref|>title<|/ref|><|det|>[[88, 70, 900, 110]]<|/det|>
# Rainfall

<|ref|>text<|/ref|><|det|>[[88, 128, 488, 240]]<|/det|>
Rain rose.
<|ref|>equation<|/ref|><|det|>[[120, 250, 460, 300]]<|/det|>
\\[ R = 1 \\quad (3) \\]
<|ref|>image<|/ref|><|det|>[[510, 260, 900, 520]]<|/det|>

<|ref|>table<|/ref|><|det|>[[88, 335, 488, 520]]<|/det|>
<table><tr><td>North</td><td>12.5</td></tr></table>"""
DOTS = json.dumps(
    [
        {"bbox": [120, 96, 980, 150], "category": "Title", "text": "# Rainfall by basin"},
        {"bbox": [100, 10, 200, 30], "category": "Page-header", "text": "Review"},
        {"bbox": [120, 470, 660, 700], "category": "Table", "text": "<table><tr><td>N</td></tr></table>"},
        {"bbox": [120, 710, 660, 790], "category": "Formula", "text": "R = 1"},
        {"bbox": [700, 360, 900, 720], "category": "Picture"},
    ]
)
OMNI = json.dumps(
    {
        "elements": [
            {"id": 2, "category": "text", "bbox": "<box><x_85><y_275><x_490><y_410></box>", "content": {"text": "two"}},
            {"id": 3, "category": "table", "bbox": "", "content": {"otsl": "<fcel>a<fcel>b<nl>"}},
            {"id": 1, "category": "title", "bbox": "<box><x_85><y_70><x_490><y_90></box>", "content": {"text": "one"}},
        ],
        "reading_order": [1, 2],
    }
)
HTML = (
    '<div class="title" data-bbox="88,70,900,110"><h1>Rain</h1></div><p data-bbox="88,128,488,240">a &lt; b</p>'
    '<div class="table" data-bbox="88,335,488,520"><table><tr><td>x &amp; y </td></tr></table></div>'
    '<div class="formula" data-bbox="1,2,3,4">$$E=1$$</div><div class="image" data-bbox="1,2,3,4"><img src="x"></div>'
)


def convert(name: str, text: str | None, variant: str = "official") -> Prediction:
    raw = RawOutput("a.png", text, FinishState.OK if text is not None else FinishState.ERROR, reason="no answer")
    found = registry.load("converter", name).convert(raw, PAGE, variant)
    assert isinstance(found, Prediction)
    return found


CASES = [
    (
        "grounding",
        GROUNDING,
        "# Rainfall\n\nRain rose.\n\n\\[ R = 1  \\]\n\n<table><tr><td>North</td><td>12.5</td></tr></table>",
        [("title", BBox(88 * 1000 / 999, 70 * 2000 / 999, 900 * 1000 / 999, 110 * 2000 / 999))],
    ),
    ("grounding", "No tags at all", "No tags at all", [("text", None)]),
    ("grounding", "<|ref|>Rain fell<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|> here", "Rain fellhere", []),
    ("dots_json", DOTS, "# Rainfall by basin\n\n<table><tr><td>N</td></tr></table>\n\n$$\nR = 1\n$$", []),
    ("monkey_json", "Here: [{'bbox': [0, 0, 100, 100], 'label': 'Text', 'content': 'it\\'s'}]", "it's", []),
    (
        "monkey_json",
        '{"bbox": [0, 0, 500, 500], "label": "Text", "content": "x"}',
        "x",
        [("Text", BBox(0, 0, 500, 1000))],
    ),
    (
        "youtu_omni_json",
        OMNI,
        "one\n\ntwo\n\n<table><tr><td>a</td><td>b</td></tr></table>",
        [("title", BBox(85, 70, 490, 90))],
    ),
    (
        "html_page",
        HTML,
        "# Rain\n\na < b\n\n<table><tr><td>x &amp; y</td></tr></table>\n\n$$\nE=1\n$$",
        [("title", BBox(88, 140, 900, 220))],
    ),
    ("wrapped_markdown", "<think>hm</think>\n# T", "# T", []),
    ("wrapped_markdown", "---\nprimary_language: en\nis_table: False\n---\ntext", "text", []),
    ("wrapped_markdown", "---\nno front matter", "---\nno front matter", []),
    ("wrapped_markdown", "```markdown\n# T\n```", "# T", []),
    ("wrapped_markdown", "```\ncut", "cut", []),
    ("wrapped_markdown", "a\n![image](<box>[[510, 260, 900, 520]]</box>)\n\nb", "a\n\nb", []),
    (
        "wrapped_markdown",
        'a\n\n<img src="images/bbox_1_2_3_4.jpg" />\n\nb ![in](x.png) line',
        "a\n\nb ![in](x.png) line",
        [],
    ),
]


@pytest.mark.parametrize(("name", "text", "markdown", "first_blocks"), CASES)
def test_documented_formats(name: str, text: str, markdown: str, first_blocks: list[tuple[str, BBox | None]]) -> None:
    found = convert(name, text)
    assert found.markdown == markdown
    assert [(block.kind, block.bbox) for block in found.blocks[: len(first_blocks)]] == first_blocks


@pytest.mark.parametrize("name", ["grounding", "dots_json", "html_page", "wrapped_markdown"])
def test_no_answer_keeps_its_reason(name: str) -> None:
    assert convert(name, None) == Prediction("a.png", None, reason="no answer")


def test_boxes_of_a_resized_image_come_back_to_the_page() -> None:
    box = convert("dots_json", DOTS).blocks[0].bbox
    assert box is not None
    assert box.x1 == pytest.approx(120 * 1000 / 1008)  # 1000 px wide is seen as 36 * 28 px
    assert box.y1 == pytest.approx(96 * 2000 / 1988)


@pytest.mark.parametrize(
    ("size", "seen"), [((1000, 2000), (1008, 1988)), ((10, 10), (56, 56)), ((8000, 8000), (3360, 3360))]
)
def test_resize_keeps_within_the_limits(size: tuple[int, int], seen: tuple[int, int]) -> None:
    resize = Resize(factor=28, min_px=3136, max_px=11_289_600)
    assert resize.sides(*size) == seen


@pytest.mark.parametrize(("name", "text"), [(case[0], case[1]) for case in CASES if len(case[1]) > 100])
def test_cut_at_every_character_keeps_what_came_before(name: str, text: str) -> None:
    whole = convert(name, text)
    for end in range(len(text)):
        for variant in ("official", "clean"):
            cut = convert(name, text[:end], variant)
            kinds = [block.kind for block in cut.blocks]
            if name not in {"youtu_omni_json", "grounding"}:
                assert kinds == [block.kind for block in whole.blocks][: len(kinds)]
    assert len(convert(name, text[:-1]).blocks) >= len(whole.blocks) - 1


@pytest.mark.parametrize("end", range(len(OMNI)))
def test_complete_elements_of_a_cut_object_are_kept(end: int) -> None:
    found = convert("youtu_omni_json", OMNI[:end])
    complete = OMNI[:end].count("}}") if end < len(OMNI) else 3
    assert len(found.blocks) == complete


@pytest.mark.parametrize(
    ("otsl", "html"),
    [
        ("", ""),
        ("no cells", ""),
        (
            "<fcel>a<lcel><nl><fcel>b<fcel>c<nl>",
            '<table><tr><td colspan="2">a</td></tr><tr><td>b</td><td>c</td></tr></table>',
        ),
        (
            "<fcel>a<fcel>b<nl><ucel><fcel>c<nl>",
            '<table><tr><td rowspan="2">a</td><td>b</td></tr><tr><td>c</td></tr></table>',
        ),
        (
            "<fcel>a<lcel><fcel>b<nl><ucel><xcel><fcel>c<nl>",
            '<table><tr><td colspan="2" rowspan="2">a</td><td>b</td></tr><tr><td>c</td></tr></table>',
        ),
        ("<fcel>a<fcel>b<nl><fcel>c", "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td></td></tr></table>"),
        ("<lcel><fcel>a<nl>", "<table><tr><td></td><td>a</td></tr></table>"),
        ("<ucel><fcel>a<nl>", "<table><tr><td></td><td>a</td></tr></table>"),
        ("<fcel>a < b & c<ecel><nl>", "<table><tr><td>a &lt; b &amp; c</td><td></td></tr></table>"),
    ],
)
def test_otsl(otsl: str, html: str) -> None:
    assert otsl_to_html(otsl) == html


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('[{"a": 1}, {"b": 2}, {"c"', [{"a": 1}, {"b": 2}]),
        ('{"elements": [{"a": "}"}, {"b": 2}', [{"a": "}"}, {"b": 2}]),
        ("It's {'a': 'don\\'t'}", [{"a": "don't"}]),
        ('{"a": "line\nbreak"}', [{"a": "line\nbreak"}]),
        ('{not json} {"a": 1}', [{"a": 1}]),
        ("", []),
    ],
)
def test_objects_in_an_answer(text: str, found: list[dict[str, object]]) -> None:
    assert list(objects_in(text)) == found


def test_an_endless_tail_is_cut_to_one_unit() -> None:
    start = "".join(f"line {number} " for number in range(100))
    unit = "the same again. "
    assert without_endless_tail(start + unit * 600) == start + unit
    assert without_endless_tail(start * 3) == start * 3
    assert without_endless_tail("a" * 9000) == "a"


HOSTILE = [
    "<|ref|>" * 50_000,
    "<|ref|>a<|/ref|><|det|>" * 20_000,
    "{" * 200_000,
    '{"a":' * 50_000,
    "[" * 200_000,
    "'" * 100_000,
    "<div>" * 50_000,
    "<table>" * 20_000,
    "<fcel>" * 100_000,
    "<fcel><nl>" * 1000 + "<lcel>" * 10_000,
    "![" * 100_000,
    "(1,2)" * 50_000 + "x",
    "<think>" * 50_000,
    "\\[" * 50_000,
    "---\n" * 50_000,
    "\x00\ud800" * 1000,
]
NAMES = ["grounding", "dots_json", "monkey_json", "youtu_omni_json", "element_json", "html_page", "wrapped_markdown"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:10]))
def test_hostile_answers_end_without_an_exception(name: str, text: str) -> None:
    for variant in ("official", "clean"):
        assert convert(name, text, variant).page_id == "a.png"


TOKENS = """<|ref|> <|/ref|> <|det|> <|/det|> [[1,2,3,4]] table <table> </td> <td> { } [ ] "bbox" : "text" "category"
, ' " \\ <fcel> <lcel> <ucel> <xcel> <nl> ``` --- <think> </think> <p data-bbox= > $$ 中 x (1,2)"""
tokens = st.sampled_from([*TOKENS.split(), "\n", " "])


@given(st.lists(tokens, max_size=60).map("".join), st.sampled_from(NAMES), st.sampled_from(["official", "clean"]))
def test_any_answer_becomes_a_prediction(text: str, name: str, variant: str) -> None:
    assert isinstance(convert(name, text, variant).markdown, str)
