"""`evalkit parity` against a stand-in for the official checkout, and `evalkit selfcheck`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from evalkit.api import evaluate
from evalkit.cli.main import main
from evalkit.store import write_json
from tests.protocols.official import page

TEXT = "The quick brown fox jumps over the lazy dog near the river bank."
FAKE = """
import json, pathlib, shutil, sys
config = json.load(open(sys.argv[sys.argv.index("--config") + 1]))["end2end_eval"]
assert pathlib.Path(config["dataset"]["ground_truth"]["data_path"]).is_absolute()
assert (pathlib.Path(config["dataset"]["prediction"]["data_path"]) / "p.md").is_file()
if {fails}:
    sys.exit("official traceback")
pathlib.Path("result").mkdir()
for file in pathlib.Path({answers!r}).glob("*.json"):
    text = file.read_text().replace({old!r}, {new!r})
    pathlib.Path("result/predictions_quick_match_" + file.name).write_text(text)
"""


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    blocks = [{"category_type": "text_block", "order": 1, "text": TEXT}]
    write_json(tmp_path / "gt.json", [page("p.jpg", blocks)])
    (tmp_path / "pred").mkdir()
    (tmp_path / "pred" / "p.md").write_text(TEXT.replace("fox", "cat"))
    evaluate(tmp_path / "pred", tmp_path / "gt.json", out=tmp_path / "run", cdm=False)
    (tmp_path / "official").mkdir()
    return tmp_path


def parity(
    folder: Path, *, old: str = "\0", new: str = "\0", fails: bool = False, options: tuple[str, ...] = ()
) -> int:
    program = FAKE.format(answers=str(folder / "run" / "evaluate" / "official"), old=old, new=new, fails=fails)
    (folder / "official" / "pdf_validation.py").write_text(program)
    places = ["--predictions", str(folder / "pred"), "--dataset", str(folder / "gt.json")]
    return main(["parity", "--official", str(folder / "official"), "--python", sys.executable, *places, *options])


def test_equal_results(inputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert parity(inputs) == 0
    assert capsys.readouterr().out == "equal: every pair, metric and group of 1 pages\n"


def test_a_difference_is_named_by_page_and_value(inputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert parity(inputs, old='"Edit_num": 3', new='"Edit_num": 4') == 1
    first, last = capsys.readouterr().out.splitlines()
    assert first == "text_block[p.jpg gt [0]].Edit_num: ours 3, official 4"
    assert last == "1 differences on 1 pages"


def test_differences_as_json(inputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert parity(inputs, old='"Edit_num": 3', new='"Edit_num": 4', options=("--json",)) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["equal"] is False
    assert answer["differences"] == [{"where": "text_block[p.jpg gt [0]].Edit_num", "ours": 3, "official": 4}]


def test_a_failing_checkout_is_shown_with_its_last_lines(inputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert parity(inputs, fails=True) == 3
    assert "official traceback" in capsys.readouterr().err


def test_a_folder_that_is_no_checkout(inputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["parity", "--official", str(inputs), "--python", sys.executable, "--dataset", str(inputs / "gt.json")])
        == 2
    )
    assert "no pdf_validation.py" in capsys.readouterr().err


def test_self_check_names_the_quirk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = [
        {"category_type": "text_block", "order": 1, "text": TEXT},
        {"category_type": "table", "order": 2, "html": "<table><tr><td>a</td></tr></table>"},
        {"category_type": "text_block", "order": 3, "text": "Name: ______________ of the applicant"},
    ]
    write_json(tmp_path / "gt.json", [page("p.jpg", blocks)])
    assert main(["selfcheck", "--dataset", str(tmp_path / "gt.json"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["element"], one["rule"]) for one in found] == [
        ("text_block", "clean_markdown"),
        ("reading_order", "order_pair"),
    ]
    assert "first predicted table" in found[1]["cause"]


def test_self_check_of_a_perfect_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_json(tmp_path / "gt.json", [page("p.jpg", [{"category_type": "title", "order": 1, "text": "Summary"}])])
    assert main(["selfcheck", "--dataset", str(tmp_path / "gt.json")]) == 0
    assert capsys.readouterr().out == "0 imperfect values on 0 of 1 pages\n"
