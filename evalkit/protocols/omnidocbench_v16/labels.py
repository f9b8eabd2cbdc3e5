"""The groups in which results are shown: page attributes and attributes of annotated blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalkit.protocols.omnidocbench_v16.rules import rule

ALL = "ALL"


@rule(
    stage="aggregate",
    order=20,
    example="{'language': 'english', 'special_issue': ['watermark', 'colorful_table']} -> "
    "ALL, 'language: english', 'watermark'",
)
def page_labels(attributes: Mapping[str, Any]) -> tuple[str, ...]:
    """Groups that a page belongs to.

    Quirk: an entry of a list attribute stands without its attribute's name, and one that mentions a table is left out.
    Source: core/metrics.py _build_page_attribute_labels.
    """
    labels = [ALL]
    for name, value in attributes.items():
        if isinstance(value, list):
            labels += [str(entry) for entry in value if "table" not in str(entry)]
        else:
            labels.append(f"{name}: {value}")
    return tuple(dict.fromkeys(labels))


@rule(stage="aggregate", order=21, example="[{'text_language': 'text_english'}] -> ('text_language: text_english',)")
def block_labels(attributes: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Groups that a pair belongs to, by the attributes of every annotated block in it.

    Quirk: a pair of several annotated blocks counts in the group of each.
    Source: core/metrics.py get_full_labels_results.
    """
    return tuple(dict.fromkeys(f"{name}: {value}" for entry in _flat(attributes) for name, value in entry.items()))


def _flat(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _flat(item)
