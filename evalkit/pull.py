"""Pulling data sets from their hub, whole or not at all, and verifying what is on this machine."""

from __future__ import annotations

import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from threading import Event, Lock
from typing import Any

from evalkit.dataset import Dataset, load_dataset
from evalkit.errors import EvalkitError, UserError
from evalkit.hub import CONNECTIONS, Hub, HubFile, Listing
from evalkit.manifests import PULL_RECORD, Manifest, local_folder, pull_record
from evalkit.progress import progress
from evalkit.store import locked, sha256_file, write_json

ARCHIVE_SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz")
MAX_UNPACKED_BYTES = 100_000_000_000


class _Stopped(Exception):
    """Ends a download whose pull has failed or was interrupted."""


@dataclass(frozen=True, slots=True)
class PullReport:
    """What a pull ended with. `was_here` when nothing had to be done; `pinned` when the manifest named the sha256."""

    name: str
    folder: str
    revision: str
    sha256: str
    pages: int
    was_here: bool
    pinned: bool


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What a check of a data set on this machine found; no problems means that it is whole."""

    name: str
    folder: str
    files: int
    problems: tuple[str, ...]


def pull(manifest: Manifest, *, revision: str | None = None, hub: Hub | None = None) -> PullReport:
    """Download a data set into the cache; it appears there only when complete and verified.

    Interrupted, the next pull goes on where this one stopped. Raises UserError for what the user can mend.
    """
    hub_id, wanted = _source(manifest, revision)
    folder = local_folder(manifest)
    partial = folder.with_name(f".{folder.name}.partial")
    with locked(folder.with_name(f".{folder.name}.pulling")), hub or Hub() as connection:
        listing = connection.listing(hub_id, wanted)
        record = pull_record(manifest)
        if record is not None and record.get("revision") == listing.commit and not _changed(folder, record, deep=False):
            return _report(manifest, load_dataset(folder / manifest.annotations), listing.commit, was_here=True)
        files = _wanted_files(listing, manifest)
        try:
            _download(connection, hub_id, listing.commit, files, partial)
            _unpack(files, partial, manifest)
            dataset = _check(partial, manifest)
            _write_record(partial, listing.commit, f"{connection.endpoint}/datasets/{hub_id}")
            _swap(partial, folder)
        except OSError as error:
            raise UserError(f"{partial}: cannot write ({error.strerror}). Free space, or set EVALKIT_CACHE") from error
    return _report(manifest, dataset, listing.commit, was_here=False)


def verify(manifest: Manifest) -> VerifyReport:
    """Compare every file with what the pull recorded, and the annotation with the manifest."""
    folder = local_folder(manifest)
    record = pull_record(manifest)
    problems: list[str] = []
    if manifest.folder is None and record is None:
        problems.append(f"not pulled: get it with evalkit datasets pull {manifest.name}")
        return VerifyReport(manifest.name, str(folder), 0, tuple(problems))
    if record is not None:
        problems += _changed(folder, record, deep=True)
    files = len(record["files"]) if record is not None else 0
    try:
        dataset = _check(folder, manifest)
        files = files or len(dataset.pages) + 1
    except EvalkitError as error:
        problems.append(str(error))
    return VerifyReport(manifest.name, str(folder), files, tuple(problems))


def _source(manifest: Manifest, revision: str | None) -> tuple[str, str]:
    if manifest.hub_id is None:
        raise UserError(f"{manifest.name} lies in {manifest.folder}: there is nothing to pull")
    wanted = revision or manifest.revision or manifest.branch
    if wanted is None:
        note = f"\nOr: {manifest.note}" if manifest.note else ""
        raise UserError(
            f"the revision of {manifest.name} is not known to its manifest ({manifest.path}).\n"
            f"Name the commit: evalkit datasets pull {manifest.name} --revision COMMIT{note}"
        )
    return manifest.hub_id, wanted


def _wanted_files(listing: Listing, manifest: Manifest) -> list[HubFile]:
    """The annotation, and one archive of the images where there is one, else each image."""
    by_path = {file.path: file for file in listing.files}
    if manifest.annotations not in by_path:
        raise UserError(
            f"{manifest.hub_id} at {listing.commit} has no {manifest.annotations}; is this the right revision?"
        )
    archives = [
        by_path[f"{manifest.images}{suffix}"] for suffix in ARCHIVE_SUFFIXES if f"{manifest.images}{suffix}" in by_path
    ]
    images = [file for file in listing.files if file.path.startswith(f"{manifest.images}/")]
    if not archives and not images:
        raise UserError(f"{manifest.hub_id} at {listing.commit} has no images under {manifest.images}/")
    return [by_path[manifest.annotations], *(archives[:1] or images)]


def _download(hub: Hub, hub_id: str, commit: str, files: Sequence[HubFile], partial: Path) -> None:
    partial.mkdir(parents=True, exist_ok=True)
    total = sum(file.size for file in files)
    there = sum(path.stat().st_size for path in partial.rglob("*") if path.is_file())
    free = shutil.disk_usage(partial).free
    if total - there > free:
        raise UserError(
            f"{partial}: {total - there} bytes are needed, {free} are free. Free space, or set EVALKIT_CACHE"
        )
    lock, done, stop = Lock(), 0, Event()
    with progress("pull (bytes)", total) as shown, ThreadPoolExecutor(CONNECTIONS) as pool:

        def count(added: int) -> None:
            nonlocal done
            if stop.is_set():
                raise _Stopped
            with lock:
                done += added
                shown.update(done)

        futures = [pool.submit(hub.fetch, hub_id, commit, file, partial / file.path, count) for file in files]
        try:
            for future in futures:
                future.result()
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise


def _unpack(files: Sequence[HubFile], partial: Path, manifest: Manifest) -> None:
    archive = next((file.path for file in files if file.path.endswith(ARCHIVE_SUFFIXES)), None)
    if archive is None:
        return
    path, target = partial / archive, partial / manifest.images
    try:
        _unpack_zip(path, target) if archive.endswith(".zip") else _unpack_tar(path, target)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
        path.unlink()
        raise UserError(
            f"{archive}: not a readable archive ({error}); run the same command to download it again"
        ) from error
    path.unlink()


def _unpack_zip(path: Path, target: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        members = [item for item in archive.infolist() if not item.is_dir()]
        _check_unpacked(sum(item.file_size for item in members), path)
        for item in members:
            out = target / _inner(item.filename, target.name)
            out.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(item) as source, open(out, "wb") as sink:
                shutil.copyfileobj(source, sink)


def _unpack_tar(path: Path, target: Path) -> None:
    with tarfile.open(path) as archive:
        members = [item for item in archive.getmembers() if item.isfile()]
        _check_unpacked(sum(item.size for item in members), path)
        for item in members:
            out = target / _inner(item.name, target.name)
            out.parent.mkdir(parents=True, exist_ok=True)
            source = archive.extractfile(item)
            if source is not None:
                with open(out, "wb") as sink:
                    shutil.copyfileobj(source, sink)


def _inner(name: str, folder: str) -> PurePosixPath:
    """A member's place in the image folder: never outside, and without that folder's own name in front."""
    parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in ("/", "..", ".")]
    return PurePosixPath(*(parts[1:] if len(parts) > 1 and parts[0] == folder else parts))


def _check_unpacked(size: int, path: Path) -> None:
    if size > MAX_UNPACKED_BYTES:
        raise UserError(f"{path.name}: {size} bytes unpacked, over the limit of {MAX_UNPACKED_BYTES}")


def _check(folder: Path, manifest: Manifest) -> Dataset:
    """The data set of a folder, if it is what the manifest names, with an image for each page."""
    dataset = load_dataset(folder / manifest.annotations, images=folder / manifest.images)
    if manifest.sha256 is not None and dataset.sha256 != manifest.sha256:
        raise UserError(f"{manifest.annotations}: sha256 {dataset.sha256}, the manifest names {manifest.sha256}")
    if manifest.pages is not None and len(dataset.pages) != manifest.pages:
        raise UserError(
            f"{manifest.annotations}: {len(dataset.pages)} pages, {manifest.name} has {manifest.pages}; "
            "is this the right revision?"
        )
    missing = [truth.page.page_id for truth in dataset.pages if dataset.image_path(truth) is None]
    if missing:
        listing = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
        raise UserError(f"{len(missing)} pages have no image: {listing}")
    return dataset


def _write_record(folder: Path, revision: str, source: str) -> None:
    files = {
        path.relative_to(folder).as_posix(): {"size": path.stat().st_size, "sha256": sha256_file(path)}
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != PULL_RECORD and path.suffix != ".part"
    }
    write_json(folder / PULL_RECORD, {"revision": revision, "source": source, "files": files})


def _swap(partial: Path, folder: Path) -> None:
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        os.replace(folder, old)
    os.replace(partial, folder)
    shutil.rmtree(old, ignore_errors=True)


def _changed(folder: Path, record: Mapping[str, Any], *, deep: bool) -> list[str]:
    """Files that are missing or differ from the record; `deep` compares contents, else sizes."""
    same: Callable[[Path, Mapping[str, Any]], bool] = (
        (lambda path, facts: sha256_file(path) == facts["sha256"])
        if deep
        else (lambda path, facts: bool(path.stat().st_size == facts["size"]))
    )
    problems = []
    for name, facts in record["files"].items():
        path = folder / name
        if not path.is_file():
            problems.append(f"{name}: missing")
        elif not same(path, facts):
            problems.append(f"{name}: changed since it was pulled")
    return problems


def _report(manifest: Manifest, dataset: Dataset, revision: str, *, was_here: bool) -> PullReport:
    return PullReport(
        name=manifest.name,
        folder=str(local_folder(manifest)),
        revision=revision,
        sha256=dataset.sha256,
        pages=len(dataset.pages),
        was_here=was_here,
        pinned=manifest.sha256 is not None,
    )
