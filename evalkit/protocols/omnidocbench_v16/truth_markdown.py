"""The markdown that a perfect parser would write for a page, made from its annotation."""

from __future__ import annotations

from evalkit.protocols.omnidocbench_v16.gt_items import FORMULA, TABLE, gt_page
from evalkit.protocols.omnidocbench_v16.match.lines import UNSCORED_TEXT
from evalkit.protocols.omnidocbench_v16.records import GtItem
from evalkit.types import BlockKind, GroundTruth

FORMULA_STARTS = ("$$", "\\[")


def truth_markdown(truth: GroundTruth) -> str:
    """Every scored block in reading order, a blank line between them; captions and notes where they have a place."""
    page = gt_page(truth)
    scored = [item for item in (*page.mixed, *page.tables) if item.order or item.category not in UNSCORED_TEXT]
    return "\n\n".join(_written(item) for item in sorted(scored, key=lambda item: item.order or 0)) + "\n"


def _written(item: GtItem) -> str:
    text = item.content.strip()
    if item.category == BlockKind.TITLE:
        return f"# {text}"
    if item.category == BlockKind.CODE_TXT:
        return f"```\n{text}\n```"
    if item.category == FORMULA and not text.startswith(FORMULA_STARTS):
        return f"$$\n{text}\n$$"
    if item.category == TABLE and "\n\n" in text:
        return "\n".join(line for line in text.split("\n") if line.strip())
    return text
