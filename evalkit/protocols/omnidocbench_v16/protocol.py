"""The protocol as the evaluate stage sees it: pages prepared, scored one by one, and summed up.

What scores a page is imported by the workers that score pages, not by the process that hands them out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from evalkit import registry
from evalkit.errors import unknown_name
from evalkit.protocols.omnidocbench_v16 import official_output
from evalkit.protocols.omnidocbench_v16.cdm_score import METRIC as CDM
from evalkit.protocols.omnidocbench_v16.cdm_score import unrenderable_truth, with_cdm
from evalkit.protocols.omnidocbench_v16.elements import ELEMENTS, FORMULA, PAGE_METRICS
from evalkit.protocols.omnidocbench_v16.figures import ElementFigures, element_figures, overall
from evalkit.protocols.omnidocbench_v16.gt_items import GtPage, gt_page
from evalkit.protocols.omnidocbench_v16.normalize.latex_backend import latex_table_backend
from evalkit.protocols.omnidocbench_v16.policy import LatexTables
from evalkit.protocols.result import Figures, PageResult
from evalkit.types import GroundTruth, MetricSummary

if TYPE_CHECKING:
    from evalkit.protocols.omnidocbench_v16.selfcheck import Imperfection

# Measured on ordinary pages, truth and prediction counted.
SECONDS_A_CHAR = 1.8e-6
METRICS = (
    "text_edit",
    "formula_edit",
    "formula_cdm",
    "table_teds",
    "table_teds_s",
    "table_edit",
    "read_order_edit",
)
OWN_CDM = "native"


@dataclass(frozen=True, slots=True)
class PreparedPage:
    """A page as it is sent to a worker."""

    gt: GtPage
    latex_tables: LatexTables


@dataclass(frozen=True, slots=True)
class OmniDocBenchV16:
    """OmniDocBench v1.6 end to end, equal to the official evaluator at commit 9dc1dec.

    `latex_tables` says what turns LaTeX tables into HTML; it is part of every signature. `cdm_backend` names what
    computes CDM; another than our own is part of the signature too.
    """

    latex_tables: LatexTables = field(default_factory=lambda: LatexTables(latex_table_backend()))
    cdm_backend: str = OWN_CDM
    name: str = "omnidocbench-1.6"
    metrics: tuple[str, ...] = METRICS

    def configured(self, options: Mapping[str, str]) -> OmniDocBenchV16:
        """This protocol with other options. Raises UserError for one that it does not have."""
        known: dict[str, list[str]] = {
            "latex_tables": [str(choice) for choice in LatexTables],
            "cdm_backend": registry.names("cdm_backend"),
        }
        for name, value in options.items():
            if name not in known:
                raise unknown_name("option of the protocol", name, known)
            if value not in known[name]:
                raise unknown_name(f"value of {name}", value, known[name])
        choice = LatexTables(options.get("latex_tables", self.latex_tables))
        return replace(
            self,
            latex_tables=LatexTables(latex_table_backend(choice)),
            cdm_backend=options.get("cdm_backend", self.cdm_backend),
        )

    def options(self) -> dict[str, str]:
        """What a signature says besides the protocol's name."""
        backend = {} if self.cdm_backend == OWN_CDM else {"cdm": self.cdm_backend}
        return {"latex_tables": str(self.latex_tables), **backend}

    def get_ready(self) -> None:
        """Import what scores a page."""
        from evalkit.protocols.omnidocbench_v16 import score  # noqa: F401

        for name in chain.from_iterable(PAGE_METRICS.values()):
            registry.load("metric", name)

    def prepare(self, truth: GroundTruth) -> PreparedPage:
        """What a page asks for, small enough to be sent to a worker."""
        return PreparedPage(gt_page(truth), self.latex_tables)

    def weight(self, truth: GroundTruth, markdown: str) -> float:
        """How many seconds a page takes, roughly."""
        annotated = sum(
            len(block.text or "") + len(block.latex or "") + len(block.html or "") for block in truth.blocks
        )
        return (annotated + len(markdown)) * SECONDS_A_CHAR

    def score_page(self, prepared: PreparedPage, page_id: str, markdown: str) -> PageResult:
        """The scored pairs of one page, without CDM."""
        from evalkit.protocols.omnidocbench_v16.score import score_page

        return score_page(prepared.gt, page_id, markdown, latex_tables=prepared.latex_tables)

    def official_rows(self, result: PageResult, image_name: str) -> dict[str, list[dict[str, Any]]]:
        """A page's rows of files in the official layout, those that CDM may change left out."""
        return official_output.page_rows(result, image_name)

    def image_names(self, truths: Sequence[GroundTruth]) -> dict[str, str]:
        """The name of each page in official files."""
        return image_names(truths)

    def check_page(self, truth: GroundTruth) -> list[Imperfection]:
        """What is not perfect when a page's truth is scored against itself, and why."""
        from evalkit.protocols.omnidocbench_v16.selfcheck import check_page

        return check_page(truth)

    def truth_markdown(self, truth: GroundTruth) -> str:
        """The markdown of a perfect parser."""
        from evalkit.protocols.omnidocbench_v16.truth_markdown import truth_markdown

        return truth_markdown(truth)

    def score_formulas(
        self, results: Sequence[PageResult], *, workers: int, progress: Callable[[int, int], None]
    ) -> list[PageResult]:
        """The results with CDM."""
        metric = registry.load("metric", CDM)
        if self.cdm_backend != OWN_CDM:
            metric = metric.using(registry.load("cdm_backend", self.cdm_backend))
        return with_cdm(results, metric, workers=workers, progress=progress)

    def figures(self, truths: Sequence[GroundTruth], results: Sequence[PageResult], *, cdm: bool) -> Figures:
        """Everything that is said about a data set."""
        elements = {element: element_figures(element, truths, results, cdm=cdm) for element in ELEMENTS}
        summaries = _summaries(elements)
        return Figures(
            overall=overall(*(summaries[name].page_avg for name in ("text_edit", "table_teds", "formula_cdm"))),
            metrics=summaries,
            page_values=_by_metric(elements, "page_values"),
            page_groups=_by_metric(elements, "page_groups"),
            block_groups={
                name: {label: value for label, (value, _) in found.items()}
                for name, found in _by_metric(elements, "block_groups").items()
            },
            official=_official(elements, truths),
            details={"unrenderable_truth": unrenderable_truth(results)} if cdm else {},
        )


