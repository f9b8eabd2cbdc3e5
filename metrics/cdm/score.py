"""The metric `formula_cdm`: F1 over matched tokens, with the state of either side beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evalkit.types import PairScore
from metrics.cdm.boxes import RULE_VERSION
from metrics.cdm.cache import ResultCache
from metrics.cdm.contract import Backend, Pair, Progress
from metrics.cdm.doctor import require_healthy
from metrics.cdm.format import Workshop
from metrics.cdm.match import Match, Side
from metrics.cdm.pool import Crew, chunk_size, crew, useful_workers
from metrics.cdm.rendering import Rendering, SideState
from metrics.cdm.svg import match_svg
from metrics.cdm.toolchain import cache_folder, find_toolchain

READING_VERSION = 1  # part of the cache key: raise it when tokens, normal form or colours can change
DIGITS = 3  # the official scorer rounds recall, precision and F1
MATCH_CHUNK = 50


@dataclass(frozen=True, slots=True)
class NativeBackend:
    """CDM computed by this package. Two equal formulas are drawn once; drawings are kept between runs."""

    folder: Path | None = None
    keep_drawings: bool = True

    @property
    def name(self) -> str:
        """The name under which it is registered."""
        return "native"

    def score_many(
        self, pairs: Sequence[Pair], *, workers: int = 1, progress: Progress | None = None
    ) -> list[PairScore]:
        """Score pairs; the result depends neither on their order nor on the number of workers."""
        formulas = list(dict.fromkeys(text for pair in pairs for text in pair))
        steps = _Steps(progress, len(formulas) + len(pairs))
        workshop = self._workshop()
        drawn = self._kept(workshop, formulas)
        steps.advance(len(drawn))
        missing = [formula for formula in formulas if formula not in drawn]
        with crew(workshop, useful_workers(workers, len(missing), len(pairs))) as workforce:
            drawn |= self._draw(workforce, workshop, missing, steps)
            return _score(workforce, [(drawn[gt], drawn[pred]) for gt, pred in pairs], steps)

    def render_pair(self, gt: str, pred: str) -> tuple[Rendering, Rendering, Match | None]:
        """Both sides of a pair and, where both can be seen, their match."""
        workshop = self._workshop()
        steps = _Steps(None, 0)
        drawn = self._kept(workshop, (gt, pred))
        missing = [formula for formula in dict.fromkeys((gt, pred)) if formula not in drawn]
        with crew(workshop, 1) as workforce:
            drawn |= self._draw(workforce, workshop, missing, steps)
            matched = _match_all(workforce, [(drawn[gt].side, drawn[pred].side)], steps).get(0)
        return drawn[gt], drawn[pred], matched

    def _workshop(self) -> Workshop:
        workshop = Workshop(find_toolchain(), self.folder or cache_folder())
        require_healthy(workshop)
        return workshop

    def _cache(self, workshop: Workshop) -> ResultCache:
        folder = (self.folder or cache_folder()) / "drawings"
        reader = f"pylatexenc {version('pylatexenc')}"
        return ResultCache(folder, f"{workshop.key}|{reader}|{READING_VERSION}|{RULE_VERSION}")

    def _kept(self, workshop: Workshop, formulas: Sequence[str]) -> dict[str, Rendering]:
        """Drawings of earlier runs."""
        cache = self._cache(workshop)
        found = {formula: cache.get(formula) for formula in formulas} if self.keep_drawings else {}
        return {formula: Rendering.from_json(body) for formula, body in found.items() if body is not None}

    def _draw(
        self, workforce: Crew, workshop: Workshop, formulas: Sequence[str], steps: _Steps
    ) -> dict[str, Rendering]:
        """New drawings, kept for later runs unless they ran out of time."""
        cache = self._cache(workshop)
        order = sorted(formulas, key=_similar_first)
        size = chunk_size(len(order), workforce.size)
        chunks = [order[start : start + size] for start in range(0, len(order), size)]
        drawn: dict[str, Rendering] = {}
        for number, renderings in workforce.render(list(enumerate(chunks))):
            for formula, rendering in zip(chunks[number], renderings, strict=True):
                drawn[formula] = rendering
                if self.keep_drawings and rendering.state is not SideState.TIMEOUT:
                    cache.put(rendering.to_json(), formula)
            steps.advance(len(renderings))
        return drawn


NATIVE = NativeBackend()


@dataclass(slots=True)
class _Steps:
    """Counts what is done and tells the caller."""

    tell: Progress | None
    total: int
    done: int = 0

    def advance(self, count: int) -> None:
        self.done += count
        if self.tell is not None and count:
            self.tell(self.done, self.total)


def _similar_first(formula: str) -> tuple[bool, bool]:
    """Sort key that brings formulas with the same preamble together."""
    return ("tabular" in formula, any("\u4e00" <= char <= "\u9fff" for char in formula))


def _score(workforce: Crew, drawn: Sequence[tuple[Rendering, Rendering]], steps: _Steps) -> list[PairScore]:
    matches = _match_all(workforce, [(gt.side, pred.side) for gt, pred in drawn], steps)
    return [_pair_score(gt, pred, matches.get(index)) for index, (gt, pred) in enumerate(drawn)]


def _match_all(workforce: Crew, sides: Sequence[tuple[Side | None, Side | None]], steps: _Steps) -> dict[int, Match]:
    """Matches of the pairs of which both sides can be seen."""
    visible = [(index, (gt, pred)) for index, (gt, pred) in enumerate(sides) if gt is not None and pred is not None]
    steps.advance(len(sides) - len(visible))
    chunks = [visible[start : start + MATCH_CHUNK] for start in range(0, len(visible), MATCH_CHUNK)]
    matches: dict[int, Match] = {}
    for number, found in workforce.match(
        [(number, [pair for _, pair in chunk]) for number, chunk in enumerate(chunks)]
    ):
        matches |= {index: one for (index, _), one in zip(chunks[number], found, strict=True)}
        steps.advance(len(found))
    return matches


def _pair_score(gt: Rendering, pred: Rendering, matched: Match | None) -> PairScore:
    """The official figures. Quirk: with an invisible truth all of them are 0, the prediction's tokens too."""
    gt_count = len(gt.side.tokens) if gt.side else 0
    pred_count = len(pred.side.tokens) if pred.side and gt.side else 0
    hits = matched.hit_count if matched else 0
    f1 = round(2 * hits / (gt_count + pred_count), DIGITS) if hits else 0.0
    details: dict[str, Any] = {
        "recall": round(hits / gt_count, DIGITS) if hits else 0.0,
        "precision": round(hits / pred_count, DIGITS) if hits else 0.0,
        "f1": f1,
        "tp": hits,
        "gt_tokens": gt_count,
        "pred_tokens": pred_count,
        "gt_state": str(gt.state),
        "pred_state": str(pred.state),
        **_notes(gt=gt, pred=pred),
    }
    return PairScore(f1, details=details)


