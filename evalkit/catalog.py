"""What can be listed by name, a small row each, for the command line and the docs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalkit import registry
from evalkit.errors import EvalkitError

Row = dict[str, Any]


def catalog(kind: str) -> list[Row]:
    """Rows {name, …} of one kind: systems, metrics, datasets, protocols, converters, runners, published."""
    return _SOURCES[kind]()


def _registered(kind: str) -> Callable[[], list[Row]]:
    def rows() -> list[Row]:
        return [{"name": name, "about": _about(kind, name)} for name in registry.names(kind)]

    return rows


def _about(kind: str, name: str) -> str:
    try:
        target = registry.load(kind, name)
    except EvalkitError as error:
        return f"not available: {str(error).splitlines()[0]}"
    doc = (getattr(target, "about", None) or getattr(target, "__doc__", None) or "").strip()
    return doc.splitlines()[0] if doc else ""


def _datasets() -> list[Row]:
    from evalkit.manifests import list_datasets

    return list_datasets()


def _systems() -> list[Row]:
    rows: list[Row] = registry.load("catalog", "systems")()
    return rows


def _published() -> list[Row]:
    rows: list[Row] = registry.load("catalog", "published")()
    return rows


_SOURCES: dict[str, Callable[[], list[Row]]] = {
    "systems": _systems,
    "metrics": _registered("metric"),
    "datasets": _datasets,
    "protocols": _registered("protocol"),
    "converters": _registered("converter"),
    "runners": _registered("runner"),
    "published": _published,
}
