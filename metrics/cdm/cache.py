"""Results kept on disk by what they depend on, so that a truth is drawn once for all systems."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class ResultCache:
    """JSON objects under content keys. `scope` names what all keys depend on: toolchain, rules, backend."""

    def __init__(self, folder: Path, scope: str) -> None:
        self._folder = folder
        self._scope = scope

    def get(self, *parts: str) -> Mapping[str, Any] | None:
        """The stored object for these texts; None when there is none or it cannot be read."""
        try:
            found = json.loads(self._path(parts).read_bytes())
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def put(self, value: Mapping[str, Any], *parts: str) -> None:
        """Store an object; a full or read-only disk costs the time saved, not the result."""
        path = self._path(parts)
        staged = path.with_name(f"{path.name}.{os.getpid()}")
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            staged.write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")), encoding="ascii")
            staged.replace(path)

    def _path(self, parts: tuple[str, ...]) -> Path:
        text = "\0".join((self._scope, *(str(len(part)) for part in parts), *parts))
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / key[:2] / f"{key[2:]}.json"