def _notes(**sides: Rendering) -> Mapping[str, str]:
    """Why a side could not be seen, for each that could not."""
    return {
        f"{name}_note": rendering.note or str(rendering.state)
        for name, rendering in sides.items()
        if rendering.state is not SideState.OK
    }


@dataclass(frozen=True, slots=True)
class FormulaCdm:
    """Character detection matching of formulas; 1 is best."""

    backend: Backend = NATIVE
    name: str = "formula_cdm"
    higher_is_better: bool = True

    def using(self, backend: Backend) -> FormulaCdm:
        """The same metric computed by another backend."""
        return FormulaCdm(backend)

    def score(self, gt: str, pred: str) -> PairScore:
        """F1 of one pair; for more than a few pairs `score_many` is much faster."""
        return self.backend.score_many([(gt, pred)])[0]

    def score_many(
        self, pairs: Sequence[Pair], *, workers: int = 1, progress: Progress | None = None
    ) -> list[PairScore]:
        """F1 of each pair, in order. `progress` is told (done, total) in formulas drawn plus pairs matched."""
        return self.backend.score_many(pairs, workers=workers, progress=progress)

    def svg(self, gt: str, pred: str) -> str:
        """The matched boxes of a pair as a picture, always drawn by this package."""
        gt_drawn, pred_drawn, matched = NativeBackend().render_pair(gt, pred)
        return match_svg(gt_drawn.side, pred_drawn.side, matched)


FORMULA_CDM = FormulaCdm()
