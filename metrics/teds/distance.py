"""Exact ordered tree edit distance (Zhang and Shasha 1989), vectorised over pairs of subtrees.

Inserting and deleting a node cost 1, renaming costs what the rename matrix says, at most 1.

The tables of the algorithm are filled by passes, one for a pair of keyroots (a keyroot is the highest of the nodes
that share a first leaf). Three things make it fast with arrays: a pass against a leaf has a closed form; passes over
keyroots of the same level and about the same size run together; and the sequential step along a row,
`row[j] = min(option[j], row[j - 1] + 1)`, is a running minimum of `option[j] - j`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metrics.teds.tree import TooLargeError

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]

MAX_NODE_PAIRS = 110_000_000
"""Greatest size of the distance table (8 bytes each); two tables of 5,000 rows with one cell fit."""

MAX_UPDATES = 4_000_000_000
"""Greatest number of table updates, about 10 ns each."""

MAX_KEPT = 1 << 26
"""Greatest number of row elements kept at once for nested subtrees (8 bytes each)."""

_MAX_OPEN_ROWS = 256
"""Greatest number of earlier rows that the subtrees of one batch may look back to."""

_STEP_OVERHEAD = 5_000
"""What one vector step costs besides its elements, in updates."""

_CHUNK = 1 << 18
"""Elements of one vector step; larger batches are split so that they stay in the processor's cache."""


class Shape:
    """What the algorithm needs of a tree: `leftmost[i]` is the first leaf under node i, nodes in postorder."""

    def __init__(self, leftmost: Sequence[int]) -> None:
        self.first = np.array(leftmost, np.intp)
        self.count = len(leftmost)
        nodes = np.arange(self.count)
        self.size = nodes - self.first + 1
        self.is_leaf = self.first == nodes
        self.inner = np.flatnonzero(~self.is_leaf)
        self.depth, self.batches = _keyroot_batches(leftmost)


class Batch(NamedTuple):
    """Keyroots of one level with sizes in one power of two."""

    level: int
    width: int
    keyroots: Indices


def _keyroot_batches(leftmost: Sequence[int]) -> tuple[int, tuple[Batch, ...]]:
    """The depth of the tree and its inner keyroots in batches, those of nested keyroots first."""
    level = [0] * len(leftmost)
    depth = [1] * len(leftmost)
    open_nodes: list[int] = []
    found: dict[tuple[int, int], list[int]] = {}

    def close(keyroot: int) -> None:
        if level[keyroot]:
            found.setdefault((level[keyroot], (keyroot - leftmost[keyroot] + 1).bit_length()), []).append(keyroot)

    for node, first in enumerate(leftmost):
        children = []
        while open_nodes and open_nodes[-1] >= first:
            children.append(open_nodes.pop())
        for child in children[:-1]:
            close(child)
        if children:
            level[node] = max(1, level[children[-1]], *(level[child] + 1 for child in children[:-1]))
            depth[node] = 1 + max(depth[child] for child in children)
        open_nodes.append(node)
    for root in open_nodes:
        close(root)
    batches = []
    for (order, _), members in sorted(found.items()):
        keyroots = np.array(members, np.intp)
        width = max(keyroot - leftmost[keyroot] + 1 for keyroot in members)
        batches.append(Batch(order, width, keyroots))
    return max(depth[root] for root in open_nodes), tuple(batches)


def tree_distance(gt: Shape, pred: Shape, rename: Callable[[], Matrix]) -> float:
    """Least cost of turning one tree into the other.

    `rename()` gives a fresh matrix of rename costs, shape (gt.count, pred.count), which then becomes the table of
    subtree distances. It is called only if the work is within the budgets; else TooLargeError is raised.
    """
    _check_budgets(gt, pred)
    table = rename()
    _fill_leaf_rows(table, gt, pred)
    _fill_leaf_rows(table.T, pred, gt)
    for left in gt.batches:
        for right in pred.batches:
            if left.width <= right.width:
                _run_batches(table, gt, left.keyroots, pred, right.keyroots)
            else:
                _run_batches(table.T, pred, right.keyroots, gt, left.keyroots)
    return float(table[-1, -1])


