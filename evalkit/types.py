"""The records that flow between the stages: frozen, slotted, and with None for what is absent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class BlockKind(StrEnum):
    """Block categories of the OmniDocBench annotation (28, spelled as its JSON spells them).

    Source: OmniDocBench README, section on the data format; PaDoc paper, Table 4, for their order.
    """

    TEXT_BLOCK = "text_block"
    TITLE = "title"
    REFERENCE = "reference"
    LIST_GROUP = "list_group"
    CODE_TXT = "code_txt"
    CODE_TXT_CAPTION = "code_txt_caption"
    HEADER = "header"
    FOOTER = "footer"
    PAGE_NUMBER = "page_number"
    PAGE_FOOTNOTE = "page_footnote"
    TABLE_CAPTION = "table_caption"
    TABLE_FOOTNOTE = "table_footnote"
    FIGURE_CAPTION = "figure_caption"
    FIGURE_FOOTNOTE = "figure_footnote"
    EQUATION_CAPTION = "equation_caption"
    ALGORITHM_MASK = "algorithm_mask"
    TEXT_MASK = "text_mask"
    TABLE = "table"
    TABLE_MASK = "table_mask"
    EQUATION_ISOLATED = "equation_isolated"
    EQUATION_SEMANTIC = "equation_semantic"
    EQUATION_EXPLANATION = "equation_explanation"
    ORGANIC_CHEMICAL_FORMULA_MASK = "organic_chemical_formula_mask"
    FIGURE = "figure"
    CHART_MASK = "chart_mask"
    ABANDON = "abandon"
    NEED_MASK = "need_mask"
    UNKNOWN_MASK = "unknown_mask"


class SpanKind(StrEnum):
    """Span categories inside a block of the OmniDocBench annotation."""

    TEXT_SPAN = "text_span"
    EQUATION_INLINE = "equation_inline"
    EQUATION_IGNORE = "equation_ignore"
    FOOTNOTE_MARK = "footnote_mark"


class RelationKind(StrEnum):
    """How two annotated blocks of a page belong together."""

    PARENT_SON = "parent_son"
    TRUNCATED = "truncated"


class FinishState(StrEnum):
    """How one request for one page ended. Only OK counts in `pps`."""

    OK = "ok"
    TRUNCATED = "truncated"
    INVALID = "invalid"
    ERROR = "error"
    TIMEOUT = "timeout"


class Provenance(StrEnum):
    """Where a figure comes from; stands beside every figure that is shown."""

    MEASURED = "measured"
    ESTIMATED = "estimated"
    EMULATED = "emulated"
    SIMULATED = "simulated"
    PUBLISHED = "published"


@dataclass(frozen=True, slots=True)
class BBox:
    """Axis-aligned box in pixels of the page image, origin top left, x1 <= x2 and y1 <= y2."""

    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True, slots=True)
class Span:
    """A line or an inline part of a block; `kind` is a SpanKind, or a BlockKind for a formula line."""

    kind: str
    text: str | None = None
    latex: str | None = None
    poly: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a page, annotated or predicted.

    `kind` is a BlockKind for annotated blocks and, for predicted ones, the system's own label.
    `poly` is x1 y1 … x4 y4 in px as annotated. `source` is the [start, end) span in the raw output.
    `order` is the annotated reading position (None: not part of the reading order).
    `annotation` is the untouched JSON object of an annotated block, for protocols.
    """

    kind: str
    text: str | None = None
    latex: str | None = None
    html: str | None = None
    order: float | None = None
    block_id: int | str | None = None
    bbox: BBox | None = None
    poly: tuple[float, ...] | None = None
    ignore: bool = False
    spans: tuple[Span, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    source: tuple[int, int] | None = None
    annotation: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """One page image. `page_id` is the image path as the data set names it, unique in the data set.

    `stem` names the prediction file (`<stem>.md`); it keeps folders only where base names collide.
    """

    page_id: str
    stem: str
    width_px: int | None = None
    height_px: int | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between two annotated blocks by their ids."""

    kind: str
    source_id: int | str
    target_id: int | str


@dataclass(frozen=True, slots=True)
class GroundTruth:
    """The annotation of one page. `annotation` is the untouched JSON object, for protocols."""

    page: Page
    blocks: tuple[Block, ...]
    relations: tuple[Relation, ...] = ()
    annotation: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Tokens of one request as the server's usage reports them; None where it does not."""

    input: int | None = None
    output: int | None = None
    cached_input: int | None = None


@dataclass(frozen=True, slots=True)
class RawOutput:
    """What a system answered for one page.

    Times are seconds on the run's monotonic clock: `arrival_s` slot became free or scheduled time,
    `send_s` just before the first request byte, `first_s` first non-empty chunk, `last_s` last chunk.
    """

    page_id: str
    text: str | None
    state: FinishState
    reason: str | None = None
    finish_reason: str | None = None
    arrival_s: float | None = None
    send_s: float | None = None
    first_s: float | None = None
    last_s: float | None = None
    tokens: TokenCounts = TokenCounts()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prediction:
    """A page turned into markdown, and into blocks where the output format has boxes.

    `markdown` is None when there is no usable output; then `reason` says why.
    """

    page_id: str
    markdown: str | None
    blocks: tuple[Block, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class MatchedPair:
    """Annotated and predicted parts of one page that a protocol joined, with what it compares.

    `element` is the protocol's element (text_block, display_formula, table, reading_order).
    `gt_idx` and `pred_idx` are positions in the page's lists; () on one side means unmatched.
    `rule` names the rule that joined them. `details` holds the protocol's further fields.
    """

    page_id: str
    element: str
    gt_idx: tuple[int, ...]
    pred_idx: tuple[int, ...]
    gt: str
    pred: str
    norm_gt: str
    norm_pred: str
    rule: str
    gt_kind: str | None = None
    pred_kind: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PairScore:
    """One metric's value for one pair, or None with a reason. `details` is what the metric knows besides."""

    value: float | None
    reason: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PageScore:
    """Metric values of one page (None: the page has nothing to score for that metric)."""

    page_id: str
    values: Mapping[str, float | None]
    prediction_state: str = "ok"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """One metric over a data set, by averaging rule. `whole` exists for distances only.

    page_avg: mean over pages of the page value. sample_avg: mean over pairs.
    whole: sum of edit operations over sum of lengths.
    """

    page_avg: float | None
    sample_avg: float | None
    whole: float | None = None
    pages: int = 0
    samples: int = 0
    unscored: int = 0
    interval: tuple[float, float] | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of the evaluate stage; written as evaluate/summary.json."""

    overall: float | None
    pages: int
    protocol: str
    signature: str
    metrics: Mapping[str, MetricSummary]
    groups: Mapping[str, Mapping[str, Mapping[str, float | None]]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
