"""Page scores of two runs side by side, and the bootstrap of their means for any metric and group of pages."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from evalkit.errors import UserError
from evalkit.gating.config import StatisticsSettings
from evalkit.gating.verdict import PageMove
from evalkit.snapshot import OUTPUT_LENGTH, OVERALL, PageRow, Snapshot
from evalkit.statistics import Labels, Matrix, bootstrap_means, effective_count, jackknife_means

OVERALL_PARTS = ("text_edit", "table_teds", "formula_cdm")
MAX_MEANS = 1000
"""Greatest number of means that are resampled at once: 160 MB with 10,000 resamples of both sides."""

_LEAST_STRATUM = 5


@dataclass(frozen=True, slots=True)
class Selection:
    """A metric over some of the pages: all where `attribute` is None, else those where it has the value."""

    metric: str
    attribute: str | None = None
    value: str | None = None

    def __str__(self) -> str:
        return self.metric if self.attribute is None else f"{self.metric} [{self.attribute}={self.value}]"


@dataclass(frozen=True, slots=True)
class Means:
    """A statistic of both sides: of the data, of every resample, and with every page left out.

    `pages` counts the pages with a value; for overall, those of its rarest part. `moved` is the effective number of
    pages that the difference rests on.
    """

    pages: int
    moved: float
    estimate: tuple[float, float]
    replicates: tuple[Matrix, Matrix]
    left_out: tuple[Matrix, Matrix]


class PageTable:
    """The pages of baseline and candidate, which are the same, in one order."""

    def __init__(self, baseline: Snapshot, candidate: Snapshot, settings: StatisticsSettings) -> None:
        after = {page.page_id: page for page in candidate.pages}
        self._before = baseline.pages
        self._after = [after[page.page_id] for page in baseline.pages]
        self._settings = settings
        self._groups = [
            {**page.groups, **other.groups, **_length_group(page, settings.length_edges)}
            for page, other in zip(self._before, self._after, strict=True)
        ]
        self.metrics = sorted({name for page in self._before for name in page.values})
        self.attributes = sorted({name for groups in self._groups for name in groups})

    def values_of(self, attribute: str) -> list[str]:
        """The values that an attribute has on these pages."""
        return sorted({groups[attribute] for groups in self._groups if attribute in groups})

    def page_count(self, selection: Selection) -> int:
        """How many pages a selection holds."""
        return int(self._members(selection).sum())

    def bootstrap(self, selections: Sequence[Selection]) -> dict[Selection, Means]:
        """Means of both sides for every selection, from one set of resamples.

        Overall is formed from the means of its parts in each resample. Raises UserError over MAX_MEANS.
        """
        parts = list(dict.fromkeys(part for selection in selections for part in _parts(selection)))
        if len(parts) > MAX_MEANS:
            raise UserError(
                f"the rules ask for {len(parts)} means of groups of pages, the limit is {MAX_MEANS}; "
                "choose an attribute with fewer values for `by`"
            )
        columns = np.column_stack([self._column(part, side) for part in parts for side in (0, 1)])
        replicates = bootstrap_means(
            columns, self._strata(), resamples=self._settings.resamples, seed=self._settings.seed
        )
        left_out = jackknife_means(columns)
        counts = (~np.isnan(columns)).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            estimate = np.nansum(columns, axis=0) / counts
        place = {part: 2 * number for number, part in enumerate(parts)}
        found = {}
        for selection in selections:
            at = [place[part] for part in _parts(selection)]
            whole, drawn, without = (
                tuple(_combined(selection, values[..., [start + side for start in at]]) for side in (0, 1))
                for values in (estimate, replicates, left_out)
            )
            found[selection] = Means(
                pages=min(int(counts[start]) for start in at),
                moved=effective_count(self.shares(selection)),
                estimate=(float(whole[0]), float(whole[1])),
                replicates=(drawn[0], drawn[1]),
                left_out=(without[0], without[1]),
            )
        return found

    def moves(self, selection: Selection, *, higher_is_better: bool, count: int) -> tuple[PageMove, ...]:
        """The pages that moved most, the worst first; for overall by their share in its change."""
        shares = self.shares(selection) * (1 if higher_is_better else -1)
        moved = [int(place) for place in np.argsort(shares, kind="stable") if shares[place] != 0]
        chosen = sorted(moved, key=lambda place: -abs(shares[place]))[:count]
        return tuple(self._move(selection, place, float(shares[place])) for place in sorted(chosen, key=moved.index))

    def shares(self, selection: Selection) -> Matrix:
        """The part of each page in the difference of the means, which they add up to."""
        shares = np.zeros(len(self._before))
        for part in _parts(selection):
            before, after = self._column(part, 0), self._column(part, 1)
            change = np.nan_to_num(after - before) / max(int((~np.isnan(after)).sum()), 1)
            if selection.metric == OVERALL:
                change *= (-100 if part.metric == "text_edit" else 100) / len(OVERALL_PARTS)
            shares += change
        return shares

    def _move(self, selection: Selection, place: int, share: float) -> PageMove:
        before, after = self._before[place], self._after[place]
        return PageMove(before.page_id, before.values.get(selection.metric), after.values.get(selection.metric), share)

    def differing_pages(self, selection: Selection, tolerance: float) -> list[str]:
        """Pages of a selection whose values are not the same on both sides."""
        differing: dict[str, None] = {}
        for part in _parts(selection):
            before, after = self._column(part, 0), self._column(part, 1)
            same = np.isclose(before, after, rtol=0, atol=tolerance, equal_nan=True)
            differing.update(dict.fromkeys(self._before[int(place)].page_id for place in np.flatnonzero(~same)))
        return list(differing)

    def _members(self, selection: Selection) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        if selection.attribute is None:
            return np.ones(len(self._before), bool)
        return np.array([groups.get(selection.attribute) == selection.value for groups in self._groups], bool)

    def _column(self, selection: Selection, side: int) -> Matrix:
        rows: Sequence[PageRow] = self._after if side else self._before
        values = [page.values.get(selection.metric) for page in rows]
        column = np.array([np.nan if value is None else value for value in values], np.float64)
        column[~self._members(selection)] = np.nan
        return column

    def _strata(self) -> Labels:
        """Strata of the resampling; those with few pages are joined, since alone they would hardly vary."""
        attribute = self._settings.stratify
        names = [groups.get(attribute, "") if attribute else "" for groups in self._groups]
        sizes = Counter(names)
        kept = {name: number for number, name in enumerate(sorted(sizes), start=1) if sizes[name] >= _LEAST_STRATUM}
        return np.array([kept.get(name, 0) for name in names], np.intp)


def _parts(selection: Selection) -> list[Selection]:
    """The metrics that a selection's figure is made of."""
    if selection.metric != OVERALL:
        return [selection]
    return [Selection(part, selection.attribute, selection.value) for part in OVERALL_PARTS]


def _combined(selection: Selection, means: Matrix) -> Matrix:
    """The figure from the means of its parts, which lie along the last axis."""
    if selection.metric != OVERALL:
        single: Matrix = means[..., 0]
        return single
    text_edit, teds, cdm = means[..., 0], means[..., 1], means[..., 2]
    overall: Matrix = ((1.0 - text_edit) * 100.0 + cdm * 100.0 + teds * 100.0) / 3.0
    return overall


def _length_group(page: PageRow, edges: Sequence[int]) -> dict[str, str]:
    """The bucket of the baseline's output length, where it is known."""
    if page.output_tokens is None or not edges:
        return {}
    names = [*(f"{low}-{high}" for low, high in pairwise(edges)), f"{edges[-1]}+"]
    return {OUTPUT_LENGTH: names[max(bisect_right(edges, page.output_tokens) - 1, 0)]}
