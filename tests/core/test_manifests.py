"""Manifests: where they are found, and what is wrong with a broken one."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.errors import InvalidFileError
from evalkit.manifests import (
    cache_folder,
    list_datasets,
    load_manifest,
    local_folder,
    manifest_names,
    read_manifest,
)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"EVALKIT_CACHE": "/x/cache"}, Path("/x/cache")),
        ({"XDG_CACHE_HOME": "/x"}, Path("/x/evalkit")),
        ({"HOME": "/home/me"}, Path("/home/me/.cache/evalkit")),
    ],
)
def test_cache_folder(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: Path) -> None:
    for key in ("EVALKIT_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(key, raising=False)
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    assert cache_folder() == expected


def test_built_in_manifests() -> None:
    assert {"mini", "omnidocbench-1.5", "omnidocbench-1.6"} <= set(manifest_names())
    full = load_manifest("omnidocbench-1.6")
    assert (full.pages, full.hub_id, full.sha256) == (1651, "opendatalab/OmniDocBench", None)
    assert full.subsets["hard"] == ("equation_hard", "layout_hard", "table_hard")
    assert load_manifest("omnidocbench-1.5").pages == 1355
    assert local_folder(load_manifest("mini")).name == "mini"


def test_own_manifests_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mini.toml").write_text('title = "mine"\nfolder = "data"\n', encoding="utf-8")
    monkeypatch.setenv("EVALKIT_DATASETS", str(tmp_path))
    assert load_manifest("mini").title == "mine"
    assert local_folder(load_manifest("mini")) == tmp_path / "data"


def test_all_mistakes_of_a_manifest_at_once(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(
        'pages = 0\ntitle = 3\nlicense = "x"\n[hub]\nid = 5\nrev = "x"\n[subsets]\nbase = "v1"\n', encoding="utf-8"
    )
    with pytest.raises(InvalidFileError) as caught:
        read_manifest(path)
    assert [problem.partition(":")[0] for problem in caught.value.problems] == [
        "license", "title", "pages", "hub.rev", "hub.id", "subsets.base",
    ]  # fmt: skip


@pytest.mark.parametrize(("data", "message"), [(b"= 3", "not valid TOML"), (b"\xff", "not UTF-8")])
def test_unreadable_manifests(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(data)
    with pytest.raises(InvalidFileError, match=message):
        read_manifest(path)


def test_list_shows_broken_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "zz.toml").write_text("pages = 0", encoding="utf-8")
    monkeypatch.setenv("EVALKIT_DATASETS", str(tmp_path))
    monkeypatch.setenv("EVALKIT_CACHE", str(tmp_path / "cache"))
    states = {row["name"]: row["state"] for row in list_datasets()}
    assert states["mini"] == "here"
    assert states["omnidocbench-1.6"] == "not pulled"
    assert states["zz"] == "broken manifest"
