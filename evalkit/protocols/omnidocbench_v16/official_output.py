"""Results in the layout of the official evaluator, so that its notebooks and scripts read them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from evalkit.protocols.omnidocbench_v16.cdm_text import CdmTexts, as_rendered
from evalkit.protocols.omnidocbench_v16.elements import DISTANCES, ELEMENTS, FORMULA, ORDER
from evalkit.protocols.omnidocbench_v16.figures import ElementFigures
from evalkit.protocols.result import PageResult, ScoredPair
from evalkit.types import MetricSummary

OFFICIAL_NAMES = {
    "text_edit": "Edit_dist",
    "formula_edit": "Edit_dist",
    "table_edit": "Edit_dist",
    "read_order_edit": "Edit_dist",
    "formula_cdm": "CDM",
    "table_teds": "TEDS",
    "table_teds_s": "TEDS_structure_only",
}
NOBODY = [""]


def metric_result(figures: Mapping[str, ElementFigures]) -> dict[str, Any]:
    """`metric_result.json`: every element's figures over all pairs, by block group and by page group."""
    return {element: _element(element, found) for element, found in figures.items()}


def _element(element: str, figures: ElementFigures) -> dict[str, Any]:
    whole = {
        OFFICIAL_NAMES[name]: _whole(summary, distance=name == DISTANCES[element])
        for name, summary in figures.summaries.items()
    }
    counts: dict[str, int] = {}
    groups: dict[str, dict[str, float]] = {}
    for name, found in figures.block_groups.items():
        if found:
            groups[OFFICIAL_NAMES[name]] = {label: value for label, (value, _) in found.items()}
            counts.update({label: count for label, (_, count) in found.items()})
    pages = {OFFICIAL_NAMES[name]: dict(found) for name, found in figures.page_groups.items() if found}
    return {"all": whole, "group": _sorted({**groups, "sample_count": counts}), "page": _sorted(pages)}


def _whole(summary: MetricSummary, *, distance: bool) -> dict[str, float | None]:
    if not distance:
        return {} if summary.sample_avg is None else {"all": summary.sample_avg}
    if summary.page_avg is None:
        return {"ALL_page_avg": None}
    return {"ALL_page_avg": summary.page_avg, "edit_whole": summary.whole, "edit_sample_avg": summary.sample_avg}


def _sorted(value: Any) -> Any:
    return {key: _sorted(item) for key, item in sorted(value.items())} if isinstance(value, dict) else value


def page_rows(result: PageResult, image_name: str) -> dict[str, list[dict[str, Any]]]:
    """A page's rows of each `<element>_result.json` but that of formulas, whose rows are final with CDM only."""
    rows: dict[str, list[dict[str, Any]]] = {_file_of(element): [] for element in ELEMENTS if element != FORMULA}
    for scored in result.pairs:
        element = scored.pair.element
        if element != FORMULA:
            row = _order_row(scored) if element == ORDER else _pair_row(scored)
            rows[_file_of(element)].append(row | _names(image_name) | _scores(element, scored))
    return rows


def formula_rows(pairs: Sequence[ScoredPair], image_names: Mapping[str, str]) -> dict[str, list[dict[str, Any]]]:
    """`display_formula_result.json`: one row a pair."""
    rows = [
        _pair_row(scored)
        | _names(image_names[scored.pair.page_id])
        | _cdm_fields(scored, number)
        | _scores(FORMULA, scored)
        for number, scored in enumerate(pairs)
    ]
    return {_file_of(FORMULA): rows}


def _file_of(element: str) -> str:
    return f"{element}_result"


def _names(image_name: str) -> dict[str, str]:
    return {"img_id": image_name, "image_name": image_name}


def _pair_row(scored: ScoredPair) -> dict[str, Any]:
    pair, details = scored.pair, scored.pair.details
    return {
        "gt_idx": list(pair.gt_idx) or NOBODY,
        "gt": pair.gt,
        "pred_idx": list(pair.pred_idx) or NOBODY,
        "pred": pair.pred,
        "gt_position": ["" if position is None else position for position in details["gt_position"]] or NOBODY,
        "pred_position": "" if details["pred_position"] is None else details["pred_position"],
        "norm_gt": pair.norm_gt,
        "norm_pred": pair.norm_pred,
        "gt_category_type": pair.gt_kind or "",
        "pred_category_type": pair.pred_kind or "",
        "gt_attribute": details["gt_attribute"] or [{}],
        "edit": details["match_edit"],
    }


def _order_row(scored: ScoredPair) -> dict[str, Any]:
    value = scored.value(DISTANCES[ORDER])
    return {"gt": json.loads(scored.pair.gt), "pred": json.loads(scored.pair.pred), "edit": value}


def _scores(element: str, scored: ScoredPair) -> dict[str, Any]:
    fields: dict[str, Any] = {"metric": {}}
    for name, score in scored.scores.items():
        if score.value is not None:
            fields["metric"][OFFICIAL_NAMES[name]] = score.value
    edit = scored.scores.get(DISTANCES[element])
    if edit is not None:
        fields["upper_len"] = edit.details["length"]
        if edit.value is not None:
            fields["Edit_num"] = edit.details["edits"]
    if not fields["metric"]:
        del fields["metric"]
    return fields


def _cdm_fields(scored: ScoredPair, number: int) -> dict[str, Any]:
    texts = CdmTexts(**scored.pair.details["cdm"])
    score = scored.scores.get("formula_cdm")
    if score is None:
        return _present({"gt_cdm": texts.gt, "pred_cdm_alt": texts.pred_alternative})
    rendered = as_rendered(texts)
    better = rendered.pred_alternative if score.details.get("alternative") else rendered.pred
    return {
        "gt_cdm": rendered.gt,
        "pred_cdm": better,
        "img_id_cdm": str(number),
        **_present({"pred_cdm_alt": rendered.pred_alternative}),
    }


def _present(fields: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value}
