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
    """Metric values of one page (None: the page has nothing to score for that metric).

    `groups` holds the page's attributes by name, and `content`: table, formula, text or none.
    """

    page_id: str
    values: Mapping[str, float | None]
    prediction_state: str = "ok"
    notes: tuple[str, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)


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


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """What is asked of a system for one page. `sampling` holds further body fields, sent as they are.

    `split_messages` puts prompt and image in user messages of their own. `region_prompts` maps a kind of region to
    its prompt, for parsers of two stages. `image` holds the limits of the system's own image preprocessing.

    `api_key_env` names the environment variable that holds the key; the key itself is never stored.
    """

    prompt: str = ""
    system_prompt: str | None = None
    image_first: bool = True
    split_messages: bool = False
    max_tokens: int | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    api_key_env: str | None = None
    region_prompts: Mapping[str, str] = field(default_factory=dict)
    image: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServeFacts:
    """How a system's server is started. `flags` are the engine's long options without their dashes.

    `details` holds what one launcher alone needs (image digest, wheel address, weights and their sha256).
    """

    launcher: str = "url"
    model: str = ""
    version: str | None = None
    flags: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OutputFacts:
    """What a system answers. `marker` is a text that every usable answer holds; None where there is none.

    `stream` names the grammar by which branches are found in the answer; None for one trajectory. `coordinates` says
    what its boxes count (such as "0-1000"), `tables` how it writes tables, `post_processing` what its authors do.
    """

    converter: str = "markdown"
    variant: str = "official"
    marker: str | None = None
    stream: str | None = None
    coordinates: str | None = None
    tables: str | None = None
    post_processing: str | None = None


@dataclass(frozen=True, slots=True)
class System:
    """One parser as it is run: a file of facts, no code.

    `baseline` is the system that its speed-up is counted against. `command` is for the command runner;
    `environment` names the lock file of the environment that its program runs in. `published`
    are its names among the published figures. `layout` maps its block labels to the broad classes of PageIoU.
    """

    name: str
    title: str
    runner: str
    paradigm: str = "autoregressive"
    speculative: bool = False
    baseline: str | None = None
    identity: Mapping[str, Any] = field(default_factory=dict)
    serve: ServeFacts = ServeFacts()
    request: RequestFacts = RequestFacts()
    output: OutputFacts = OutputFacts()
    command: tuple[str, ...] = ()
    environment: str | None = None
    published: tuple[str, ...] = ()
    notes: str | None = None
    layout: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PageJob:
    """One page to be parsed: the page and the file of its image (an absolute path)."""

    page: Page
    image: str


@dataclass(frozen=True, slots=True)
class Load:
    """How requests arrive. shape: closed (`in_flight` at a time), constant or poisson (`rate_per_s`)."""

    shape: str = "closed"
    in_flight: int = 16
    rate_per_s: float | None = None

    def page_timeout_s(self) -> float:
        """How long a page may take unless told: 10 minutes, and 5 s for each request beside it.

        With 512 in flight a server that brings one page a second answers after 500 s on average.
        """
        return 600.0 + 5.0 * (self.in_flight if self.shape == "closed" else 0)


@dataclass(frozen=True, slots=True)
class InferSettings:
    """How a runner drives a system over pages.

    `order` is dataset or shuffled (by `seed`). `cache` is reset, salt, auto (reset, else salt) or keep.
    `warmup` pages are sent before the clock starts and are not among the timed pages. `check_client` drives the same
    bodies against a loopback stub afterwards, to show that the client was not the bottleneck. `chunk_usage` asks the
    server for the tokens of every chunk, which is work for it and for the client. `launch` is what the
    launcher knows of the server (version, flags, and `differences` from what was asked).
    `preflight` sends the page with the largest image once beforehand; `sample_alone` ok pages are asked again one at a
    time afterwards, to see whether requests side by side change an answer. Both lie outside what is timed.
    """

    system: System
    endpoints: tuple[str, ...] = ()
    load: Load = Load()
    stream: bool = True
    chunk_usage: bool = False
    timeout_s: float = 600.0
    warmup: tuple[PageJob, ...] = ()
    order: str = "dataset"
    seed: int = 0
    processes: int | None = None
    cache: str = "auto"
    sample_every_s: float = 0.2
    check_client: bool = True
    launch: Mapping[str, Any] = field(default_factory=dict)
    preflight: bool = True
    sample_alone: int = 3