def _by_metric(elements: Mapping[str, ElementFigures], field: str) -> dict[str, Any]:
    found = {name: value for figures in elements.values() for name, value in getattr(figures, field).items()}
    return {name: found[name] for name in METRICS if name in found}


def _summaries(elements: Mapping[str, ElementFigures]) -> dict[str, MetricSummary]:
    found = _by_metric(elements, "summaries")
    not_scored = MetricSummary(None, None, reason="not_scored")
    return {name: found.get(name, not_scored) for name in METRICS}


def _official(elements: Mapping[str, ElementFigures], truths: Sequence[GroundTruth]) -> dict[str, Any]:
    formulas = official_output.formula_rows(elements[FORMULA].pairs, image_names(truths))
    return {"metric_result": official_output.metric_result(elements), **formulas}


def image_names(truths: Sequence[GroundTruth]) -> dict[str, str]:
    """The name of each page in official files: its image's base name, or its path where base names collide."""
    bases = {truth.page.page_id: PurePosixPath(truth.page.page_id).name for truth in truths}
    counts: dict[str, int] = {}
    for base in bases.values():
        counts[base] = counts.get(base, 0) + 1
    return {page_id: base if counts[base] == 1 else page_id for page_id, base in bases.items()}


PROTOCOL = OmniDocBenchV16()
