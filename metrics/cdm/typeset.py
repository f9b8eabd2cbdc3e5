"""Typesetting formulas: many in one TeX run, each on its own page, so that none can change another."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from metrics.cdm.format import Workshop, first_error, tex_arguments
from metrics.cdm.formula import Kind
from metrics.cdm.glyphs import FontCase
from metrics.cdm.pdfstream import PageMarks, read_pages
from metrics.cdm.pdfsyntax import PdfError
from metrics.cdm.preamble import batch_document, single_document
from metrics.cdm.sandbox import Limits, run
from metrics.cdm.texlog import Overfull, Stretch, find_overfull, missing_font, stretches
from metrics.cdm.toolchain import missing

CANARY = (
    r"\mathcolor[RGB]{0,0,15}{\left(}\mathcolor[RGB]{0,0,30}{\frac{\hat{a}}{\sqrt[3]{b_{1}^{2}}}}\mathcolor[RGB]{0,0,45}{\right)}"
    r"\sum_{i=1}^{n}\mathbf{x}\mathrm{d}\text{if }\alpha\leq\beta\overline{\mathbb{R}}"
    r"\begin{array}{cc}1&2\\3&4\end{array}"
)
CANARY_EVERY = 20  # formulas between two canaries: what one spoiler can cost
MAX_FONTS_MADE = 8  # fonts made for one run before it is given up
CPU_S = 10  # for one formula; an honest one needs a small part of a second
FORMULAS_A_CPU_S = 10  # what each further formula of a shared run adds to its limit
_JOB = "cdm"
_BRACE_OR_ESCAPE = re.compile(r"\\.|[{}]", re.DOTALL)


class TexState(StrEnum):
    """How typesetting a formula ended."""

    OK = "ok"
    TEX_ERROR = "tex_error"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class Typeset:
    """A formula's pages, or why there are none."""

    state: TexState
    pages: tuple[PageMarks, ...] = ()
    overfull: Overfull | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class _Run:
    """What one TeX run left behind; `pages` is None without a readable PDF."""

    log: str
    pages: list[PageMarks] | None
    timed_out: bool


