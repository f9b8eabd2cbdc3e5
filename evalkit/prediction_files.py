"""Finds and reads the prediction of each page in a folder of markdown files."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath

from evalkit.errors import UserError
from evalkit.types import Page

SUFFIXES = (".md", ".mmd", ".markdown")
MAX_BYTES = 4_000_000


class PredictionState(StrEnum):
    """What there is of a page's prediction. Every state but OK is scored as an empty page, and counted."""

    OK = "ok"
    EMPTY = "empty"
    MISSING = "missing"
    UNREADABLE = "unreadable"
    OVERSIZED = "oversized"
    FAILED = "failed"
    """The run that made the predictions has none for the page, and says why."""
    CRASHED = "crashed"
    """Scoring the page failed in evalkit itself."""


@dataclass(frozen=True, slots=True)
class PredictionText:
    """A page's markdown ("" unless the state is OK or EMPTY), where it was read, and a digest of its bytes."""

    markdown: str
    state: PredictionState
    file: str | None = None
    digest: str = ""
    reason: str | None = None


class PredictionFolder:
    """A folder of `<page>.md` files, looked up as the official evaluator does, and more leniently after that."""

    def __init__(self, folder: Path) -> None:
        check_folder(folder)
        self._folder = folder
        self._files = _index(folder)

    def read(self, page: Page) -> PredictionText:
        """The prediction of a page."""
        name = next((self._files[key] for name in names_of(page) if (key := name.casefold()) in self._files), None)
        if name is None:
            return PredictionText("", PredictionState.MISSING)
        return _read(self._folder / name, name)

    def others(self, texts: Iterable[PredictionText]) -> list[str]:
        """The folder's markdown files that none of these texts was read from, sorted."""
        taken = {text.file for text in texts}
        return sorted(name for name in self._files.values() if name not in taken)


def check_folder(folder: Path) -> None:
    """Raises UserError for a folder of predictions that is not there."""
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; expected a folder of <page>.md files")


def markdown_bytes(folder: Path) -> int:
    """How many bytes of markdown there are in a folder; 0 where it cannot be read."""
    return sum(min(_size(folder / name), MAX_BYTES) for name in _index(folder).values())


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def names_of(page: Page) -> Iterator[str]:
    """File names under which a page's prediction is looked for, best first.

    A page that shares its base name with another is only looked for with its folder.
    Source: end2end_dataset.py _resolve_prediction_path.
    """
    path = PurePosixPath(page.page_id.replace("\\", "/"))
    bases = [page.stem] if page.stem != path.stem else [path.stem, str(path.with_suffix(""))]
    for base in bases:
        without_pdf = base.replace(".pdf", "")
        yield from (f"{base}.md", f"{without_pdf}.mmd", f"{without_pdf}.md", f"{base}{path.suffix}.md")
        yield from (f"{base}{suffix}" for suffix in SUFFIXES)


def _index(folder: Path) -> Mapping[str, str]:
    """Relative paths of the folder's markdown files by their case-folded form; an exact lower-case name wins."""
    found: dict[str, str] = {}
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            if file.lower().endswith(SUFFIXES):
                relative = (Path(parent) / file).relative_to(folder).as_posix()
                found.setdefault(relative.casefold(), relative)
    return found


def _read(path: Path, name: str) -> PredictionText:
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):  # reading a pipe or a device may never end
            return PredictionText("", PredictionState.UNREADABLE, name, reason="not a regular file")
        size = facts.st_size
        if size > MAX_BYTES:
            reason = f"{size} bytes; pages over {MAX_BYTES} are not scored"
            return PredictionText("", PredictionState.OVERSIZED, name, f"size:{size}", reason)
        data = path.read_bytes()
    except OSError as error:
        return PredictionText("", PredictionState.UNREADABLE, name, reason=error.strerror or str(error))
    digest = hashlib.sha256(data).hexdigest()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return PredictionText("", PredictionState.UNREADABLE, name, digest, f"not UTF-8 text (byte {error.start})")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return PredictionText(text, PredictionState.OK if text.strip() else PredictionState.EMPTY, name, digest)
