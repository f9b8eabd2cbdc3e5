"""A parser of one's own: the template is sound, mistakes are named in plain words, the docs page is current."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.cli.main import main
from scripts.systems_docs import PAGE, page


def fill_in(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace("owner/model", "me/mine").replace("model-name-on-the-server", "mine"), encoding="utf-8"
    )


def test_a_new_system_is_written_once_and_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["systems", "new", "my-parser"]) == 0
    assert main(["systems", "check", "my-parser"]) == 2
    assert "serve.model is still 'model-name-on-the-server', as in the template" in capsys.readouterr().out
    fill_in(tmp_path / "systems/my-parser.toml")
    assert main(["systems", "check", "my-parser"]) == 0
    assert main(["show", "my-parser"]) == 0
    assert "my-parser: sound" in capsys.readouterr().out
    assert main(["systems", "new", "my-parser"]) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["../evil", "", "a/b", ".hidden", "two words", "hpd-parsing"])
def test_a_new_system_needs_a_name_of_its_own(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["systems", "new", name]) == 2
    assert repr(name) in (error := capsys.readouterr().err) or f"{name} is a built-in system" in error
    assert list(tmp_path.iterdir()) == []


CHANGES = [
    ('runner = "openai"', 'runner = "grpc"', "runner 'grpc' is not known: "),
    ('converter = "wrapped_markdown"', 'converter = "pdf"', "output.converter 'pdf' is not known: "),
    (
        'converter = "wrapped_markdown"',
        'converter = "hpd"\nvariant = "raw"',
        "output.variant 'raw' is none of official, clean",
    ),
    ('launcher = "url"', 'launcher = "k8s"', "serve.launcher 'k8s' is not known: "),
    ('paradigm = "autoregressive"', 'paradigm = "quantum"', "paradigm 'quantum' is none of "),
    ('runner = "openai"', 'runner = "openai"\nbaseline = "nobody"', "baseline 'nobody' is no system"),
    ('runner = "openai"', 'runner = "openai"\npublished = ["Nobody"]', "published 'Nobody' is in no published table"),
    ('model = "model-name-on-the-server"', "", "serve.model is missing"),
    ('runner = "openai"', 'runner = "command"\ncommand = ["ocr"]', "command needs the word {image}"),
    ('runner = "openai"', 'runner = "hosted_api"', "request.api_key_env is missing"),
    ('runner = "openai"', 'runner = "two_stage"', "serve.layout must be one of"),
    ("max_tokens = 8000", 'max_tokens = "many"', "request.max_tokens must be a whole number, not str"),
    ("max_tokens = 8000", "max_token = 8000", "request.max_token is not known here"),
]


@pytest.mark.parametrize(("before", "after", "message"), CHANGES, ids=[case[2][:30] for case in CHANGES])
def test_mistakes_are_named(
    before: str,
    after: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["systems", "new", "mine"])
    path = tmp_path / "systems" / "mine.toml"
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")
    assert main(["systems", "check", "mine"]) == 2
    assert f"  - {message}" in capsys.readouterr().out


def test_folders_of_the_user_are_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main(["systems", "new", "elsewhere", "--folder", str(tmp_path / "rows")])
    fill_in(tmp_path / "rows/elsewhere.toml")
    monkeypatch.setenv("EVALKIT_SYSTEMS", str(tmp_path / "rows"))
    assert main(["systems", "check", "elsewhere"]) == 0


def test_the_docs_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python scripts/systems_docs.py"
