"""Environments of vendors' programs: made once from a lock file, programs found in them, failures told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evalkit.cli.main import main
from evalkit.errors import ToolchainError, UserError
from evalkit.types import System
from runners.environments import install as module
from runners.environments.install import environment_folder, install, is_ready, lock_file, program_of
from runners.system_doctor import check_system

LOCKS = sorted(path.stem for path in module.FOLDER.glob("*.txt"))


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALKIT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def empty_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "empty.txt").write_text("# nothing\n", encoding="utf-8")
    (tmp_path / "broken.txt").write_text("-r no-such-file.txt\n", encoding="utf-8")
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    return "empty"


@pytest.mark.parametrize("name", LOCKS)
def test_lock_files_pin_every_package(name: str) -> None:
    lines = [line for line in lock_file(name).read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert lines
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9._-]*==[0-9][\w.+!]*", line) for line in lines)


def test_an_environment_is_made_once_and_its_programs_are_found(empty_lock: str) -> None:
    system = System("mine", "Mine", "command", command=("python", "{image}"), environment=empty_lock)
    assert program_of(system) == "python"
    said: list[str] = []
    folder = install(empty_lock, said.append)
    assert is_ready(empty_lock)
    assert program_of(system) == str(folder / "bin" / "python")
    assert install(empty_lock, said.append) == folder
    assert len(said) == 1


def test_a_failing_install_leaves_nothing_ready(empty_lock: str) -> None:
    with pytest.raises(ToolchainError, match="the environment broken cannot be made"):
        install("broken", lambda _: None)
    assert not is_ready("broken")


def test_another_lock_file_is_another_folder(empty_lock: str) -> None:
    before = environment_folder(empty_lock)
    lock_file(empty_lock).write_text("# changed\n", encoding="utf-8")
    assert environment_folder(empty_lock) != before


def test_an_unknown_environment_lists_the_known_ones() -> None:
    with pytest.raises(UserError, match="Known: docling"):
        lock_file("nope")


def test_doctor_says_how_to_make_it() -> None:
    (check,) = check_system("docling")
    assert check.state == "missing"
    assert check.remedy == "evalkit systems install docling"


@pytest.mark.parametrize(("names", "message"), [([], "give the system"), (["tesseract"], "needs no environment")])
def test_install_names_what_is_wrong(names: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["systems", "install", *names]) == 2
    assert message in capsys.readouterr().err
