"""Files of a data set on the Hugging Face hub, or a mirror of it: one listing, then resumable verified downloads."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from evalkit.errors import UserError

if TYPE_CHECKING:
    import httpx

DEFAULT_ENDPOINT = "https://huggingface.co"
ATTEMPTS = 5
FIRST_PAUSE_S = 1.0
MAX_PAUSE_S = 60.0
TIMEOUT_S = 30.0
CONNECTIONS = 4
TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})

Result = TypeVar("Result")
OnBytes = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a listing. Large files have a sha256, small ones the sha1 of a git blob."""

    path: str
    size: int
    sha256: str | None = None
    blob_sha1: str | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """All files of a data set at one commit."""

    commit: str
    files: tuple[HubFile, ...]


class _Again(Exception):
    """A try failed in a way that may pass: the cause in words, and how long the server asks to wait."""

    def __init__(self, cause: str, wait_s: float | None = None) -> None:
        super().__init__(cause)
        self.wait_s = wait_s


class Hub:
    """A connection to a hub. The endpoint is $HF_ENDPOINT where none is given."""

    def __init__(
        self, endpoint: str | None = None, *, attempts: int = ATTEMPTS, first_pause_s: float = FIRST_PAUSE_S
    ) -> None:
        import httpx

        self.endpoint = (endpoint or os.environ.get("HF_ENDPOINT") or DEFAULT_ENDPOINT).rstrip("/")
        self._attempts = attempts
        self._first_pause_s = first_pause_s
        limits = httpx.Limits(max_connections=CONNECTIONS)
        headers = {"Accept-Encoding": "identity"}
        self._client = httpx.Client(follow_redirects=True, timeout=TIMEOUT_S, limits=limits, headers=headers)

    def __enter__(self) -> Hub:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def listing(self, hub_id: str, revision: str) -> Listing:
        """The files of a data set at a revision, in one request."""
        url = f"{self.endpoint}/api/datasets/{hub_id}/revision/{quote(revision, safe='')}?blobs=true"

        def ask() -> Any:
            response = self._client.get(url)
            _check_status(response, f"{hub_id} at revision {revision}")
            return response.json()

        return _read_listing(self._try(ask), url)

    def fetch(self, hub_id: str, commit: str, file: HubFile, target: Path, on_bytes: OnBytes) -> None:
        """Download a file to `target`, which appears only when complete and verified; a part of before is continued.

        `on_bytes` gets the number of bytes that were added (negative when a part is thrown away).
        """
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_file() and not _mismatch(file, target):
            on_bytes(file.size)
            return
        url = f"{self.endpoint}/datasets/{hub_id}/resolve/{commit}/{quote(file.path)}"
        part = target.with_name(f"{target.name}.part")
        on_bytes(part.stat().st_size if part.exists() else 0)

        def attempt() -> None:
            self._continue(url, file, part, on_bytes)
            wrong = _mismatch(file, part)
            if wrong:
                on_bytes(-part.stat().st_size)
                part.unlink()
                raise _Again(f"{file.path}: {wrong}")

        self._try(attempt, progress=lambda: part.stat().st_size if part.exists() else 0)
        os.replace(part, target)

    def _continue(self, url: str, file: HubFile, part: Path, on_bytes: OnBytes) -> None:
        have = part.stat().st_size if part.exists() else 0
        if have == file.size and part.exists():
            return
        headers = {"Range": f"bytes={have}-"} if have else {}
        with self._client.stream("GET", url, headers=headers) as response:
            _check_status(response, file.path)
            is_continued = response.status_code == 206 and _range_start(response) == have
            if have and not is_continued:
                on_bytes(-have)
            with open(part, "ab" if is_continued else "wb") as out:
                for chunk in response.iter_bytes():
                    out.write(chunk)
                    on_bytes(len(chunk))
        if part.stat().st_size < file.size:
            raise _Again(f"{file.path}: the connection ended early")

    def _try(self, action: Callable[[], Result], progress: Callable[[], int] = lambda: 0) -> Result:
        """Repeat an action that fails in passing; failures count only while it makes no progress."""
        import httpx

        failures, reached = 0, progress()
        while True:
            try:
                return action()
            except (_Again, httpx.TransportError, ValueError) as error:
                failures, reached = (0 if progress() > reached else failures) + 1, progress()
                if failures >= self._attempts:
                    raise self._gave_up(error) from error
                asked_s = error.wait_s if isinstance(error, _Again) else None
                time.sleep(min(MAX_PAUSE_S, self._first_pause_s * 2 ** (failures - 1) if asked_s is None else asked_s))

    def _gave_up(self, error: Exception) -> UserError:
        cause = str(error) or type(error).__name__
        return UserError(
            f"{self.endpoint}: {cause} ({self._attempts} tries).\n"
            "What was downloaded is kept: run the same command to go on. Without a network, pull on another machine "
            "and copy its folder here, or name a mirror with HF_ENDPOINT."
        )


def _check_status(response: httpx.Response, what: str) -> None:
    code = response.status_code
    if code in (200, 206):
        return
    if code in TRANSIENT:
        raise _Again(f"{what}: HTTP {code}", _wait_s(response.headers.get("retry-after")))
    if code == 416:
        raise _Again(f"{what}: the part on disk does not fit the file")
    known = {401: "access refused", 403: "access refused", 404: "not found"}
    raise UserError(f"{what}: {known.get(code, 'unexpected answer')} (HTTP {code}) at {response.url.host}")


def _wait_s(text: str | None) -> float | None:
    return float(text) if text is not None and text.isdigit() and len(text) < 6 else None


def _range_start(response: httpx.Response) -> int | None:
    text = response.headers.get("content-range", "").removeprefix("bytes ").partition("-")[0]
    return int(text) if text.isdigit() else None


def _read_listing(value: Any, url: str) -> Listing:
    try:
        files = tuple(_read_file(item) for item in value["siblings"])
        return Listing(str(value["sha"]), files)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{url}: not a listing of a data set ({error})") from error


def _read_file(item: Any) -> HubFile:
    path = str(item["rfilename"])
    if path.startswith("/") or ".." in path.split("/") or "\\" in path or "\0" in path:
        raise ValueError(f"the path {path!r} leaves the data set")
    large = item.get("lfs") or {}
    return HubFile(path, int(item["size"]), large.get("sha256"), None if large else item.get("blobId"))


def _mismatch(file: HubFile, path: Path) -> str | None:
    """What is wrong with a downloaded file; None when it is the one that was listed."""
    size = path.stat().st_size
    if size != file.size:
        return f"{size} bytes, expected {file.size}"
    with open(path, "rb") as data:
        if file.sha256 is not None:
            found, wanted = hashlib.file_digest(data, "sha256").hexdigest(), file.sha256
        elif file.blob_sha1 is not None:
            found, wanted = hashlib.sha1(b"blob %d\0" % size + data.read()).hexdigest(), file.blob_sha1
        else:
            return None
    return None if found == wanted else f"hash {found}, expected {wanted}"
