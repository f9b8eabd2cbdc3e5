"""The signature that every number carries: numbers with different signatures are never ranked together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evalkit import __version__


@dataclass(frozen=True, slots=True)
class Signature:
    """What a number depends on besides the system that is measured."""

    metric: str
    averaging: str
    protocol: str
    data: str
    data_sha256: str
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [
            self.metric,
            f"avg:{self.averaging}",
            f"protocol:{self.protocol}",
            f"data:{self.data}@{self.data_sha256[:12]}",
            *(f"{key}:{value}" for key, value in sorted(self.options.items())),
            f"evalkit:{__version__}",
        ]
        return "|".join(parts)


def differing_parts(left: str, right: str) -> list[str]:
    """The parts in which two signatures differ, as `left != right` texts; [] when comparable."""

    def parse(text: str) -> dict[str, str]:
        head, *rest = text.split("|")
        return {"metric": head} | dict(part.split(":", 1) for part in rest if ":" in part)

    a, b = parse(left), parse(right)
    return [
        f"{key}: {a.get(key, '-')} != {b.get(key, '-')}"
        for key in sorted(a.keys() | b.keys())
        if a.get(key) != b.get(key)
    ]