def _check_budgets(gt: Shape, pred: Shape) -> None:
    pairs = gt.count * pred.count
    if pairs > MAX_NODE_PAIRS:
        raise TooLargeError(f"{pairs} pairs of nodes, the limit is {MAX_NODE_PAIRS}")
    kept = max(gt.depth, pred.depth) * max(gt.count, pred.count, _CHUNK)
    if kept > MAX_KEPT:
        raise TooLargeError(f"{kept} elements of open rows, the limit is {MAX_KEPT}")
    updates = pairs * (gt.depth + pred.depth)
    for left in gt.batches:
        for right in pred.batches:
            elements = len(left.keyroots) * len(right.keyroots) * max(left.width, right.width)
            updates += min(left.width, right.width) * (elements + _STEP_OVERHEAD * (1 + elements // _CHUNK))
    if updates > MAX_UPDATES:
        raise TooLargeError(f"{updates} table updates, the limit is {MAX_UPDATES}")


def _fill_leaf_rows(table: Matrix, rows: Shape, columns: Shape) -> None:
    """Distances of leaves to inner nodes: keep the node that is cheapest to rename to, insert the others."""
    if not len(columns.inner):
        return
    ranges = np.stack([columns.first[columns.inner], columns.inner + 1], axis=1).ravel()
    others = columns.size[columns.inner] - 1
    leaves = np.flatnonzero(rows.is_leaf)
    block = max(1, _CHUNK // columns.count)
    for start in range(0, len(leaves), block):
        chosen = leaves[start : start + block]
        costs = np.ones((len(chosen), columns.count + 1))
        costs[:, :-1] = table[chosen]
        cheapest = np.minimum.reduceat(costs, ranges, axis=1)[:, ::2]
        table[chosen[:, None], columns.inner] = cheapest + others


def _run_batches(table: Matrix, steps: Shape, left: Indices, across: Shape, right: Indices) -> None:
    """The passes of all pairs of two groups of keyroots, in chunks; one step a node of the left subtrees."""
    width = int(across.size[right].max())
    right_chunk = max(1, _CHUNK // width)
    for right_part in _chunks(right, right_chunk):
        left_chunk = min(_CHUNK // (len(right_part) * width), _MAX_OPEN_ROWS // steps.depth)
        columns = _Columns(across, right_part)
        for left_part in _chunks(left, max(1, left_chunk)):
            _run_pass(table, steps, left_part, columns)


def _chunks(items: Indices, size: int) -> Iterator[Indices]:
    return (items[start : start + size] for start in range(0, len(items), size))


class _Columns:
    """Right-hand subtrees side by side, padded to one width: which node each column is, and what it looks back to."""

    def __init__(self, shape: Shape, keyroots: Indices) -> None:
        start = shape.first[keyroots][:, None]
        sizes = shape.size[keyroots][:, None]
        self.count = len(keyroots)
        self.width = int(sizes.max())
        place = np.arange(self.width)
        inside = place < sizes
        nodes = start + np.where(inside, place, 0)
        self.low = int(start.min())
        self.high = int(keyroots.max()) + 1
        self.gather = (nodes - self.low).ravel()
        look_back = np.where(inside, shape.first[nodes] - start, 0)
        self.look_back = (look_back + np.arange(self.count)[:, None] * (self.width + 1)).ravel()
        self.path = np.nonzero(inside & ~shape.is_leaf[nodes] & (shape.first[nodes] == start))
        self.path_nodes = nodes[self.path]
        self.offsets = np.arange(self.width + 1, dtype=np.float64)


def _run_pass(table: Matrix, shape: Shape, keyroots: Indices, columns: _Columns) -> None:
    """One pass for every pair of a left and a right keyroot; writes the distances of pairs on both first-leaf paths.

    Row r holds the distances of the first r nodes of each left subtree to every prefix of each right subtree.
    """
    start, sizes = shape.first[keyroots], shape.size[keyroots]
    steps = int(sizes.max())
    nodes = start[:, None] + np.minimum(np.arange(steps), sizes[:, None] - 1)
    look_back = shape.first[nodes] - start[:, None]
    last_use = np.zeros(steps + 1, np.intp)
    np.maximum.at(last_use, look_back, np.broadcast_to(np.arange(steps), look_back.shape))
    on_path = ~shape.is_leaf[nodes] & (look_back == 0) & (np.arange(steps) < sizes[:, None])
    row = np.broadcast_to(columns.offsets, (len(keyroots), columns.count, columns.width + 1)).copy()
    kept = {0: row}
    for step in range(steps):
        costs = table[nodes[:, step], columns.low : columns.high].take(columns.gather, axis=1)
        base = _base_row(kept, row, look_back[:, step])
        options = base.reshape(len(keyroots), -1).take(columns.look_back, axis=1)
        options += costs
        options = options.reshape(len(keyroots), columns.count, columns.width)
        chosen = np.flatnonzero(on_path[:, step])
        if len(chosen):
            at = (chosen[:, None], *columns.path)
            pairs = (nodes[chosen, step][:, None], columns.path_nodes)
            options[at] = row[at] + table[pairs]
        row = _next_row(row, options, columns.offsets)
        if len(chosen):
            table[pairs] = row[..., 1:][at]
        kept = {index: value for index, value in kept.items() if last_use[index] > step}
        if last_use[step + 1] > step:
            kept[step + 1] = row


def _base_row(kept: dict[int, Matrix], row: Matrix, look_back: Indices) -> Matrix:
    """The earlier row that each left subtree looks back to: before the first leaf of its current node."""
    first = int(look_back[0])
    if (look_back == first).all():
        return kept[first]
    base = row.copy()
    for index in np.unique(look_back):
        same = look_back == index
        base[same] = kept[int(index)][same]
    return base


def _next_row(row: Matrix, options: Matrix, offsets: Matrix) -> Matrix:
    """Least of: delete the left node, what `options` offer, or insert the column's node after the column before."""
    following = row + 1
    np.minimum(following[..., 1:], options, out=following[..., 1:])
    following -= offsets
    np.minimum.accumulate(following, axis=-1, out=following)
    following += offsets
    return following
