"""Reading and writing a run's files: versioned JSONL, atomic JSON, stage stamps, and one writer a run."""

from __future__ import annotations

import codecs
import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from evalkit.errors import InvalidFileError, UserError

STAMP = "_done.json"


def to_plain(value: Any) -> Any:
    """A record as plain JSON values: dataclasses become objects, tuples lists, mappings dicts."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    return value


def dumps(value: Any, *, indent: int | None = None) -> str:
    """JSON text, UTF-8 characters kept, NaN refused (absent is null).

    Lone surrogates, which JSON input may hold, are written as escapes so that the text is valid UTF-8.
    """
    return dump_line(value, indent=indent).decode("utf-8")


def dump_line(value: Any, *, indent: int | None = None) -> bytes:
    """`dumps` as UTF-8, without a line end."""
    try:
        return _encoder(indent, ascii_only=False).encode(value).encode("utf-8")
    except UnicodeEncodeError:
        return _encoder(indent, ascii_only=True).encode(value).encode("ascii")


def loads(text: bytes) -> Any:
    """JSON as Python's parser reads it, three times faster; whole numbers past 64 bits become floats.

    Raises ValueError (JSONDecodeError with the place of the mistake, UnicodeDecodeError) or RecursionError.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text.decode("utf-8"))  # which takes NaN and lone surrogates


@cache
def _encoder(indent: int | None, *, ascii_only: bool) -> json.JSONEncoder:
    return json.JSONEncoder(ensure_ascii=ascii_only, allow_nan=False, indent=indent, default=_opened)


@cache
def _field_names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind))


def _opened(value: Any) -> Any:
    """The outermost layer of a record, for the JSON encoder, which opens the inner ones in turn."""
    if is_dataclass(value) and not isinstance(value, type):
        return {name: getattr(value, name) for name in _field_names(type(value))}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"cannot be written as JSON: {type(value).__name__}")


def write_text(path: Path, text: str) -> None:
    """Replace a file atomically: readers see the old or the new text, never a part."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes) -> None:
    """Replace a file atomically: readers see the old or the new bytes, never a part."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    except OSError as error:
        raise _cannot_write(path, error) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise _cannot_write(path, error) from error
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Any) -> None:
    """Write a record as indented JSON, atomically."""
    write_bytes(path, dump_line(value, indent=2) + b"\n")


def read_json(path: Path) -> Any:
    """The value of a JSON file. Raises UserError when it is missing, InvalidFileError when it is broken."""
    try:
        return loads(path.read_bytes().removeprefix(codecs.BOM_UTF8))
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except IsADirectoryError as error:
        raise UserError(f"{path}: is a folder, expected a JSON file") from error
    except PermissionError as error:
        raise UserError(f"{path}: no permission to read it") from error
    except UnicodeDecodeError as error:
        raise InvalidFileError(str(path), [f"not UTF-8 text (byte {error.start})"]) from error
    except json.JSONDecodeError as error:
        message = f"line {error.lineno}, column {error.colno}: not valid JSON ({error.msg})"
        raise InvalidFileError(str(path), [message]) from error
    except ValueError as error:
        raise InvalidFileError(str(path), [f"not readable JSON ({error})"]) from error
    except RecursionError as error:
        raise InvalidFileError(str(path), ["nested too deeply"]) from error


def write_jsonl(path: Path, schema: str, version: int, rows: Iterable[Any]) -> None:
    """Write rows as a versioned JSONL file, atomically; the first line names schema and version."""
    write_lines(path, schema, version, map(dump_line, rows))


def write_lines(path: Path, schema: str, version: int, lines: Iterable[bytes]) -> None:
    """Write rows that are lines of JSON already as a versioned JSONL file, atomically."""
    write_bytes(path, b"\n".join([dump_line({"schema": schema, "version": version}), *lines, b""]))