class Typesetter:
    """Runs TeX in a scratch folder. One instance a process."""

    def __init__(self, workshop: Workshop, scratch: Path, cpu_s: int = CPU_S) -> None:
        self._workshop = workshop
        self._scratch = scratch
        self._cpu_s = cpu_s
        self._fonts = FontCase()

    def alone(self, kind: Kind, paper: int, latex: str) -> Typeset:
        """Typeset one formula in a document of its own, as the official scorer does."""
        done = self._run(kind, single_document(kind, paper, latex), {}, Limits(cpu_s=self._cpu_s))
        if done.timed_out:
            return Typeset(TexState.TIMEOUT, note="TeX did not end")
        if not done.pages:
            return Typeset(TexState.TEX_ERROR, note=first_error(done.log))
        return Typeset(TexState.OK, tuple(done.pages), find_overfull(done.log))

    def together(self, kind: Kind, paper: int, formulas: Sequence[str]) -> list[Typeset | None]:
        """Typeset formulas in as few runs as possible; None for one that has to be typeset alone.

        A run is believed up to its last intact canary. What comes after is run again without the formula that
        strayed, or, where none is known, in two halves.
        """
        results: list[Typeset | None] = [None] * len(formulas)
        pending = [list(range(len(formulas)))]
        while pending:
            batch = pending.pop()
            if batch:
                pending += reversed(self._one_batch(kind, paper, batch, formulas, results))
        return results

    def _one_batch(
        self, kind: Kind, paper: int, batch: list[int], formulas: Sequence[str], results: list[Typeset | None]
    ) -> list[list[int]]:
        """Run a batch, note the results that can be believed, and return the batches that are still to run."""
        names, contents = _batch_files(batch, formulas)
        limits = Limits(cpu_s=self._cpu_s + len(batch) // FORMULAS_A_CPU_S)
        done = self._run(kind, batch_document(kind, paper, names), contents, limits)
        found = {stretch.name: stretch for stretch in stretches(done.log)}
        if done.pages is None:
            return self._without_pdf(batch, names, found)
        start = 0
        for end in _canary_positions(len(batch)):
            stretch = batch[start:end]
            culprit = next((index for index in stretch if not _is_closed(found.get(f"f{index}"))), None)
            if culprit is not None:
                results[culprit] = _without_page(found.get(f"f{culprit}"), formulas[culprit])
                at = batch.index(culprit)
                return [batch[start:at] + batch[at + 1 :]]
            if not _canaries_agree(done.pages, found, end):
                if end - start == 1:
                    return [batch[end:]]
                middle = (start + end) // 2
                return [batch[start:middle], batch[middle:end], batch[end:]]
            for index in stretch:
                results[index] = _result(found[f"f{index}"], formulas[index], done.pages)
            start = end
        return []

    def _without_pdf(self, batch: list[int], names: Sequence[str], found: dict[str, Stretch]) -> list[list[int]]:
        """A run that died: the last formula it opened is left out; unknown, the batch is halved."""
        if names[0] not in found and len(batch) == 1:
            return []
        opened = [at for at, index in enumerate(batch) if f"f{index}" in found]
        last = opened[-1] if opened else None
        if last is None or _is_closed(found[f"f{batch[last]}"]):
            middle = len(batch) // 2
            return [batch[:middle], batch[middle:]] if len(batch) > 1 else []
        return [batch[:last], batch[last + 1 :]]

    def _run(self, kind: Kind, document: str, files: dict[str, str], limits: Limits) -> _Run:
        """One TeX run; again for each bitmap font that it lacked and that could be made."""
        for _ in range(MAX_FONTS_MADE):
            done = self._run_once(kind, document, files, limits)
            font = missing_font(done.log)
            if done.pages is not None or font is None or not self._workshop.make_font(font):
                return done
        return done

    def _run_once(self, kind: Kind, document: str, files: dict[str, str], limits: Limits) -> _Run:
        workshop = self._workshop
        with tempfile.TemporaryDirectory(dir=self._scratch, prefix="run-") as name:
            folder = Path(name)
            for file_name, text in {_JOB: document, **files}.items():
                (folder / f"{file_name}.tex").write_text(text + "\n", encoding="utf-8", errors="replace")
            command = tex_arguments(workshop.toolchain, workshop.format_path(kind), _JOB)
            outcome = run(command, folder, workshop.environment(folder), limits)
            log_path, pdf_path = folder / f"{_JOB}.log", folder / f"{_JOB}.pdf"
            log = log_path.read_text(encoding="utf-8", errors="replace") if log_path.exists() else ""
            pages = self._read(pdf_path) if pdf_path.exists() and not outcome.timed_out else None
        if not log and not outcome.timed_out:
            raise missing("pdflatex ended without a log")
        return _Run(log, pages, outcome.timed_out)

    def _read(self, path: Path) -> list[PageMarks] | None:
        try:
            return read_pages(path.read_bytes(), self._fonts)
        except PdfError:
            return None


def _batch_files(batch: Sequence[int], formulas: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Names in page order, a canary first and after each stretch, and the text of each."""
    contents = {f"f{index}": formulas[index] for index in batch} | {"c0": CANARY}
    names = ["c0"]
    start = 0
    for end in _canary_positions(len(batch)):
        names += [*(f"f{index}" for index in batch[start:end]), f"c{end}"]
        contents[f"c{end}"] = CANARY
        start = end
    return names, contents


def _canary_positions(count: int) -> list[int]:
    """After how many formulas a canary stands."""
    return [*range(CANARY_EVERY, count, CANARY_EVERY), count]


def _is_closed(stretch: Stretch | None) -> bool:
    return stretch is not None and stretch.closed


def _canaries_agree(pages: Sequence[PageMarks], found: dict[str, Stretch], position: int) -> bool:
    """True when the canary at a position looks like the one before all formulas."""
    first, later = found.get("c0"), found.get(f"c{position}")
    if first is None or later is None or first.page is None or later.page is None or not later.closed:
        return False
    return later.page < len(pages) and pages[first.page] == pages[later.page]


def _without_page(stretch: Stretch | None, latex: str) -> Typeset | None:
    """The outcome of a formula that swallows all that follows it, which is clear without a run of its own."""
    if stretch is None or stretch.unclosed is None or not _leaves_a_brace_open(latex):
        return None
    return Typeset(TexState.TEX_ERROR, note=stretch.unclosed)


def _leaves_a_brace_open(latex: str) -> bool:
    braces = _BRACE_OR_ESCAPE.findall(latex)
    return braces.count("{") > braces.count("}")


def _result(stretch: Stretch, latex: str, pages: Sequence[PageMarks]) -> Typeset | None:
    if stretch.strayed or stretch.page is None or stretch.page >= len(pages):
        return _without_page(stretch, latex)
    return Typeset(TexState.OK, (pages[stretch.page],), stretch.overfull)
