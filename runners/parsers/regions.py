"""Layout regions and text lines put together: which line belongs where, and in which order one reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from evalkit.types import BBox
from runners.parsers.grid import Grid, find_grids, grid_of
from runners.parsers.lines import TextLine, area, height, hull, intersection, printed_rows

NESTED_SHARE = 0.8  # a region with this share of its area inside a more certain one is dropped
INSIDE_SHARE = 0.5  # a line belongs to a region that holds this share of its area
PAGE_SIZED = 0.55  # share of the page from which one region is taken for the page itself
LINES_OF_A_PICTURE = 5  # a page-sized figure with more lines than this is text
CUT_GAP = 0.3  # least gap between two parts of a page that may be cut, in line heights


@dataclass(frozen=True, slots=True)
class Region:
    """A region found by a layout model, or made of left-over lines, with the lines in it."""

    kind: str
    bbox: BBox
    score: float = 1.0
    lines: tuple[TextLine, ...] = ()
    grid: Grid | None = None


def assemble(regions: Sequence[Region], lines: Sequence[TextLine], page: BBox) -> list[Region]:
    """Regions with their lines in reading order; lines of no region form text regions of their own."""
    kept = _drop_page_sized(_drop_nested(regions), lines, page)
    filled, loose = _assign(kept, lines)
    filled = [_as_table(region) for region in filled]
    grids = find_grids(loose)
    filled += [Region("table", grid.bbox, lines=grid.lines, grid=grid) for grid in grids]
    gridded = {id(line) for grid in grids for line in grid.lines}
    filled += _regions_of_loose_lines([line for line in loose if id(line) not in gridded])
    return reading_order([region for region in filled if region.lines or region.kind in {"figure", "table"}])


def _drop_nested(regions: Sequence[Region]) -> list[Region]:
    kept: list[Region] = []
    for region in sorted(regions, key=lambda item: -item.score):
        inside = any(intersection(region.bbox, other.bbox) > NESTED_SHARE * area(region.bbox) for other in kept)
        if not inside:
            kept.append(region)
    return kept


def _drop_page_sized(regions: list[Region], lines: Sequence[TextLine], page: BBox) -> list[Region]:
    """A figure or table over most of a page full of running text is a mistake of the layout model."""

    def plausible(region: Region) -> bool:
        if region.kind not in {"figure", "table"} or area(region.bbox) < PAGE_SIZED * area(page):
            return True
        inside = [line for line in lines if intersection(line.bbox, region.bbox) > INSIDE_SHARE * area(line.bbox)]
        if region.kind == "figure":
            return len(inside) <= LINES_OF_A_PICTURE
        return not _is_running_text(inside)

    return [region for region in regions if plausible(region)]


def _as_table(region: Region) -> Region:
    """A table with the grid that its lines form, if they form one; likewise a formula that is a small table."""
    if region.kind not in {"table", "equation"}:
        return region
    grid = grid_of(region.lines)
    return region if grid is None else replace(region, kind="table", grid=grid)


def _is_running_text(lines: Sequence[TextLine]) -> bool:
    """Whether most of the ink is in lines as long as those of paragraphs rather than of table cells."""
    if not lines:
        return False
    total = sum(len(line.text) for line in lines)
    long = sum(len(line.text) for line in lines if len(line.text) >= 25)
    return long > 0.6 * total


def _assign(regions: Sequence[Region], lines: Sequence[TextLine]) -> tuple[list[Region], list[TextLine]]:
    members: list[list[TextLine]] = [[] for _ in regions]
    loose: list[TextLine] = []
    for line in lines:
        shares = [intersection(line.bbox, region.bbox) for region in regions]
        best = max(range(len(regions)), key=lambda index: (shares[index], -area(regions[index].bbox)), default=None)
        if best is not None and shares[best] > INSIDE_SHARE * area(line.bbox):
            members[best].append(line)
        else:
            loose.append(line)
    return [replace(region, lines=tuple(own)) for region, own in zip(regions, members, strict=True)], loose


def _regions_of_loose_lines(lines: Sequence[TextLine]) -> list[Region]:
    """Columns of neighbouring lines outside every region: each run of lines below one another is a text."""
    groups: list[list[TextLine]] = []
    for row in printed_rows(lines):
        for line in row:
            group = next((group for group in reversed(groups) if _continues(group[-1], line)), None)
            if group is None:
                groups.append([line])
            else:
                group.append(line)
    return [Region("text", hull([line.bbox for line in group]), lines=tuple(group)) for group in groups]


def _continues(above: TextLine, below: TextLine) -> bool:
    gap = below.bbox.y1 - above.bbox.y2
    tall = min(height(above.bbox), height(below.bbox))
    common = min(above.bbox.x2, below.bbox.x2) - max(above.bbox.x1, below.bbox.x1)
    narrow = min(above.bbox.x2 - above.bbox.x1, below.bbox.x2 - below.bbox.x1)
    alike = max(height(above.bbox), height(below.bbox)) < 1.5 * tall
    return alike and -0.5 * tall < gap < 1.0 * tall and common > 0.5 * narrow


def reading_order(regions: Sequence[Region]) -> list[Region]:
    """Regions in reading order by recursive cuts: rows where white space crosses the page, else columns."""
    heights = [height(line.bbox) for region in regions for line in region.lines]
    gap = CUT_GAP * (median(heights) if heights else 0.0)
    ordered: list[Region] = []
    pending = [list(regions)]
    while pending:
        part = pending.pop()
        pieces = _cut(part, gap)
        if len(pieces) == 1:
            ordered.extend(sorted(part, key=lambda item: (item.bbox.y1, item.bbox.x1)))
        else:
            pending.extend(reversed(pieces))
    return ordered


def _cut(regions: list[Region], gap: float) -> list[list[Region]]:
    """The parts between cuts: columns where they run the whole height of the part, else rows."""
    if len(regions) < 2:
        return [regions]
    columns = _columns(regions, gap)
    rows = _rows(regions, gap)
    if len(columns) > 1 and (len(rows) == 1 or all(len(column) > 1 for column in columns)):
        return columns
    joined = _join_rows_of_columns(rows, gap)
    return joined if len(joined) > 1 else columns


def _columns(regions: list[Region], gap: float) -> list[list[Region]]:
    return _split(regions, lambda box: (box.x1, box.x2), gap)


def _rows(regions: list[Region], gap: float) -> list[list[Region]]:
    return _split(regions, lambda box: (box.y1, box.y2), gap)


def _join_rows_of_columns(rows: list[list[Region]], gap: float) -> list[list[Region]]:
    """Rows below one another that share their column gaps are one part: columns are read to their end."""
    parts: list[list[Region]] = []
    for row in rows:
        if parts and len(_columns(row, gap)) > 1 and len(_columns(parts[-1], gap)) > 1:
            both = parts[-1] + row
            if len(_columns(both, gap)) > 1:
                parts[-1] = both
                continue
        parts.append(row)
    return parts


def _split(regions: list[Region], side: Callable[[BBox], tuple[float, float]], gap: float) -> list[list[Region]]:
    ordered = sorted(regions, key=lambda item: side(item.bbox)[0])
    parts = [[ordered[0]]]
    end = side(ordered[0].bbox)[1]
    for region in ordered[1:]:
        start, stop = side(region.bbox)
        if start - end >= gap:
            parts.append([region])
        else:
            parts[-1].append(region)
        end = max(end, stop)
    return parts
