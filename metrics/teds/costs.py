"""What it costs to turn one table node into another: the rename matrix of two trees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from metrics.teds.tree import CellText, NodeKind, TableTree, TooLargeError

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]

MAX_TEXT_WORK = 4_000_000_000
"""Steps of the bit-parallel edit distance over all pairs of cells: words of 64 characters x characters."""

_BLOCK_TEXTS = 256
_WORD_BITS = 64
_SURROGATES = range(0xD800, 0xE000)
_PLANES_15_16 = range(0xF0000, 0x110000)


@dataclass(frozen=True, slots=True)
class _CellGroup:
    """Cells of one kind: their node positions, which text each has, and the distinct texts."""

    nodes: Indices
    text_of: Indices
    texts: tuple[str, ...]


def rename_matrix(gt: TableTree, pred: TableTree, *, with_content: bool) -> Matrix:
    """Cost of renaming node i of gt to node j of pred, in [0, 1], shape (len(gt), len(pred)).

    1 between different tags or spans; 0 between equal ones, but between cells with content their edit distance
    divided by the longer length. Raises TooLargeError when the texts exceed MAX_TEXT_WORK.
    """
    costs = np.ones((len(gt), len(pred)))
    encode = _token_encoder((*gt.texts, *pred.texts)) if with_content else None
    groups = [_by_kind(tree, encode) for tree in (gt, pred)]
    shared = [(groups[0][kind], groups[1][kind]) for kind in groups[0] if kind in groups[1]]
    work = sum(_text_work(left.texts, right.texts) for left, right in shared)
    if work > MAX_TEXT_WORK:
        raise TooLargeError(f"cell texts need {work} steps, the limit is {MAX_TEXT_WORK}")
    for left, right in shared:
        for rows, distances in _text_distances(left, right):
            costs[np.ix_(rows, right.nodes)] = distances
    return costs


def _by_kind(tree: TableTree, encode: dict[str, str] | None) -> dict[NodeKind, _CellGroup]:
    nodes: dict[NodeKind, list[int]] = {}
    for node, kind in enumerate(tree.kinds):
        nodes.setdefault(kind, []).append(node)
    groups = {}
    for kind, members in nodes.items():
        distinct: dict[str, int] = {}
        text_of = [
            distinct.setdefault("" if encode is None else _encoded(tree.texts[node], encode), len(distinct))
            for node in members
        ]
        groups[kind] = _CellGroup(np.array(members, np.intp), np.array(text_of, np.intp), tuple(distinct))
    return groups


def _token_encoder(texts: Iterable[CellText]) -> dict[str, str]:
    """One code point for each token of several characters, none of which occurs in the texts.

    Parsed HTML holds no surrogates, so these come first; after them unused points of the private planes.
    """
    used: set[str] = set()
    tokens: dict[str, str] = {}
    marked = [text for text in texts if not isinstance(text, str)]
    for text in marked:
        tokens.update((token, "") for token in text if len(token) > 1)
    if len(tokens) > len(_SURROGATES):
        used = set().union(*texts)
    free = (chr(point) for planes in (_SURROGATES, _PLANES_15_16) for point in planes if chr(point) not in used)
    codes = dict(zip(tokens, free, strict=False))
    if len(codes) < len(tokens):
        raise TooLargeError(f"{len(tokens)} different tags inside cells, the limit is {len(codes)}")
    return codes


def _encoded(text: CellText, codes: dict[str, str]) -> str:
    return text if isinstance(text, str) else "".join(codes.get(token, token) for token in text)


def _text_work(left: Sequence[str], right: Sequence[str]) -> int:
    """Steps of the edit distance of all pairs; a pair costs some steps even when both are empty."""
    words = sum(1 + len(text) // _WORD_BITS for text in left)
    return words * sum(8 + len(text) for text in right)


def _text_distances(left: _CellGroup, right: _CellGroup) -> Iterator[tuple[Indices, Matrix]]:
    """Rows of the normalised edit distance between cells: left nodes, and their distances to all right nodes."""
    by_text = np.argsort(left.text_of, kind="stable")
    for start in range(0, len(by_text), _BLOCK_TEXTS):
        block = by_text[start : start + _BLOCK_TEXTS]
        first, last = left.text_of[block[0]], left.text_of[block[-1]]
        distances = cdist(
            left.texts[first : last + 1], right.texts, scorer=Levenshtein.normalized_distance, dtype=np.float64
        )
        yield left.nodes[block], distances[left.text_of[block] - first][:, right.text_of]
