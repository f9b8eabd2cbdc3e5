"""The four elements that are scored, and the metrics of each."""

from __future__ import annotations

from evalkit.protocols.omnidocbench_v16.gt_items import FORMULA as FORMULA_KIND
from evalkit.protocols.omnidocbench_v16.gt_items import TABLE as TABLE_KIND

TEXT, FORMULA, TABLE, ORDER = "text_block", "display_formula", "table", "reading_order"
# The kind of annotated block that counts 0 where nothing was matched with it.
EXPECTED_KIND = {TEXT: None, FORMULA: FORMULA_KIND, TABLE: TABLE_KIND, ORDER: None}
ELEMENTS = tuple(EXPECTED_KIND)
DISTANCES = {TEXT: "text_edit", FORMULA: "formula_edit", TABLE: "table_edit", ORDER: "read_order_edit"}
SIMILARITIES = {FORMULA: ("formula_cdm",), TABLE: ("table_teds", "table_teds_s")}
PAGE_METRICS = {
    TEXT: ("text_edit",),
    FORMULA: ("formula_edit",),
    TABLE: ("table_teds", "table_teds_s", "table_edit"),
    ORDER: ("read_order_edit",),
}


def element_metrics(element: str, *, cdm: bool) -> tuple[str, ...]:
    """Metrics of an element, in the order in which the official configuration runs them."""
    similarities = tuple(name for name in SIMILARITIES.get(element, ()) if cdm or name != "formula_cdm")
    if element == TABLE:
        return (*similarities, DISTANCES[element])
    return (DISTANCES[element], *similarities)
