"""The command line: help, unknown names, exit codes, and a start that loads nothing heavy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evalkit.cli import main as cli
from evalkit.cli.main import VERBS, main
from evalkit.errors import NotComparableError

HEAVY = {"numpy", "scipy", "pandas", "lxml", "matplotlib", "jinja2", "openai", "aiohttp", "rapidfuzz"}


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_verb_opens_with_an_example(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([verb, "--help"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.lstrip().startswith(f"example: evalkit {verb}")


def test_overview_lists_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("example: evalkit ")
    assert all(f"  {verb} " in text for verb in VERBS)


@pytest.mark.parametrize("arguments", [["--help"], ["evaluate", "--help"], ["bench", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom evalkit.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        f"print(sorted({HEAVY!r} & {{name.split('.')[0] for name in sys.modules}}))"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_an_unknown_verb_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluat"]) == 2
    assert "Did you mean 'evaluate'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"), [(NotComparableError("different data"), 3), (KeyboardInterrupt(), 130), (BrokenPipeError(), 141)]
)
def test_exit_codes(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: str) -> None:
        raise error

    monkeypatch.setattr(cli, "_parser", fail)
    monkeypatch.setattr(cli.os, "dup2", lambda *_: None)
    monkeypatch.setattr(cli.sys, "stdout", sys.__stdout__)
    assert main(["list", "metrics"]) == code
    assert "Traceback" not in capsys.readouterr().err


def test_what_servers_say_cannot_drive_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: str) -> None:
        raise NotComparableError("line 1\n\x1b[2J\x9bm\ud800 \u202eé表")

    monkeypatch.setattr(cli, "_parser", fail)
    assert main(["list", "metrics"]) == 3
    assert capsys.readouterr().err == "evalkit list: line 1\n\\x1b[2J\\x9bm\\ud800 \\u202eé表\n"


@pytest.mark.parametrize("arguments", [["list", "systems"], ["list", "nothing"], ["--help"]])
def test_a_locale_without_some_character_costs_no_verb(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "evalkit.cli.main", *arguments]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == (2 if "nothing" in arguments else 0)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("verb", "hint"), [("bench", "to go on"), ("evaluate", "to begin again")])
def test_an_interrupt_says_how_to_go_on(
    verb: str, hint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_parser", fail)
    assert main([verb]) == 130
    assert hint in capsys.readouterr().err


def run_score(tmp_path: Path, metric: str, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "pairs.jsonl"
    path.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "evalkit.cli.main", "score", metric, str(path), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_score_prints_a_line_a_pair_in_order(tmp_path: Path) -> None:
    lines = [
        {"gt": "abcd", "pred": "abcx", "extra": 1},
        {"gt": "a\u2028b", "pred": "a\u2028b"},
        {"gt": "a", "pred": None},
    ]
    done = run_score(tmp_path, "text_edit", "\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n\n")
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["value"] for line in done.stdout.splitlines()] == [0.25, 0.0, 1.0]


def test_score_reports_all_mistakes_of_a_file_at_once(tmp_path: Path) -> None:
    done = run_score(tmp_path, "text_edit", '{"gt": "a"\n[1]\n{"gt": "a", "pred": "b"}\n')
    assert done.returncode == 2
    assert "line 1: not valid JSON" in done.stderr
    assert "line 2: expected an object, found list" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("row", "message"),
    [({"gt": "a"}, "needs the keys gt and pred, has gt"), ({"gt": 1, "pred": "a"}, "gt must be text or null")],
)
def test_score_names_wrong_keys(tmp_path: Path, row: dict[str, object], message: str) -> None:
    done = run_score(tmp_path, "text_edit", json.dumps(row))
    assert done.returncode == 2
    assert message in done.stderr


def test_listing_as_json() -> None:
    command = [sys.executable, "-m", "evalkit.cli.main", "list", "metrics", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert {"text_edit", "read_order_edit"} <= {row["name"] for row in json.loads(done.stdout)}
