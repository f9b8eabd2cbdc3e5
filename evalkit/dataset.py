"""Data sets of annotated pages: an OmniDocBench JSON and its images, found by name, file or folder."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from evalkit import manifests
from evalkit.annotation import Findings, read_page
from evalkit.collector import no_collections
from evalkit.errors import InvalidFileError, UserError, unknown_name
from evalkit.store import read_json, sha256_file
from evalkit.types import GroundTruth, Page

IMAGE_EXTENSIONS = frozenset(
    f".{extension}" for extension in ("png", "jpg", "jpeg", "jpe", "webp", "bmp", "gif", "tif", "tiff", "jp2", "pdf")
)
MAX_NAME_BYTES = 240  # of a prediction file; file systems allow 255, temporary names add a few


@dataclass(frozen=True, slots=True)
class Dataset:
    """Annotated pages in the order of their file. `sha256` is of the JSON file's bytes.

    `subsets` maps a subset's name to the ids of its pages; `warnings` are oddities that forbid nothing.
    """

    name: str
    sha256: str
    pages: tuple[GroundTruth, ...]
    source: Path
    image_folders: tuple[Path, ...] = ()
    revision: str | None = None
    subsets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def image_path(self, page: Page | GroundTruth | str) -> Path | None:
        """The image file of a page, whatever the case or kind of its extension; None when there is none."""
        name = page if isinstance(page, str) else page.page_id if isinstance(page, Page) else page.page.page_id
        relative = safe_relative(name)
        for folder in self.image_folders:
            for candidate in dict.fromkeys((relative, PurePosixPath(relative.name))):
                found = _find_image(folder, candidate)
                if found is not None:
                    return found
        return None

    def select(self, page_ids: Iterable[str], name: str | None = None) -> Dataset:
        """The same data set with only these pages, in its own order."""
        wanted = set(page_ids)
        pages = tuple(truth for truth in self.pages if truth.page.page_id in wanted)
        subsets = {key: tuple(item for item in ids if item in wanted) for key, ids in self.subsets.items()}
        return replace(self, pages=pages, subsets=subsets, name=name or self.name)


def load_dataset(source: str | Path, *, images: Path | None = None) -> Dataset:
    """Load a data set by manifest name (`mini`, `omnidocbench-1.6`), JSON file, folder holding one, or own manifest.

    `NAME:SUBSET` keeps one subset. A name wins over a file or folder of that name: give those as `./NAME`.
    Raises UserError when there is no such data set or it is not pulled, InvalidFileError with all mistakes of the
    file at once.
    """
    name, _, subset = str(source).partition(":")
    names = manifests.manifest_names() if isinstance(source, str) else []
    path = Path(source)
    if name in names:
        return _subset(_from_manifest(manifests.load_manifest(name), images), subset)
    if path.suffix == ".toml" and path.is_file():
        return _from_manifest(manifests.read_manifest(path), images)
    if path.exists():
        return _from_json(_json_in(path), images=images)
    if isinstance(source, Path) or os.sep in source or path.suffix.lower() in (".json", ".toml"):
        raise UserError(f"{source}: no such file or folder")
    raise unknown_name("dataset", name, names)


def _subset(dataset: Dataset, subset: str) -> Dataset:
    if not subset:
        return dataset
    if subset not in dataset.subsets:
        raise unknown_name(f"subset of {dataset.name}", subset, dataset.subsets)
    return dataset.select(dataset.subsets[subset], name=f"{dataset.name}:{subset}")


def safe_relative(page_id: str) -> PurePosixPath:
    """A page id as a relative path that cannot leave its folder."""
    parts = [part for part in PurePosixPath(page_id).parts if part not in ("/", "//", "..", ".")]
    return PurePosixPath(*parts) if parts else PurePosixPath("page")


def assign_stems(page_ids: Iterable[str]) -> list[str]:
    """The prediction file stem of each page: its base name, with folders only where names collide.

    Base names that differ in letter case alone collide too, as they do on some file systems.
    """
    paths = [safe_relative(page_id) for page_id in page_ids]
    forms: tuple[Callable[[PurePosixPath], str], ...] = (
        lambda path: _without_extension(path.name),
        lambda path: _without_extension(str(path)),
        str,
    )
    stems = [forms[0](path) for path in paths]
    for form in forms[1:]:
        taken = Counter(stem.casefold() for stem in stems)
        stems = [form(path) if taken[stem.casefold()] > 1 else stem for stem, path in zip(stems, paths, strict=True)]
    return _numbered(stems)


def _numbered(stems: list[str]) -> list[str]:
    seen: set[str] = set()
    unique: list[str] = []
    for stem in stems:
        name, number = stem, 1
        while name.casefold() in seen:
            number += 1
            name = f"{stem}~{number}"
        seen.add(name.casefold())
        unique.append(name)
    return unique


def _without_extension(name: str) -> str:
    stem, extension = os.path.splitext(name)
    return stem if stem and extension.lower() in IMAGE_EXTENSIONS else name


def _from_manifest(manifest: manifests.Manifest, images: Path | None) -> Dataset:
    folder = manifests.local_folder(manifest)
    json_path = folder / manifest.annotations
    if not json_path.is_file():
        raise UserError(
            f"data set {manifest.name!r} is not on this machine (no {json_path}).\n"
            f"Get it with: evalkit datasets pull {manifest.name}"
        )
    dataset = _from_json(json_path, images=images, image_folder=folder / manifest.images)
    if manifest.sha256 is not None and dataset.sha256 != manifest.sha256:
        raise UserError(
            f"{json_path}: sha256 is {dataset.sha256}, but the manifest of {manifest.name!r} names {manifest.sha256}.\n"
            f"Get the named version with: evalkit datasets pull {manifest.name}"
        )
    warnings = list(dataset.warnings)
    if manifest.pages is not None and manifest.pages != len(dataset.pages):
        warnings.append(f"the manifest names {manifest.pages} pages, the file has {len(dataset.pages)}")
    return replace(
        dataset,
        name=manifest.name,
        revision=manifests.local_revision(manifest),
        subsets=_subsets(dataset.pages, manifest),
        warnings=tuple(warnings),
    )


def _subsets(pages: tuple[GroundTruth, ...], manifest: manifests.Manifest) -> dict[str, tuple[str, ...]]:
    return {
        name: tuple(
            truth.page.page_id for truth in pages if truth.page.attributes.get(manifest.subset_attribute) in values
        )
        for name, values in manifest.subsets.items()
    }


def _from_json(path: Path, *, images: Path | None, image_folder: Path | None = None) -> Dataset:
    pages, findings = _read_pages(path)
    if findings.problems:
        raise InvalidFileError(str(path), findings.problems)
    folders = [folder for folder in (images, image_folder, path.parent / "images", path.parent) if folder is not None]
    if images is not None and not images.is_dir():
        raise UserError(f"{images}: no such image folder")
    return Dataset(
        name=path.stem,
        sha256=sha256_file(path),
        pages=pages,
        source=path,
        image_folders=tuple(folder for folder in dict.fromkeys(folders) if folder.is_dir()),
        warnings=tuple(findings.warnings),
    )


@no_collections()
def _read_pages(path: Path) -> tuple[tuple[GroundTruth, ...], Findings]:
    value = read_json(path)
    findings = Findings()
    if not isinstance(value, list):
        findings.wrong("$", "a list of pages", value)
        return (), findings
    if not value:
        findings.wrong("$", "at least one page", value)
    read = [read_page(item, f"$[{index}]", findings) for index, item in enumerate(value)]
    _check_names(read, findings)
    pages = [truth for truth in read if truth is not None]
    stems = assign_stems(truth.page.page_id for truth in pages)
    named = (replace(truth, page=replace(truth.page, stem=stem)) for truth, stem in zip(pages, stems, strict=True))
    return tuple(named), findings


def _check_names(read: list[GroundTruth | None], findings: Findings) -> None:
    first: dict[str, int] = {}
    for index, truth in enumerate(read):
        if truth is None:
            continue
        page_id = truth.page.page_id
        where = f"$[{index}].page_info.image_path"
        if page_id in first:
            findings.problems.append(
                f"{where}: {page_id!r} is also the image of $[{first[page_id]}]; expected one page an image"
            )
        first.setdefault(page_id, index)
        if len(safe_relative(page_id).name.encode("utf-8", "replace")) > MAX_NAME_BYTES:
            findings.problems.append(f"{where}: expected a name of at most {MAX_NAME_BYTES} bytes")


def _json_in(path: Path) -> Path:
    if not path.is_dir():
        return path
    found = sorted(item for item in path.iterdir() if item.suffix.lower() == ".json" and item.is_file())
    preferred = [item for item in found if item.name.lower() == "omnidocbench.json"]
    if len(found) == 1 or preferred:
        return (preferred or found)[0]
    if not found:
        raise UserError(f"{path}: no JSON file in this folder; expected an OmniDocBench annotation")
    names = ", ".join(item.name for item in found)
    raise UserError(f"{path}: more than one JSON file ({names}); name the one to use")


def _find_image(folder: Path, relative: PurePosixPath) -> Path | None:
    exact = folder / relative
    if exact.is_file():
        return exact
    try:
        names = sorted(os.listdir(exact.parent))
    except OSError:
        return None
    wanted, stem = relative.name.lower(), _without_extension(relative.name).lower()
    same_name = [name for name in names if name.lower() == wanted]
    same_stem = [name for name in names if _without_extension(name).lower() == stem and name.lower() != stem]
    for name in same_name + same_stem:
        if (exact.parent / name).is_file():
            return exact.parent / name
    return None
