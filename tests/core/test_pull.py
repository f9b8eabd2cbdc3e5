"""Pulling data sets from a hub that cuts, stalls, lies or is not there: whole or not at all."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalkit.dataset import load_dataset
from evalkit.errors import UserError
from evalkit.hub import Hub, HubFile, OnBytes
from evalkit.manifests import load_manifest, local_folder, pull_record
from evalkit.pull import PullReport, pull, verify
from tests.fakes.hub_server import COMMIT, FakeHub, serving

MANIFEST = """
title = "test set"
pages = 3
{extra}
[hub]
id = "lab/set"
branch = "main"
[subsets]
base = ["v1"]
hard = ["v2"]
"""
IMAGES = {f"images/p{number}.jpg": bytes([number]) * (200_000 + number) for number in range(3)}


def annotation(count: int = 3) -> bytes:
    pages = [
        {
            "page_info": {"image_path": f"p{number}.jpg", "page_attribute": {"subset": "v2" if number else "v1"}},
            "layout_dets": [],
        }
        for number in range(count)
    ]
    return json.dumps(pages).encode()


def fake_hub(**changes: bytes) -> FakeHub:
    return FakeHub({"README.md": b"about", "OmniDocBench.json": annotation(), **IMAGES, **changes})


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    monkeypatch.setenv("EVALKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("EVALKIT_DATASETS", str(tmp_path))
    describe(tmp_path)
    with serving(fake_hub()) as served:
        yield served


def describe(folder: Path, extra: str = "") -> None:
    (folder / "test-set.toml").write_text(MANIFEST.replace("{extra}", extra), encoding="utf-8")


def pulled(hub: FakeHub, revision: str | None = None) -> PullReport:
    connection = Hub(hub.endpoint, attempts=3, first_pause_s=0)
    return pull(load_manifest("test-set"), revision=revision, hub=connection)


def test_pulls_once_and_finds_it_again(hub: FakeHub) -> None:
    report = pulled(hub)
    assert (report.pages, report.revision, report.was_here, report.pinned) == (3, COMMIT, False, False)
    dataset = load_dataset("test-set")
    assert (dataset.revision, dataset.sha256) == (COMMIT, report.sha256)
    assert dataset.subsets == {"base": ("p0.jpg",), "hard": ("p1.jpg", "p2.jpg")}
    assert [page.page.page_id for page in load_dataset("test-set:base").pages] == ["p0.jpg"]
    assert hub.requests == {"listing": 1, "OmniDocBench.json": 1, **dict.fromkeys(IMAGES, 1)}
    assert pulled(hub).was_here
    assert sum(hub.requests.values()) == 6
    assert verify(load_manifest("test-set")).problems == ()


@pytest.mark.parametrize(
    ("faults", "requests"),
    [
        pytest.param(["cut"], 2, id="cut"),
        pytest.param(["cut", "cut", "cut", "cut"], 5, id="cut often, with progress each time"),
        pytest.param(["429", "500"], 3, id="busy"),
        pytest.param(["wrong"], 2, id="wrong bytes once"),
        pytest.param(["cut", "no ranges"], 2, id="a server that forgets ranges"),
    ],
)
def test_passing_faults_are_survived(hub: FakeHub, faults: list[str], requests: int) -> None:
    hub.faults["images/p1.jpg"] = list(faults)
    pulled(hub)
    assert hub.requests["images/p1.jpg"] == requests
    assert (local_folder(load_manifest("test-set")) / "images" / "p1.jpg").read_bytes() == IMAGES["images/p1.jpg"]


@pytest.mark.parametrize("fault", ["500", "wrong"])
def test_lasting_faults_leave_no_data_set_and_the_next_pull_goes_on(hub: FakeHub, fault: str) -> None:
    hub.faults["images/p2.jpg"] = [fault] * 3
    with pytest.raises(UserError, match="run the same command to go on"):
        pulled(hub)
    assert not local_folder(load_manifest("test-set")).exists()
    before = hub.requests["images/p0.jpg"]
    pulled(hub)
    assert hub.requests["images/p0.jpg"] == before
    assert load_dataset("test-set").revision == COMMIT


def test_an_interrupted_download_is_continued_where_it_stopped(hub: FakeHub) -> None:
    hub.faults["images/p1.jpg"] = ["cut", "500", "500", "500"]
    with pytest.raises(UserError):
        pulled(hub)
    pulled(hub)
    assert set(hub.ranges) == {f"bytes={len(IMAGES['images/p1.jpg']) // 2}-"}


@pytest.mark.parametrize(
    ("status", "message"),
    [(404, "not found"), (401, "access refused"), (503, "HTTP 503"), (418, "unexpected answer")],
)
def test_refused_listings(hub: FakeHub, status: int, message: str) -> None:
    hub.listing_status = status
    with pytest.raises(UserError, match=message):
        pulled(hub)


def test_no_network_says_what_to_do(hub: FakeHub) -> None:
    connection = Hub("http://127.0.0.1:9", attempts=2, first_pause_s=0)
    with pytest.raises(UserError, match="Without a network, pull on another machine"):
        pull(load_manifest("test-set"), hub=connection)


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_one_archive_instead_of_many_images(hub: FakeHub, kind: str) -> None:
    hub.files = {"OmniDocBench.json": annotation(), f"images.{kind}": _packed(kind), "images/p0.jpg": b"not asked for"}
    pulled(hub)
    folder = local_folder(load_manifest("test-set"))
    assert hub.requests == {"listing": 1, "OmniDocBench.json": 1, f"images.{kind}": 1}
    assert sorted(path.name for path in (folder / "images").iterdir()) == ["evil.jpg", "p0.jpg", "p1.jpg", "p2.jpg"]
    assert not (folder.parent / "evil.jpg").exists()


def _packed(kind: str) -> bytes:
    members = {**IMAGES, "../../evil.jpg": b"evil"}
    buffer = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)
    else:
        with tarfile.open(fileobj=buffer, mode="w") as packed:
            for name, data in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                packed.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def test_a_broken_archive_is_a_message(hub: FakeHub) -> None:
    hub.files = {"OmniDocBench.json": annotation(), "images.zip": b"no archive"}
    with pytest.raises(UserError, match="not a readable archive"):
        pulled(hub)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        pytest.param({"OmniDocBench.json": annotation(5), **IMAGES}, "5 pages, test-set has 3", id="other version"),
        pytest.param({"OmniDocBench.json": annotation(), "images/p0.jpg": b"x"}, "2 pages have no image", id="images"),
        pytest.param({"OmniDocBench.json": b"[{}]", **IMAGES}, "page_info: missing", id="broken annotation"),
        pytest.param({"other.json": b"[]", **IMAGES}, "has no OmniDocBench.json", id="no annotation"),
        pytest.param({"OmniDocBench.json": annotation()}, "has no images under images/", id="no images"),
        pytest.param({"OmniDocBench.json": b"", "images/../../x": b""}, "leaves the data set", id="hostile path"),
    ],
)
def test_what_is_no_such_data_set_is_refused(hub: FakeHub, files: dict[str, bytes], message: str) -> None:
    hub.files = files
    with pytest.raises(UserError, match=message):
        pulled(hub)
    assert not local_folder(load_manifest("test-set")).exists()


def test_a_failed_update_keeps_the_old_data(hub: FakeHub) -> None:
    pulled(hub)
    record = local_folder(load_manifest("test-set")) / "_pulled.json"
    record.write_text(record.read_text(encoding="utf-8").replace(COMMIT, "older"), encoding="utf-8")
    hub.files["OmniDocBench.json"] = annotation(4)
    with pytest.raises(UserError, match="4 pages"):
        pulled(hub)
    assert len(load_dataset("test-set").pages) == 3
    assert (pull_record(load_manifest("test-set")) or {})["revision"] == "older"


def test_a_pinned_sha256_is_demanded(hub: FakeHub, tmp_path: Path) -> None:
    describe(tmp_path, f'sha256 = "{"0" * 64}"')
    with pytest.raises(UserError, match="the manifest names 000"):
        pulled(hub)


def test_without_a_revision_the_user_names_one(hub: FakeHub, tmp_path: Path) -> None:
    path = tmp_path / "test-set.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('branch = "main"', ""), encoding="utf-8")
    with pytest.raises(UserError, match="--revision COMMIT"):
        pulled(hub)
    assert pulled(hub, revision="v1").revision == COMMIT


def test_verify_names_each_changed_file(hub: FakeHub) -> None:
    pulled(hub)
    folder = local_folder(load_manifest("test-set"))
    (folder / "images" / "p0.jpg").write_bytes(b"other")
    (folder / "images" / "p1.jpg").unlink()
    problems = verify(load_manifest("test-set")).problems
    assert "images/p0.jpg: changed since it was pulled" in problems
    assert "images/p1.jpg: missing" in problems
    pulled(hub)
    assert verify(load_manifest("test-set")).problems == ()


class _EndlessHub(Hub):
    """Downloads that go on until they are stopped, but one that fails when the others have begun."""

    def fetch(self, hub_id: str, commit: str, file: HubFile, target: Path, on_bytes: OnBytes) -> None:
        if file.path.endswith(".json"):
            raise UserError("disk gone")
        while True:
            on_bytes(1)


def test_a_failure_stops_the_other_downloads(hub: FakeHub) -> None:
    with pytest.raises(UserError, match="disk gone"):
        pull(load_manifest("test-set"), hub=_EndlessHub(hub.endpoint))


def test_verify_of_what_is_not_here(hub: FakeHub) -> None:
    assert "not pulled" in verify(load_manifest("test-set")).problems[0]
