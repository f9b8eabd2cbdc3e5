"""One page of an OmniDocBench JSON as a record, with every mistake named by its JSON path.

Lenient where the official evaluator is: optional fields may be missing, unknown categories stay and
are only noted. What would silently change a score (a wrong type, a broken polygon) is a mistake.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from evalkit.types import BBox, Block, BlockKind, GroundTruth, Page, Relation, RelationKind, Span, SpanKind

POLY_LENGTH = 8
NUMBERS = frozenset({int, float})
NOWHERE = (math.inf,)
BLOCK_KINDS = frozenset(BlockKind)
SPAN_KINDS = frozenset(SpanKind) | BLOCK_KINDS
RELATION_KINDS = frozenset(RelationKind)


@dataclass(slots=True)
class Findings:
    """What reading a file found: mistakes that forbid its use, and warnings that do not."""

    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def wrong(self, path: str, expected: str, value: Any) -> None:
        """Note a mistake: where, what was expected, what was found."""
        self.problems.append(f"{path}: expected {expected}, found {_shown(value)}")

    def missing(self, path: str, expected: str) -> None:
        """Note a required value that is absent."""
        self.problems.append(f"{path}: missing, expected {expected}")

    def warn(self, path: str, message: str) -> None:
        """Note something that is read, but is worth a look."""
        self.warnings.append(f"{path}: {message}")


def read_page(value: Any, path: str, findings: Findings) -> GroundTruth | None:
    """A page object as a record; None when it has no usable name. `Page.stem` is left to the data set."""
    if not isinstance(value, dict):
        findings.wrong(path, "a page object", value)
        return None
    page = _page(value, path, findings)
    blocks = _blocks(value, path, findings)
    relations = _relations(value, blocks, path, findings)
    if page is None:
        return None
    return GroundTruth(page=page, blocks=blocks, relations=relations, annotation=value)


def _page(value: Mapping[str, Any], path: str, findings: Findings) -> Page | None:
    where = f"{path}.page_info"
    if "page_info" not in value:
        findings.missing(where, "an object with image_path")
        return None
    info = value["page_info"]
    if not isinstance(info, dict):
        findings.wrong(where, "an object with image_path", info)
        return None
    page_id = info.get("image_path")
    attributes = _mapping(info, "page_attribute", where, findings)
    width, height = (_pixels(info, key, where, findings) for key in ("width", "height"))
    if not isinstance(page_id, str) or not _is_file_name(page_id):
        findings.wrong(f"{where}.image_path", "the name of the page image", page_id)
        return None
    return Page(page_id=page_id, stem=page_id, width_px=width, height_px=height, attributes=attributes)


def _blocks(value: Mapping[str, Any], path: str, findings: Findings) -> tuple[Block, ...]:
    where = f"{path}.layout_dets"
    if "layout_dets" not in value:
        findings.missing(where, "a list of blocks")
        return ()
    items = value["layout_dets"]
    if not isinstance(items, list):
        findings.wrong(where, "a list of blocks", items)
        return ()
    read = (_block(item, f"{where}[{index}]", findings) for index, item in enumerate(items))
    blocks = tuple(block for block in read if block is not None)
    _warn_repeated_ids(blocks, where, findings)
    return blocks


def _block(value: Any, path: str, findings: Findings) -> Block | None:
    if not isinstance(value, dict):
        findings.wrong(path, "a block object", value)
        return None
    kind = value.get("category_type")
    if not isinstance(kind, str) or not kind:
        findings.wrong(f"{path}.category_type", "a category name", kind)
        return None
    if kind not in BLOCK_KINDS:
        findings.warn(f"{path}.category_type", f"unknown category {kind!r}; the block is kept, no rule scores it")
    poly = _poly(value, path, findings)
    for index, part in enumerate(_list(value, "merge_list", path, findings)):
        _block(part, f"{path}.merge_list[{index}]", findings)
    return Block(
        kind=kind,
        text=_text(value, "text", path, findings),
        latex=_text(value, "latex", path, findings),
        html=_text(value, "html", path, findings),
        order=_order(value, path, findings),
        block_id=_block_id(value, path, findings),
        bbox=_bounds(poly),
        poly=poly,
        ignore=_flag(value, "ignore", path, findings),
        spans=_spans(value, path, findings),
        attributes=_mapping(value, "attribute", path, findings),
        annotation=value,
    )


def _spans(value: Mapping[str, Any], path: str, findings: Findings) -> tuple[Span, ...]:
    spans: list[Span] = []
    for index, item in enumerate(_list(value, "line_with_spans", path, findings)):
        where = f"{path}.line_with_spans[{index}]"
        if not isinstance(item, dict):
            findings.wrong(where, "a span object", item)
            continue
        kind = item.get("category_type")
        if not isinstance(kind, str) or not kind:
            findings.wrong(f"{where}.category_type", "a span category name", kind)
            continue
        if kind not in SPAN_KINDS:
            findings.warn(f"{where}.category_type", f"unknown span category {kind!r}")
        text, latex = _text(item, "text", where, findings), _text(item, "latex", where, findings)
        spans.append(Span(kind, text, latex, _poly(item, where, findings)))
    return tuple(spans)


def _relations(
    value: Mapping[str, Any], blocks: tuple[Block, ...], path: str, findings: Findings
) -> tuple[Relation, ...]:
    extra = _mapping(value, "extra", path, findings)
    known = {block.block_id for block in blocks}
    relations: list[Relation] = []
    for index, item in enumerate(_list(extra, "relation", f"{path}.extra", findings)):
        where = f"{path}.extra.relation[{index}]"
        if not isinstance(item, dict):
            findings.wrong(where, "a relation object", item)
            continue
        relation = _relation(item, where, findings)
        if relation is None:
            continue
        relations.append(relation)
        findings.warnings.extend(
            f"{where}: no block has anno_id {end!r}"
            for end in (relation.source_id, relation.target_id)
            if end not in known
        )
    return tuple(relations)


def _relation(item: Mapping[str, Any], path: str, findings: Findings) -> Relation | None:
    ends = [item.get(key) for key in ("source_anno_id", "target_anno_id")]
    for key, end in zip(("source_anno_id", "target_anno_id"), ends, strict=True):
        if not _is_id(end):
            findings.wrong(f"{path}.{key}", "the anno_id of a block", end)
    kind = item.get("relation_type", item.get("relation"))
    if not isinstance(kind, str):
        findings.wrong(f"{path}.relation_type", "a relation name", kind)
        return None
    if kind not in RELATION_KINDS:
        findings.warn(f"{path}.relation_type", f"unknown relation {kind!r}")
    source, target = ends
    if not _is_id(source) or not _is_id(target):
        return None
    return Relation(kind=kind, source_id=source, target_id=target)


def _poly(value: Mapping[str, Any], path: str, findings: Findings) -> tuple[float, ...] | None:
    poly = value.get("poly")
    if poly is None:
        return None
    # A file holds hundreds of thousands of these: one look at all eight numbers, not one at each.
    if isinstance(poly, list) and len(poly) == POLY_LENGTH and NUMBERS.issuperset(map(type, poly)):
        try:
            corners = tuple(map(float, poly))
        except OverflowError:
            corners = NOWHERE
        if all(map(math.isfinite, corners)):
            return corners
    findings.wrong(f"{path}.poly", "8 numbers", poly)
    return None


def _bounds(poly: tuple[float, ...] | None) -> BBox | None:
    if poly is None:
        return None
    xs, ys = poly[0::2], poly[1::2]
    return BBox(min(xs), min(ys), max(xs), max(ys))


def _text(value: Mapping[str, Any], key: str, path: str, findings: Findings) -> str | None:
    text = value.get(key)
    if text is None or isinstance(text, str):
        return text
    findings.wrong(f"{path}.{key}", "text", text)
    return None


def _order(value: Mapping[str, Any], path: str, findings: Findings) -> float | None:
    order = value.get("order")
    if order is None:
        return None
    if not _is_number(order):
        findings.wrong(f"{path}.order", "a number or null", order)
        return None
    return float(order)


def _block_id(value: Mapping[str, Any], path: str, findings: Findings) -> int | str | None:
    block_id = value.get("anno_id")
    if block_id is None:
        return None
    if isinstance(block_id, (int, str)) and not isinstance(block_id, bool):
        return block_id
    findings.wrong(f"{path}.anno_id", "an integer or a text", block_id)
    return None


def _pixels(value: Mapping[str, Any], key: str, path: str, findings: Findings) -> int | None:
    size = value.get(key)
    if size is None:
        return None
    if not _is_number(size) or size < 1:
        findings.wrong(f"{path}.{key}", "a positive number of pixels", size)
        return None
    return round(size)


def _flag(value: Mapping[str, Any], key: str, path: str, findings: Findings) -> bool:
    flag = value.get(key, False)
    if not isinstance(flag, bool):
        findings.warn(f"{path}.{key}", f"expected true or false, found {_shown(flag)}; read as {bool(flag)}")
    return bool(flag)


def _mapping(value: Mapping[str, Any], key: str, path: str, findings: Findings) -> Mapping[str, Any]:
    inner = value.get(key)
    if inner is None:
        return {}
    if not isinstance(inner, dict):
        findings.wrong(f"{path}.{key}", "an object", inner)
        return {}
    return inner


def _list(value: Mapping[str, Any], key: str, path: str, findings: Findings) -> list[Any]:
    inner = value.get(key)
    if inner is None:
        return []
    if not isinstance(inner, list):
        findings.wrong(f"{path}.{key}", "a list", inner)
        return []
    return inner


def _warn_repeated_ids(blocks: tuple[Block, ...], path: str, findings: Findings) -> None:
    seen: set[int | str] = set()
    for index, block in enumerate(blocks):
        if block.block_id is None:
            continue
        if block.block_id in seen:
            findings.warn(f"{path}[{index}].anno_id", f"{block.block_id!r} is used twice on this page")
        seen.add(block.block_id)


def _is_number(value: Any) -> TypeGuard[float]:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _is_id(value: Any) -> TypeGuard[int | str]:
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def _is_file_name(name: str) -> bool:
    try:
        return bool(name.encode("utf-8").strip()) and "\0" not in name
    except UnicodeEncodeError:
        return False


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return "an object"
    return repr(value)[:60]
