"""`evalkit infer` and `evalkit serve SYSTEM` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalkit.cli.main import main
from tests.fakes.chat_server import Answer, FakeChatServer, serving


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> FakeChatServer:
    # pages of a data set are real images: the fake server then knows them all by one name
    monkeypatch.setattr("tests.fakes.chat_server.page_of", lambda request: "page")
    answer = Answer(chunks=("<BLOCK>text [0, 0, 9, 9]<CHILD>a",))
    return FakeChatServer(lambda page_id: answer, model="HPD-Parsing", version="0.17.1+hpdparsing")


def infer(run: Path, url: str, *options: str) -> int:
    words = ["infer", str(run), "--system", "hpd-ar", "--dataset", "mini", "--endpoint", url, "--limit", "3"]
    return main([*words, *options])


def test_pages_are_answered_and_said(
    tmp_path: Path, server: FakeChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(server):
        assert infer(tmp_path / "run", server.url, "--json") == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["run"], told["pages"], told["states"], told["missing"]) == (
            str(tmp_path / "run"),
            3,
            {"ok": 3},
            0,
        )
        assert told["provenance"] == "measured"
        assert told["figures"]["pps"] > 0
        assert len(server.requests) == 2 + 1 + 3 + 3  # warm-up, the largest page, the pages, and all of them alone
        assert infer(tmp_path / "run", server.url) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == f"{tmp_path}/run/infer: 3 pages: 3 ok"
        assert lines[1].split()[0] == "pps"
        assert (tmp_path / "run/bench/summary.json").exists()
        assert len(server.requests) == 9


def test_several_loads_are_compared(tmp_path: Path, server: FakeChatServer, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(server):
        assert infer(tmp_path / "run", server.url, "--bs", "2,1") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["bs", "pps", "pps_full"]
    assert [line.split()[0] for line in lines[1:]] == ["1", "2", "bs:"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--bs", "many"), "--bs many: expected a number"),
        (("--bs", "0"), "--bs 0: must be 1 or more"),
        (("--arrivals", "poisson"), "poisson arrivals need a rate above 0"),
    ],
)
def test_mistakes_are_said_in_a_sentence(
    tmp_path: Path,
    server: FakeChatServer,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    message: str,
) -> None:
    with serving(server):
        assert infer(tmp_path / "run", server.url, *options) == 2
    assert message in capsys.readouterr().err
    assert server.requests == []


def test_no_server_is_said_with_the_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert infer(tmp_path / "run", "http://127.0.0.1:9") == 2
    assert "evalkit serve SYSTEM" in capsys.readouterr().err


def test_a_dry_run_of_serve_starts_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["serve", "hpd-parsing", "--launcher", "wheel", "--cache", str(tmp_path), "--port", "8118", "--dry-run"]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith(f"{tmp_path}/engines/")
    assert " --port 8118 " in lines[-1]
    assert list(tmp_path.iterdir()) == []


def test_serve_names_the_known_systems(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "hpd-parsin"]) == 2
    assert "Did you mean 'hpd-parsing'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("baseline", "reason"), [("nowhere", "it has no answers"), ("base", "2 in flight and 3 in flight are different")]
)
def test_a_baseline_that_cannot_serve_is_refused_before_the_drive(
    baseline: str, reason: str, tmp_path: Path, server: FakeChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(server):
        assert infer(tmp_path / "base", server.url, "--bs", "2") == 0
        asked = len(server.requests)
        assert infer(tmp_path / "run", server.url, "--bs", "3", "--baseline", str(tmp_path / baseline)) == 2
        assert len(server.requests) == asked
        assert reason in capsys.readouterr().err
        assert infer(tmp_path / "run", server.url, "--bs", "2", "--baseline", str(tmp_path / "base")) == 0
