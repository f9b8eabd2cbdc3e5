"""Reading OmniDocBench annotations: what is taken, what is noted, and every mistake at its place."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.dataset import assign_stems, load_dataset, safe_relative
from evalkit.errors import InvalidFileError, UserError
from evalkit.types import BBox, BlockKind, SpanKind

POLY = [10, 20, 110, 20, 110, 60, 10, 60]


def page(name: str = "p.jpg", **changes: Any) -> dict[str, Any]:
    return {"page_info": {"image_path": name}, "layout_dets": [], "extra": {"relation": []}} | changes


def block(**changes: Any) -> dict[str, Any]:
    return {"category_type": "text_block", "poly": POLY, "order": 1, "anno_id": 0, "text": "A"} | changes


def written(folder: Path, value: Any, name: str = "set.json") -> Path:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def problems(folder: Path, value: Any) -> tuple[str, ...]:
    with pytest.raises(InvalidFileError) as caught:
        load_dataset(written(folder, value))
    return caught.value.problems


def test_a_full_page(tmp_path: Path) -> None:
    spans = [
        {"category_type": "text_span", "poly": POLY, "text": "A"},
        {"category_type": "equation_inline", "poly": POLY, "latex": "$x$"},
    ]
    whole = {
        "page_info": {
            "image_path": "p.jpg",
            "width": 100,
            "height": 200.0,
            "page_no": 3,
            "page_attribute": {"layout": "single_column", "special_issue": ["fuzzy_scan"]},
        },
        "layout_dets": [
            block(line_with_spans=spans, merge_list=[block()], attribute={"text_language": "text_english"}, new_key=1),
            block(category_type="table", html="<table></table>", latex="x", anno_id=1, order=None, ignore=True),
        ],
        "extra": {"relation": [{"source_anno_id": 0, "target_anno_id": 1, "relation": "parent_son"}]},
    }
    dataset = load_dataset(written(tmp_path, [whole]))
    (truth,) = dataset.pages
    first, second = truth.blocks
    assert (truth.page.width_px, truth.page.height_px) == (100, 200)
    assert truth.page.attributes["special_issue"] == ["fuzzy_scan"]
    assert first.bbox == BBox(10, 20, 110, 60)
    assert [span.latex or span.text for span in first.spans] == ["A", "$x$"]
    assert first.annotation == whole["layout_dets"][0]
    assert (second.kind, second.html, second.order, second.ignore) == ("table", "<table></table>", None, True)
    assert [(item.kind, item.source_id, item.target_id) for item in truth.relations] == [("parent_son", 0, 1)]
    assert truth.annotation == whole
    assert dataset.warnings == ()


@pytest.mark.parametrize("kind", [*BlockKind])
def test_every_block_category_is_known(tmp_path: Path, kind: str) -> None:
    dataset = load_dataset(written(tmp_path, [page(layout_dets=[block(category_type=kind)])]))
    assert dataset.pages[0].blocks[0].kind == kind
    assert dataset.warnings == ()


@pytest.mark.parametrize("kind", [*SpanKind, BlockKind.EQUATION_ISOLATED])
def test_every_span_category_is_known(tmp_path: Path, kind: str) -> None:
    dets = [block(line_with_spans=[{"category_type": kind, "poly": POLY}])]
    dataset = load_dataset(written(tmp_path, [page(layout_dets=dets)]))
    assert dataset.pages[0].blocks[0].spans[0].kind == kind
    assert dataset.warnings == ()


@pytest.mark.parametrize(
    "changes",
    [{"extra": None}, {"extra": {}}, {"extra": {"relation": None}}, {"layout_dets": [{"category_type": "title"}]}],
    ids=str,
)
def test_optional_parts_may_be_missing(tmp_path: Path, changes: dict[str, Any]) -> None:
    dataset = load_dataset(written(tmp_path, [page(**changes)]))
    assert dataset.pages[0].relations == ()
    assert dataset.warnings == ()


def test_extra_may_be_missing(tmp_path: Path) -> None:
    bare = {"page_info": {"image_path": "p.jpg"}, "layout_dets": []}
    assert load_dataset(written(tmp_path, [bare])).pages[0].blocks == ()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"layout_dets": None}, "$[0].layout_dets: expected a list of blocks, found nothing"),
        ({"layout_dets": [7]}, "$[0].layout_dets[0]: expected a block object, found 7"),
        (
            {"layout_dets": [{"poly": POLY}]},
            "$[0].layout_dets[0].category_type: expected a category name, found nothing",
        ),
        ({"layout_dets": [block(poly=[1] * 7)]}, "$[0].layout_dets[0].poly: expected 8 numbers, found a list of 7"),
        ({"layout_dets": [block(poly=[True] * 8)]}, "$[0].layout_dets[0].poly: expected 8 numbers, found a list of 8"),
        (
            {"layout_dets": [block(poly=[float("nan")] * 8)]},
            "$[0].layout_dets[0].poly: expected 8 numbers, found a list of 8",
        ),
        (
            {"layout_dets": [block(poly=[10**400] * 8)]},
            "$[0].layout_dets[0].poly: expected 8 numbers, found a list of 8",
        ),
        ({"layout_dets": [block(order="2")]}, "$[0].layout_dets[0].order: expected a number or null, found '2'"),
        ({"layout_dets": [block(text=5)]}, "$[0].layout_dets[0].text: expected text, found 5"),
        (
            {"layout_dets": [block(anno_id=[1])]},
            "$[0].layout_dets[0].anno_id: expected an integer or a text, found a list of 1",
        ),
        (
            {"layout_dets": [block(attribute=[])]},
            "$[0].layout_dets[0].attribute: expected an object, found a list of 0",
        ),
        (
            {"layout_dets": [block(line_with_spans={})]},
            "$[0].layout_dets[0].line_with_spans: expected a list, found an object",
        ),
        (
            {"layout_dets": [block(line_with_spans=[{"category_type": "text_span", "poly": []}])]},
            "$[0].layout_dets[0].line_with_spans[0].poly: expected 8 numbers, found a list of 0",
        ),
        (
            {"layout_dets": [block(merge_list=[block(poly=3)])]},
            "$[0].layout_dets[0].merge_list[0].poly: expected 8 numbers, found 3",
        ),
        ({"page_info": {"image_path": ""}}, "$[0].page_info.image_path: expected the name of the page image, found ''"),
        ({"page_info": {"image_path": "\ud800.jpg"}}, "$[0].page_info.image_path: expected the name of the page image"),
        (
            {"page_info": {"image_path": "p.jpg", "width": 0}},
            "$[0].page_info.width: expected a positive number of pixels",
        ),
        ({"page_info": []}, "$[0].page_info: expected an object with image_path, found a list of 0"),
        (
            {"extra": {"relation": [{"source_anno_id": 1}]}},
            "$[0].extra.relation[0].target_anno_id: expected the anno_id",
        ),
        ({"page_info": {"image_path": "x" * 241}}, "$[0].page_info.image_path: expected a name of at most 240 bytes"),
    ],
    ids=lambda value: value[:50] if isinstance(value, str) else "",
)
def test_mistakes_name_their_place(tmp_path: Path, changes: dict[str, Any], expected: str) -> None:
    found = problems(tmp_path, [page(**changes)])
    assert any(problem.startswith(expected) for problem in found), found


def test_all_mistakes_at_once(tmp_path: Path) -> None:
    value = [page(layout_dets=[block(poly=[]), block(text=1)]), 3, {"page_info": {"image_path": "q.jpg"}}, page()]
    found = problems(tmp_path, value)
    assert [problem.partition(":")[0] for problem in found] == [
        "$[0].layout_dets[0].poly",
        "$[0].layout_dets[1].text",
        "$[1]",
        "$[2].layout_dets",
        "$[3].page_info.image_path",
    ]
    assert "also the image of $[0]" in found[-1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", r"\$: expected a list of pages, found an object"),
        ("[]", r"\$: expected at least one page"),
        ("[{]", "line 1, column 3: not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[" + "9" * 5000 + "]", "not readable JSON"),
    ],
)
def test_what_is_no_data_set(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidFileError, match=message):
        load_dataset(written(tmp_path, text))


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "set.json").write_bytes(b'[{"a": "\xff"}]')
    with pytest.raises(InvalidFileError, match="not UTF-8"):
        load_dataset(tmp_path / "set.json")


def test_oddities_are_noted_and_read(tmp_path: Path) -> None:
    dets = [block(category_type="hologram"), block(ignore="yes"), block(line_with_spans=[{"category_type": "glyph"}])]
    value = page(
        layout_dets=dets, extra={"relation": [{"source_anno_id": 0, "target_anno_id": 9, "relation_type": "near"}]}
    )
    dataset = load_dataset(written(tmp_path, [value]))
    assert [item.kind for item in dataset.pages[0].blocks] == ["hologram", "text_block", "text_block"]
    assert dataset.pages[0].blocks[1].ignore
    text = "\n".join(dataset.warnings)
    for part in (
        "unknown category 'hologram'",
        "true or false",
        "unknown span category",
        "used twice",
        "anno_id 9",
        "'near'",
    ):
        assert part in text


def test_byte_order_mark_and_locale(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps([page("页.jpg")], ensure_ascii=False).encode())
    code = f"from evalkit.dataset import load_dataset; print(ascii(load_dataset({str(path)!r}).pages[0].page.page_id))"
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ascii("页.jpg")


@pytest.mark.parametrize(
    ("names", "stems"),
    [
        (["p.jpg", "q.PNG", "r.webp"], ["p", "q", "r"]),
        (["a/p.jpg", "b/p.jpg", "b/q.jpg"], ["a/p", "b/p", "q"]),
        (["p.jpg", "p.png"], ["p.jpg", "p.png"]),
        (["p.jpg", "a/p.jpg"], ["p", "a/p"]),
        (["p.jpg", "P.JPG"], ["p.jpg", "P.JPG~2"]),
        (["x.pdf_7.jpg"], ["x.pdf_7"]),
        (["no extension", "v1.5"], ["no extension", "v1.5"]),
        (["../../p.jpg", "/p.jpg"], ["p.jpg", "p.jpg~2"]),
        (["..", "."], ["page", "page~2"]),
        ([".jpg"], [".jpg"]),
    ],
    ids=str,
)
def test_stems(names: list[str], stems: list[str]) -> None:
    assert assign_stems(names) == stems


@given(st.lists(st.text(alphabet="abP./\\~2", min_size=1).map(lambda name: name + ".jpg"), unique=True))
def test_stems_are_unique_and_stay_inside(names: list[str]) -> None:
    stems = assign_stems(names)
    assert len({stem.casefold() for stem in stems}) == len(names)
    assert all(".." not in Path(stem).parts and not Path(stem).is_absolute() for stem in stems)
    assert all(not safe_relative(name).is_absolute() for name in names)


@pytest.mark.parametrize(
    ("named", "file"),
    [
        ("p.jpg", "p.jpg"),
        ("p.jpg", "p.JPG"),
        ("P.JPEG", "p.jpeg"),
        ("p.jpg", "p.png"),
        ("folder/p.jpg", "p.jpg"),
        ("folder/p.jpg", "folder/p.jpg"),
        ("/elsewhere/p.jpg", "p.jpg"),
        ("页.jpg", "页.webp"),
    ],
)
def test_images_are_found(tmp_path: Path, named: str, file: str) -> None:
    image = tmp_path / "images" / file
    image.parent.mkdir(parents=True)
    image.write_bytes(b"x")
    dataset = load_dataset(written(tmp_path, [page(named)]))
    assert dataset.image_path(dataset.pages[0]) == image


def test_images_elsewhere_or_nowhere(tmp_path: Path) -> None:
    (tmp_path / "p.jpg").write_bytes(b"outside")
    inner = tmp_path / "set" / "images"
    inner.mkdir(parents=True)
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "q.jpg").write_bytes(b"x")
    path = written(tmp_path / "set", [page("../../p.jpg"), page("q.jpg")])
    dataset = load_dataset(path, images=tmp_path / "pictures")
    assert dataset.image_path("../../p.jpg") is None
    assert dataset.image_path("q.jpg") == tmp_path / "pictures" / "q.jpg"
    with pytest.raises(UserError, match="no such image folder"):
        load_dataset(path, images=tmp_path / "nowhere")


def test_same_base_names_in_two_folders_have_their_own_images(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / "images" / folder).mkdir(parents=True)
        (tmp_path / "images" / folder / "p.jpg").write_bytes(folder.encode())
    dataset = load_dataset(written(tmp_path, [page("a/p.jpg"), page("b/p.jpg")]))
    paths = [dataset.image_path(truth) for truth in dataset.pages]
    assert [path.read_bytes() for path in paths if path] == [b"a", b"b"]


def test_folder_with_one_json(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no JSON file"):
        load_dataset(tmp_path)
    written(tmp_path, [page()])
    assert load_dataset(tmp_path).name == "set"
    written(tmp_path, [page()], "other.json")
    with pytest.raises(UserError, match=r"more than one JSON file \(other.json, set.json\)"):
        load_dataset(tmp_path)
    written(tmp_path, [page()], "OmniDocBench.json")
    assert load_dataset(tmp_path).name == "OmniDocBench"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("minni", "Did you mean 'mini'"),
        ("nowhere/set.json", "no such file or folder"),
        ("mini:hardest", "unknown subset of mini 'hardest'. Did you mean 'hard'"),
        ("omnidocbench-1.6", "evalkit datasets pull omnidocbench-1.6"),
    ],
)
def test_unknown_sources(source: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALKIT_CACHE", str(tmp_path))
    with pytest.raises(UserError, match=message):
        load_dataset(source)


def test_a_name_wins_over_a_folder_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mini").mkdir()
    written(tmp_path / "mini", [page()])
    monkeypatch.chdir(tmp_path)
    assert len(load_dataset("mini").pages) == 28
    assert len(load_dataset("./mini").pages) == 1
    assert len(load_dataset(Path("mini")).pages) == 1


def test_own_manifest_by_path(tmp_path: Path) -> None:
    written(tmp_path, [page()])
    (tmp_path / "own.toml").write_text('folder = "."\nannotations = "set.json"\n', encoding="utf-8")
    assert load_dataset(tmp_path / "own.toml").name == "own"


def test_select_keeps_order(tmp_path: Path) -> None:
    dataset = load_dataset(written(tmp_path, [page(f"{name}.jpg") for name in "abc"]))
    chosen = dataset.select(["c.jpg", "a.jpg"])
    assert [truth.page.page_id for truth in chosen.pages] == ["a.jpg", "c.jpg"]
    assert len(dataset.pages) == 3


@pytest.mark.shared
def test_the_real_demo_pages(shared: Path) -> None:
    dataset = load_dataset(shared / "omnidocbench_demo")
    assert len(dataset.pages) == 18
    assert dataset.warnings == ()
    assert sum(len(truth.blocks) for truth in dataset.pages) == 374
    assert sum(len(truth.relations) for truth in dataset.pages) == 26
    assert all(dataset.image_path(truth) for truth in dataset.pages)


@pytest.mark.shared
def test_page_cases_are_data_sets(shared: Path, tmp_path: Path) -> None:
    cases = [json.loads(line) for line in (shared / "cases" / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
    read = 0
    for case in cases:
        if not isinstance(case["gt"], list) or not isinstance(case["gt"][0], dict) or "file" not in case["gt"][0]:
            continue
        value = [
            page(item["file"], layout_dets=item["blocks"], extra={"relation": item["relation"]}) for item in case["gt"]
        ]
        dataset = load_dataset(written(tmp_path, value))
        assert len({truth.page.stem for truth in dataset.pages}) == len(case["gt"]), case["id"]
        read += 1
    assert read > 30
