"""Manifests of data sets: one TOML each, naming source, revision, sha256, licence, page count and subsets."""

from __future__ import annotations

import json
import os
import sysconfig
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalkit.errors import InvalidFileError, unknown_name

PULL_RECORD = "_pulled.json"
TEXT_KEYS = ("title", "licence", "homepage", "annotations", "images", "folder", "sha256", "note")
HUB_KEYS = ("id", "revision", "branch")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is known of a data set. None means not known: it is then recorded on the first pull.

    `folder` is set for data that lies beside the manifest. `revision` pins a commit of the hub;
    without it `branch` is pulled, and without both the user has to name a revision.
    `subsets` maps a name to the values of the page attribute `subset_attribute` that belong to it.
    """

    name: str
    path: Path
    title: str = ""
    licence: str | None = None
    homepage: str | None = None
    annotations: str = "OmniDocBench.json"
    images: str = "images"
    pages: int | None = None
    sha256: str | None = None
    folder: Path | None = None
    hub_id: str | None = None
    revision: str | None = None
    branch: str | None = None
    subset_attribute: str = "subset"
    subsets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    note: str | None = None


def cache_folder() -> Path:
    """Where downloads are kept: $EVALKIT_CACHE, else $XDG_CACHE_HOME/evalkit, else ~/.cache/evalkit."""
    own = os.environ.get("EVALKIT_CACHE")
    if own:
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "evalkit"


def manifest_folders() -> list[Path]:
    """Folders searched for manifests: those of $EVALKIT_DATASETS, the source tree's, the installed ones."""
    named = [Path(item).expanduser() for item in os.environ.get("EVALKIT_DATASETS", "").split(os.pathsep) if item]
    source_tree = Path(__file__).resolve().parent.parent / "datasets"
    schemes = [sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")]
    installed = [Path(sysconfig.get_path("data", scheme)) / "share" / "evalkit" / "datasets" for scheme in schemes]
    return [folder for folder in dict.fromkeys([*named, source_tree, *installed]) if folder.is_dir()]


def manifest_names() -> list[str]:
    """Names of all data sets that have a manifest, sorted."""
    return sorted(_manifest_paths())


def list_datasets() -> list[dict[str, Any]]:
    """A row {name, pages, state, title} for each data set; state is here, not pulled, or broken manifest."""
    return [_row(path) for _, path in sorted(_manifest_paths().items())]


def load_manifest(name: str) -> Manifest:
    """The manifest of a name. Raises UserError for an unknown name, InvalidFileError for a broken file."""
    paths = _manifest_paths()
    if name not in paths:
        raise unknown_name("dataset", name, paths)
    return read_manifest(paths[name])


def read_manifest(path: Path) -> Manifest:
    """A manifest from its TOML file; all mistakes at once."""
    try:
        value = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidFileError(str(path), ["not UTF-8 text"]) from error
    except tomllib.TOMLDecodeError as error:
        raise InvalidFileError(str(path), [f"not valid TOML ({error})"]) from error
    problems = _problems(value)
    if problems:
        raise InvalidFileError(str(path), problems)
    hub = value.get("hub", {})
    subsets = value.get("subsets", {})
    fields: dict[str, Any] = {key: value[key] for key in (*TEXT_KEYS, "pages") if key in value}
    if "folder" in fields:
        fields["folder"] = (path.parent / fields["folder"]).resolve()
    return Manifest(
        name=path.stem,
        path=path,
        hub_id=hub.get("id"),
        revision=hub.get("revision"),
        branch=hub.get("branch"),
        subset_attribute=subsets.get("attribute", "subset"),
        subsets={key: tuple(values) for key, values in subsets.items() if key != "attribute"},
        **fields,
    )


def local_folder(manifest: Manifest) -> Path:
    """Where the data of a manifest lies on this machine, pulled or not."""
    return manifest.folder or cache_folder() / "datasets" / manifest.name


def pull_record(manifest: Manifest) -> Mapping[str, Any] | None:
    """What the last pull recorded: revision, source, and size and sha256 of each file; None without a pull."""
    try:
        value = json.loads((local_folder(manifest) / PULL_RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def local_revision(manifest: Manifest) -> str | None:
    """The revision of the data on this machine: as pulled, else as the manifest pins it."""
    record = pull_record(manifest)
    revision = record.get("revision") if record is not None else manifest.revision
    return revision if isinstance(revision, str) else None


def _row(path: Path) -> dict[str, Any]:
    try:
        manifest = read_manifest(path)
    except InvalidFileError as error:
        return {"name": path.stem, "pages": None, "state": "broken manifest", "title": str(error.problems[0])}
    is_here = (local_folder(manifest) / manifest.annotations).is_file()
    state = "here" if is_here else "not pulled"
    return {"name": manifest.name, "pages": manifest.pages, "state": state, "title": manifest.title}


def _manifest_paths() -> dict[str, Path]:
    paths: dict[str, Path] = {}
    for folder in manifest_folders():
        for path in sorted(folder.glob("*.toml")):
            paths.setdefault(path.stem, path)
    return paths


def _problems(value: Mapping[str, Any]) -> list[str]:
    known = {*TEXT_KEYS, "pages", "hub", "subsets"}
    problems = [f"{key}: unknown key; known: {', '.join(sorted(known))}" for key in sorted(value.keys() - known)]
    problems += [f"{key}: expected text" for key in TEXT_KEYS if not isinstance(value.get(key, ""), str)]
    pages = value.get("pages", 1)
    if isinstance(pages, bool) or not isinstance(pages, int) or pages < 1:
        problems.append("pages: expected a positive integer")
    problems += _hub_problems(value.get("hub", {}))
    subsets = value.get("subsets", {})
    if not isinstance(subsets, dict):
        return [*problems, "subsets: expected a table"]
    for key, values in subsets.items():
        is_valid = isinstance(values, str) if key == "attribute" else _is_text_list(values)
        if not is_valid:
            problems.append(f"subsets.{key}: expected " + ("text" if key == "attribute" else "a list of texts"))
    return problems


def _hub_problems(hub: Any) -> list[str]:
    if not isinstance(hub, dict):
        return ["hub: expected a table"]
    problems = [f"hub.{key}: unknown key; known: {', '.join(HUB_KEYS)}" for key in sorted(hub.keys() - set(HUB_KEYS))]
    return problems + [f"hub.{key}: expected text" for key in HUB_KEYS if not isinstance(hub.get(key, ""), str)]


def _is_text_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