def read_jsonl(path: Path, schema: str, version: int) -> Iterator[dict[str, Any]]:
    """Rows of a versioned JSONL file; a last line that a killed writer cut short is skipped."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    lines = raw.split(b"\n")
    complete = lines[:-1]
    if not complete:
        raise InvalidFileError(str(path), ["no header line"])
    _check_header(path, complete[0], schema, version)
    for number, line in enumerate(complete[1:], start=2):
        if not line.strip():
            continue
        try:
            row = loads(line)
        except ValueError as error:
            raise InvalidFileError(str(path), [f"line {number}: not valid JSON"]) from error
        if not isinstance(row, dict):
            raise InvalidFileError(str(path), [f"line {number}: expected an object"])
        yield row


def _check_header(path: Path, line: bytes, schema: str, version: int) -> None:
    try:
        header = loads(line)
    except ValueError as error:
        raise InvalidFileError(str(path), ["line 1: not a JSON header"]) from error
    found = (header.get("schema"), header.get("version")) if isinstance(header, dict) else (None, None)
    if found != (schema, version):
        message = f"line 1: expected {schema} version {version}, found {found[0]} version {found[1]}"
        raise InvalidFileError(str(path), [message + "; run the stage that writes it again"])


class JsonlAppender:
    """Appends rows to a versioned JSONL file; a row cut short by a kill is removed on opening."""

    def __init__(self, path: Path, schema: str, version: int, fsync_every: int = 16) -> None:
        self._path = path
        self._fsync_every = fsync_every
        self._unsynced = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "ab+")  # noqa: SIM115 - open as long as the appender
            self._drop_cut_tail()
            if self._file.tell() == 0:
                self._file.write(dump_line({"schema": schema, "version": version}) + b"\n")
                self._file.flush()
        except OSError as error:
            raise _cannot_write(path, error) from error

    def _drop_cut_tail(self) -> None:
        self._file.seek(0)
        size = 0
        for line in self._file:
            if line.endswith(b"\n"):
                size += len(line)
        self._file.truncate(size)
        self._file.seek(size)

    def append(self, row: Any) -> None:
        """Append one row; it survives a kill of this process at once, a power cut after the next fsync."""
        try:
            self._file.write(dump_line(row) + b"\n")
            self._file.flush()
            self._unsynced += 1
            if self._unsynced >= self._fsync_every:
                os.fsync(self._file.fileno())
                self._unsynced = 0
        except OSError as error:
            raise _cannot_write(self._path, error) from error

    def close(self) -> None:
        """Flush to disk and close."""
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _cannot_write(self._path, error) from error
        finally:
            with suppress(OSError):
                self._file.close()

    def __enter__(self) -> JsonlAppender:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def sha256_file(path: Path) -> str:
    """Hex sha256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_json(value: Any) -> str:
    """Hex sha256 of a value's canonical JSON."""
    text = json.dumps(to_plain(value), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def write_stamp(folder: Path, version: int, inputs: Mapping[str, str], parameters: Mapping[str, Any]) -> None:
    """Mark a stage folder as complete; written last. `inputs` maps a name to its sha256."""
    write_json(folder / STAMP, {"version": version, "inputs": dict(inputs), "parameters": dict(parameters)})


def is_current(folder: Path, version: int, inputs: Mapping[str, str], parameters: Mapping[str, Any]) -> bool:
    """Whether a stage folder holds the complete result for exactly these inputs and parameters."""
    wanted = {"version": version, "inputs": dict(inputs), "parameters": to_plain(parameters)}
    try:
        return bool(json.loads((folder / STAMP).read_text(encoding="utf-8")) == wanted)
    except (OSError, ValueError):
        return False


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a run folder for writing. Raises UserError when another process is writing to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise _cannot_write(folder, error) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            message = f"{folder}: another evalkit process is writing to this run; wait or choose another --out"
            raise UserError(message) from error
        yield
    finally:
        os.close(handle)


def _cannot_write(path: Path, error: OSError) -> UserError:
    cause = error.strerror or str(error)
    return UserError(f"{path}: cannot write ({cause}). Free space or choose another folder with --out")
