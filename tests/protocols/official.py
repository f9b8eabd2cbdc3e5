"""Comparison of results in the official layout, and page annotations made from few facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

TOLERANCE = 1e-9
NOTHING = (None, "NaN", {}, [])


def differences(ours: Any, official: Any, skipped: Iterable[str] = (), path: str = "") -> list[str]:
    """Where two results differ: numbers by more than 1e-9, anything else at all. An absent value equals NaN."""
    skip = frozenset(skipped)
    if isinstance(ours, Mapping) and isinstance(official, Mapping):
        keys = sorted((ours.keys() | official.keys()) - skip)
        return [one for key in keys for one in _at(ours, official, key, skip, f"{path}/{key}")]
    if isinstance(ours, Sequence) and isinstance(official, Sequence) and not isinstance(ours, str):
        if len(ours) != len(official):
            return [f"{path}: {len(ours)} entries, official {len(official)}"]
        pairs = enumerate(zip(ours, official, strict=True))
        return [one for index, (a, b) in pairs for one in differences(a, b, skip, f"{path}[{index}]")]
    if isinstance(ours, int | float) and isinstance(official, int | float):
        return [] if abs(ours - official) <= TOLERANCE else [f"{path}: {ours!r}, official {official!r}"]
    return [] if ours == official or _absent(ours, official) else [f"{path}: {ours!r}, official {official!r}"]


def _at(ours: Mapping[str, Any], official: Mapping[str, Any], key: str, skip: frozenset[str], path: str) -> list[str]:
    if key in ours and key in official:
        return differences(ours[key], official[key], skip, path)
    only = ours.get(key, official.get(key))
    return [] if only in NOTHING else [f"{path}: only in {'ours' if key in ours else 'the official result'}"]


def _absent(ours: Any, official: Any) -> bool:
    return ours is None and (official == "NaN" or official != official)


def page(
    name: str,
    blocks: Sequence[Mapping[str, Any]],
    relations: Sequence[Mapping[str, Any]] = (),
    attributes: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A page of an OmniDocBench JSON; blocks without an id, place or attributes get plain ones."""
    return {
        "layout_dets": [
            {"anno_id": number, "poly": [0, 0, 1, 0, 1, 1, 0, 1], "ignore": False, "attribute": {}, **block}
            for number, block in enumerate(blocks, start=1)
        ],
        "page_info": {
            "page_no": 0,
            "height": 100,
            "width": 100,
            "image_path": name,
            "page_attribute": dict(attributes or {"language": "english"}),
        },
        "extra": {"relation": list(relations)},
    }