@dataclass(frozen=True, slots=True)
class Sample:
    """Readings of one source (a server's counters, a GPU, the host) at one moment of the run's clock."""

    time_s: float
    source: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class BranchTokens:
    """Token lengths of one page's answer, counted by the server's own tokenizer after the drive.

    `total` is the whole answer. `forks` holds, for each branch in reading order, the layout tokens up to and
    including its fork and the tokens of its content; `layout` is the whole layout stream. A single trajectory
    has no forks and `layout` equal to `total`.
    """

    page_id: str
    total: int
    layout: int
    forks: tuple[tuple[int, int], ...] = ()

    @property
    def critical_path(self) -> int:
        """Tokens that must follow one another: the longest of layout-to-the-fork plus branch, or the layout alone."""
        return max([self.layout, *(before + branch for before, branch in self.forks)])

    @property
    def sequential(self) -> int:
        """Tokens of the same answer as one trajectory: layout and all branches."""
        return self.layout + sum(branch for _, branch in self.forks)


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a runner knows about one uninterrupted drive besides its pages' outputs.

    `mode` is server, offline or command; figures of different modes are not ranked together.
    `anchor_unix_s` is the wall clock at time 0 of the run's clock. `client["slots"]` tells how many pages were under
    way at most where the runner takes fewer than the load has in flight.
    """

    mode: str
    anchor_unix_s: float
    emulated: bool = False
    server: Mapping[str, Any] = field(default_factory=dict)
    client: Mapping[str, Any] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    notes: tuple[str, ...] = ()
    branches: tuple[BranchTokens, ...] = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """All that figures of speed are computed from: one drive of one system.

    `outputs` are those of the drive in `facts`; `pages` counts the pages asked for, also in other drives.
    `sessions` over 1 means that the run was interrupted. `chars` counts a page's markdown without white space.
    `groups` names, for each page, the group it is in by attribute. `reference` holds the baseline's outputs.
    """

    system: System
    load: Load
    pages: int
    outputs: tuple[RawOutput, ...]
    facts: RunFacts | None
    sessions: int = 1
    stream: bool = True
    chars: Mapping[str, int] = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    reference: tuple[RawOutput, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of speed with its unit, what it means, and where it comes from.

    `value` is None with a `reason`. `interval` is at 95 %. `count` is how many observations it rests on.
    """

    name: str
    value: float | None
    unit: str
    definition: str
    provenance: Provenance
    reason: str | None = None
    interval: tuple[float, float] | None = None
    count: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ValidityCheck:
    """One rule of measurement hygiene: its value beside its limit. `passed` is None where it cannot be checked.

    The value must be at most the limit, or with `at_least` at least the limit. A run with a failed check is invalid
    unless `allowed` (the user named the rule) or the check only `advises`.
    """

    name: str
    passed: bool | None
    value: float | str | None
    limit: float | str | None
    explanation: str
    allowed: bool = False
    advises: bool = False
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One finding about this machine. state: ok, missing, broken, or absent (not here, and not needed)."""

    name: str
    state: str
    message: str
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What a run is of; written first, as run.json. `dataset` has name, sha256, pages and source.

    `system` is the System record as plain values (None: predictions made elsewhere, then `title` names them).
    """

    run_id: str
    title: str
    created_utc: str
    evalkit: str
    command: str
    dataset: Mapping[str, Any]
    system: Mapping[str, Any] | None = None
    emulated: bool = False
    host: Mapping[str, Any] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Served:
    """A server that answers: its base URLs (ending in /v1), whether it is emulated, and what it said of itself."""

    endpoints: tuple[str, ...]
    emulated: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)
