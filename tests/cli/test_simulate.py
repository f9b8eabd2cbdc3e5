"""The verb simulate from the command line: tables, JSON, curves, and mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalkit import registry
from evalkit.cli.main import main
from runners.emulator.published import Comparison

STREAMS = "datasets/mini/streams.jsonl"
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def in_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_a_grid_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--pages", STREAMS, "--bs", "4,16", "--hardware", "H100"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("simulated, not measured: recorded streams")
    assert lines[1].split()[:3] == ["deployment", "hardware", "BS"]
    assert [line.split()[0] for line in lines[2:]] == ["hpd-ar", "hpd-parsing"] * 2


def test_a_grid_as_json_is_the_same_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["simulate", "--pages", STREAMS, "--deployments", "hpd-ar,hpd-fork", "--bs", "8", "--json"]
    texts = []
    for _ in range(2):
        assert main(command) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    result = json.loads(texts[0])
    assert result["provenance"] == "simulated"
    baseline, forked = result["rows"]
    assert baseline["gain"] is None
    assert forked["gain"] == pytest.approx(forked["pps"] / baseline["pps"])
    assert forked["critical_path_steps"] < baseline["critical_path_steps"]


def test_what_a_finished_run_would_have_gained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    infer = tmp_path / "run" / "infer"
    infer.mkdir(parents=True)
    text = "# Title\n\n" + "\n\n".join(f"Paragraph {number} " + "word " * 60 for number in range(12))
    rows = [{"page_id": f"{number}.png", "text": text, "tokens": {"input": 2000, "output": 900}} for number in range(4)]
    lines = ['{"schema": "evalkit.requests", "version": 1}', *(json.dumps(row) for row in rows)]
    (infer / "requests.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert (
        main(["simulate", "--pages", str(tmp_path / "run"), "--deployments", "hpd-ar,hpd-fork", "--bs", "2", "--json"])
        == 0
    )
    result = json.loads(capsys.readouterr().out)
    assert result["estimated"] is True
    assert [row["pages"] for row in result["rows"]] == [4, 4]
    # 900 tokens one after another, or 13 regions of about 70 after a layout stream
    assert result["rows"][0]["critical_path_steps"] == pytest.approx(901, abs=15)
    assert result["rows"][1]["critical_path_steps"] < 450


def test_lengths_of_a_data_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--dataset", "mini", "--bs", "8", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["pages"], result["estimated"]) == ("truth of mini, 28 pages", True)
    assert result["rows"][1]["gain"] > 1.5


def test_curves_are_drawn_and_labelled(tmp_path: Path) -> None:
    chart = tmp_path / "curves.svg"
    assert main(["simulate", "--pages", STREAMS, "--bs", "2,8", "--plot", str(chart)]) == 0
    assert "<svg" in chart.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--deployments", "hpd-pasing"], "Did you mean 'hpd-parsing'?"),
        (["--hardware", "A801"], "unknown hardware 'A801'"),
        (["--pages", "nothing-here"], "Workloads: hpd, padoc"),
        (["--rate", "0"], "must be above 0"),
        (["--acceptance", "9.5"], "9.5 tokens a step cannot be reached with 6 draft tokens"),
    ],
)
def test_mistakes_are_explained(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--bs", "2", "--count", "3", *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--bs", "0"], ["--bs", "x"], ["--k", "-1"], ["--bs", ""]])
def test_bad_lists_are_refused(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code: int | str | None = main(["simulate", *option])
    except SystemExit as error:
        code = error.code
    assert code == 2
    assert option[0] in capsys.readouterr().err


def test_the_comparison_prints_every_column(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = Comparison("hpd_pps", 2.68, 2.68 * 1.1, "pages/s", "predicted", "a paper")
    real = registry.load
    monkeypatch.setattr(registry, "load", lambda kind, name: compare_one if name == "published" else real(kind, name))

    def compare_one(progress: object) -> list[Comparison]:
        return [row]

    assert main(["simulate", "--published"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("simulated, not measured")
    assert lines[2].split()[:5] == ["hpd_pps", "2.68", "2.948", "+10.0%", "predicted"]
    assert main(["simulate", "--published", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["relative_error"] == pytest.approx(0.1)
    assert (told["name"], told["published"], told["use"], told["provenance"]) == (
        "hpd_pps",
        2.68,
        "predicted",
        "simulated",
    )
